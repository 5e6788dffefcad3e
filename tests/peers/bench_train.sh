#!/bin/sh
# bench_train: our training and PyTorch's in alternation, and the ratios of their times.
#
#   ROUNDS=5 WORLDS="1 2 4" OURS="tcp:auto unix:auto" PEERS=torch sh tests/peers/bench_train.sh BUILD
#
# The same network on Fashion-MNIST, the same global batch and optimizer, one thread in every process.
# World 1 is lesson 1 (row `single`); above it is lesson 3, each of OURS a transport and an algorithm. With
# Adam, by the first of OURS, lesson 3 (ddp-adam) and lesson 4's stages (zero1-adam to zero3-adam) stand
# beside PyTorch's DistributedDataParallel with its ZeroRedundancyOptimizer (torch-zero).
# As in bench_peers, every round runs every program once, and times are compared within a round; a
# second run of PyTorch, torch-again, shows how much of a ratio is noise. Without PyTorch, or the data
# set, or torch among PEERS, nothing is measured. DATA and NETWORKS are for trying the script out: PyTorch
# keeps to Fashion-MNIST.
set -u
export LC_ALL=C # decimals have points
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

rounds=${ROUNDS:-5}
worlds=${WORLDS:-1 2 4}
ours=${OURS:-tcp:auto unix:auto}
adam="ddp-adam zero1-adam zero2-adam zero3-adam"

case " ${PEERS-torch} " in *" torch "*) ;; *) exit 0 ;; esac

build=$1
here=$(cd "$(dirname "$0")" && pwd)
needed=torch
[ "${DATA-}" ] || needed="torch fashion-mnist"
# shellcheck disable=SC2086 # words, one each
sh "$here/../../common/install.sh" name $needed || exit 0
kept=$(mktemp -d) || exit 1
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# hidden widths / global batch / steps: less than an epoch each, and so many that a first one hardly counts
networks=${NETWORKS:-128,64/64/900 512,256/128/400 1024,1024,1024/256/200}

# Our own samples per second, as printed behind the epoch, in microseconds of a step.
# shellcheck disable=SC2086 # flags, one word each
ours_run() { # ROW WORLD HIDDEN BATCH STEPS
    row=$1 world=$2 batch=$4 program=lesson03_ddp
    set -- --data "${DATA:-fashion-mnist}" --hidden "$3" --batch "$4" --steps "$5" \
        --no-verify --progress never
    case $row in *-adam) set -- "$@" --optimizer adam ;; esac
    case $row in zero?-adam)
        stage=${row#zero}
        set -- "$@" --stage "${stage%-adam}"
        program=lesson04_zero
        ;;
    esac
    case $row in
    single) program=lesson01_single ;;
    *-adam) row=${ours%% *} ;;
    esac
    case $row in
    single) "$build/$program" "$@" ;;
    *) "$build/launch" -n "$world" "$build/$program" "$@" \
        --transport "${row%%:*}" --algorithm "${row#*:}" ;;
    esac >"$kept/out" || return 1
    awk -v batch="$batch" '/ samples\/s$/ { printf "%.1f\n", 1e6 * batch / $(NF - 1) }' "$kept/out"
}

run() { # NAME WORLD HIDDEN BATCH STEPS: microseconds of a step
    case $1 in
    torch*)
        rm -f "$kept/meeting"
        "${PYTHON:-/usr/bin/python3}" "$here/torch_train.py" "$2" "$3" "$4" "$5" "$kept/meeting" "$1"
        ;;
    *) ours_run "$@" ;;
    esac
}

round=0
while [ $((round += 1)) -le "$rounds" ]; do
    for world in $worlds; do
        names="$ours torch torch-again $adam torch-zero"
        [ "$world" != 1 ] || names="single torch torch-again"
        for name in $names; do
            echo "round $round of $rounds, $world ranks: training, $name" >&2
            for network in $networks; do
                steps=${network##*/} network=${network%/*}
                time=$(run "$name" "$world" "${network%/*}" "${network#*/}" "$steps" 2>"$kept/said")
                if [ -z "$time" ]; then
                    echo "bench_train: $name failed with $world ranks: $(cat "$kept/said")" >&2
                    exit 1
                fi
                echo "$name $world $round $network $time" >>"$kept/times"
            done
        done
    done
done
printf '\nTraining on Fashion-MNIST, one thread in each process, on %s cores: hidden widths / global batch.\n' \
    "$(getconf _NPROCESSORS_ONLN)"
awk -v of=network -v rows="single $ours torch-again" -v columns=torch -f "$here/ratios.awk" "$kept/times"
case " $worlds " in " 1 ") exit 0 ;; esac
printf '\nThe same with Adam.\n'
grep -v '^[^ ]* 1 ' "$kept/times" |
    awk -v of=network -v rows="$adam" -v columns="torch-zero ddp-adam" -f "$here/ratios.awk"
