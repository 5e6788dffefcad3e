#!/bin/sh
# lab_record: what does --record cost? Lesson 3 with and without, alternating, so that a machine whose speed drifts
# does so for both. Printed is how much longer a whole run takes, the median of all rounds: 1.00 is no longer.
#
#     sh common/lab_record.sh BUILD        ROUNDS=9 (odd) WORLD=2
set -eu

build=$1
rounds=${ROUNDS:-9}
world=${WORLD:-2}
for number in "$rounds" "$world"; do
    case $number in 0* | *[!0-9]*) echo "lab_record: ROUNDS and WORLD are whole numbers from 1, not $number" >&2; exit 2 ;; esac
done
[ $((rounds % 2)) = 1 ] || { echo "lab_record: ROUNDS is odd, so that one round is the median, not $rounds" >&2; exit 2; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/lab_record-XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
export OPENBLAS_NUM_THREADS=1 # a rank has one core, or less

# Milliseconds of a run, from its start to its end.
run() { # FLAG...
    began=$(date +%s%N)
    "$build/launch" -n "$world" "$build/lesson03_ddp" --no-verify --quiet --progress never "$@" >"$folder/out"
    echo "$began $(date +%s%N)" | awk '{ printf "%.3f\n", ($2 - $1) / 1e6 }'
}

median() {
    sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# The ratio of each round, of the run before it or after it in turn.
compare() { # NAME FLAG...
    name=$1
    shift
    : >"$folder/without"
    : >"$folder/ratios"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        round=$((round + 1))
        if [ $((round % 2)) = 1 ]; then
            without=$(run "$@")
            with=$(run "$@" --record "$folder/r")
        else
            with=$(run "$@" --record "$folder/r")
            without=$(run "$@")
        fi
        echo "$without" >>"$folder/without"
        echo "$with $without" | awk '{ printf "%.4f\n", $1 / $2 }' >>"$folder/ratios"
    done
    printf '%-32s %8.0f ms   with --record x %s   (rounds from %s to %s)\n' "$name" \
        "$(median <"$folder/without")" "$(median <"$folder/ratios")" \
        "$(sort -n "$folder/ratios" | head -n 1)" "$(sort -n "$folder/ratios" | tail -n 1)"
}

printf 'world %s, %s rounds: a run, and how much longer it takes with --record\n' "$world" "$rounds"
compare "digits, 64 hidden units" --steps 20000
compare "digits, 1024,1024,1024" --hidden 1024,1024,1024 --batch 256 --steps 100
