#!/bin/sh
# lab_memory: what a rank keeps and sends, by formula, beside what the ledger measures, for each stage.
#
#   NP=4 HIDDEN=256,... LIMIT=64 sh lesson04_zero/lab_memory.sh BUILD [limit]
#
# With `limit`: the largest hidden width whose formula stays below LIMIT MiB a rank, for each choice, and a
# run of two updates at that width, whose ledger must stay below too.
set -u
export LC_ALL=C OPENBLAS_NUM_THREADS=1

build=$1
here=$(cd "$(dirname "$0")" && pwd)
what=${2:-table}
world=${NP:-4}
layers=${LAYERS:-8}
limit=${LIMIT:-64}
kept=$build/lab-memory
mkdir -p "$kept" || exit 1

hidden() { # WIDTH: as many layers of it
    awk -v w="$1" -v n="$layers" 'BEGIN { for (i = 1; i <= n; i++) printf "%s%d", (i > 1 ? "," : ""), w }'
}

# STAGE OFFLOADS WIDTH FLAG...: one run of three updates. Its ledger is held to the formula: else it leaves with 3.
run() {
    stage=$1 offloads=$2 width=$3
    shift 3
    program=lesson04_zero
    flags="--stage $stage"
    [ "$stage" = 0 ] && program=lesson03_ddp && flags=
    [ "$offloads" = 1 ] && flags="$flags --offload $kept"
    # shellcheck disable=SC2086 # flags are words
    "$build/launch" -n "$world" "$build/$program" --hidden "$(hidden "$width")" --optimizer adam --steps 3 \
        --no-verify --metrics "$kept/$what.jsonl" $flags "$@" >"$kept/$what.out" 2>&1 || { cat "$kept/$what.out"; exit 1; }
}

# Rank 0's: uses, total, ledger's peak, bytes of the last update without headers; in MiB.
row() {
    awk -v label="$1" '
        function field(key) { match($0, "\"" key "\":[0-9.]+"); return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) }
        /"event":"step"/ { sent = field("bytes_sent") - 44 * field("messages_sent") }
        /"event":"summary"/ {
            n = split("parameter_bytes gradient_bytes optimizer_bytes activation_bytes buffer_bytes other_bytes", keys, " ")
            for (i = 1; i <= n; i++) total += field(keys[i])
            printf "%s", label
            for (i = 1; i < n; i++) printf ",%.2f", field(keys[i]) / 1048576
            printf ",%.2f,%.2f,%.2f\n", total / 1048576, field("peak_bytes") / 1048576, sent / 1048576
        }' "$kept/$what.rank-0.jsonl"
}

choices='0:0:lesson 3
1:0:stage 1
2:0:stage 2
3:0:stage 3
1:1:stage 1 + offload
2:1:stage 2 + offload
3:1:stage 3 + offload'

name_in_plan() { # STAGE OFFLOADS
    [ "$1" = 0 ] && echo 'DDP ' && return
    [ "$2" = 1 ] && echo "ZeRO $1, offload" && return
    echo "ZeRO $1  "
}

fits() { # STAGE OFFLOADS WIDTH
    "$build/lesson04_zero" --plan --hidden "$(hidden "$3")" --optimizer adam -n "$world" --memory-limit "$limit" |
        grep "^$(name_in_plan "$1" "$2")" | grep -q ' fits$'
}

widest() { # STAGE OFFLOADS: bisection
    low=1 high=4096
    while [ $((high - low)) -gt 1 ]; do
        middle=$(((low + high) / 2))
        if fits "$1" "$2" "$middle"; then low=$middle; else high=$middle; fi
    done
    echo "$low"
}

table() {
    width=${WIDTH:-512}
    echo "choice,parameters,gradients,optimizer,activations,buffers,total,peak,sent" >"$kept/memory.csv"
    echo "$choices" | while IFS=: read -r stage offloads name; do
        run "$stage" "$offloads" "$width" || exit 1
        row "$name" >>"$kept/memory.csv"
    done || exit 1
    echo "rank 0 of $world, $layers hidden layers of $width, Adam: MiB kept, the ledger's peak, MiB sent in an update"
    awk -F, '{ printf "%-18s", $1; for (i = 2; i <= NF; i++) printf " %11s", $i; print "" }' "$kept/memory.csv"
}

largest() {
    echo "the widest of $layers equal hidden layers under $limit MiB a rank, $world ranks, Adam"
    printf '%-18s %6s %14s\n' choice width 'ledger, peak'
    echo "$choices" | while IFS=: read -r stage offloads name; do
        width=$(widest "$stage" "$offloads")
        run "$stage" "$offloads" "$width" || exit 1
        peak=$(row x | cut -d, -f8)
        printf '%-18s %6d %10s MiB\n' "$name" "$width" "$peak"
        awk -v p="$peak" -v l="$limit" 'BEGIN { exit !(p <= l) }' || { echo "above the limit"; exit 1; }
    done
}

if [ "$what" = limit ]; then
    largest
    exit
fi
table || exit 1
echo "numbers: $kept/memory.csv"
sh "$here/../common/install.sh" name gnuplot || exit 0 # the table is there
for kind in svg png; do
    gnuplot -e "folder='$kept'; kind='$kind'" "$here/lab_memory.gp" || exit 1
    echo "plot:    $kept/memory.$kind"
done
