#!/bin/sh
# lab_rate: more ranks with the same share each make a larger batch, and fewer updates of an epoch.
# Prints the training loss after some epochs, with the learning rate left alone and scaled.
# usage: lab_rate.sh BUILD
set -eu
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# run LABEL RANKS FLAGS...: one row, of what the run says.
run() {
    label=$1 ranks=$2
    shift 2
    "$build/launch" -n "$ranks" "$build/lesson03_ddp" --per-rank-batch 64 --epochs 20 \
        --progress never "$@" >"$folder/out"
    awk -v label="$label" '
        / updates of up to / { match($0, /[0-9]+ updates/); updates = substr($0, RSTART) + 0 }
        / epoch +(1|2|5|10|20)\/20 / { match($0, /loss [0-9.]+/); losses = losses "  " substr($0, RSTART + 5, 6) }
        / result / { match($0, /accuracy [0-9.]+/); accuracy = substr($0, RSTART + 9, 5); sub(/.*, /, ""); holds = $0 }
        END { printf "%-32s  %7d%s  %6s %%  %s\n", label, updates, losses, accuracy, holds }' "$folder/out"
}

printf '%43s%-38s\n' '' '  training loss after epoch'
printf '%-32s  %7s  %6s  %6s  %6s  %6s  %6s  %8s  %s\n' 'digits, 64 samples a rank' \
    updates 1 2 5 10 20 accuracy verified
run '1 rank' 1
run '4 ranks' 4
run '4 ranks, sqrt' 4 --lr-scale sqrt
run '4 ranks, linear' 4 --lr-scale linear
run '4 ranks, linear, warm-up 12' 4 --lr-scale linear --warmup 12
run '1 rank, linear, accumulate 4' 1 --lr-scale linear --accumulate 4
