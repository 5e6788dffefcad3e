#!/bin/sh
# lab_precision: what does a gradient lose in 16 bits, and when does it matter?
# Trains on whole batches, where each sample weighs 1 / samples and gradients are small: digits, and a
# line whose targets are around 0.0005, as if metres had been asked for where millimetres were measured.
# usage: lab_precision.sh BUILD
set -eu
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# run FORMAT STEPS LABEL FLAGS...: one row: losses at some steps, the share of gradients that became 0.
run() {
    format=$1 steps=$2 label=$3
    shift 3
    "$build/lesson01_single" "$@" --steps "$steps" --quiet --no-verify --metrics "$folder/metrics" >"$folder/out"
    awk -v label="$label" -v format="$format" -v steps="$steps" '
        function field(name) { return match($0, "\"" name "\":[^,}]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : "-" }
        /"event":"step"/ {
            step = field("step") + 1
            if (step == int(steps / 8) || step == int(steps / 4) || step == int(steps / 2) || step == steps)
                row = row sprintf("  " format, field("loss"))
            share = field("flushed"); scale = field("loss_scale")
        }
        END { printf "%-22s%s  %9s  %s\n", label, row, share == "-" ? "-" : sprintf("%.2f %%", 100 * share), scale }
    ' "$folder/metrics"
}

# table TITLE FORMAT STEPS FLAGS...
table() {
    title=$1 format=$2 steps=$3
    shift 3
    printf '%s\n%-22s' "$title, loss after" ''
    for part in 8 4 2 1; do printf '  %8s' $((steps / part)); done
    printf '  %9s  %s\n' 'made 0' 'loss scale'
    run "$format" "$steps" 'fp32' "$@"
    run "$format" "$steps" 'bf16' "$@" --precision bf16
    run "$format" "$steps" 'fp16, not scaled' "$@" --precision fp16 --loss-scale none
    run "$format" "$steps" 'fp16, dynamic scale' "$@" --precision fp16
}

awk 'BEGIN {
    srand(1)
    for (i = 0; i < 1000; i++) {
        target = 0
        for (j = 1; j <= 8; j++) {
            x = 2 * rand() - 1
            printf "%.4f,", x
            target += (j % 2 ? j : -j) * x / 10000
        }
        printf "%.9f\n", target
    }
}' >"$folder/small.csv"

table 'digits' '%8.6f' 2000 --batch 1438 --lr 0.5
echo
table 'a line with small targets' '%8.2g' 400 --data "$folder/small.csv" --hidden none --batch 800 --lr 0.1
echo
echo 'made 0: of the gradients on their way down that were not 0, in the last update.'
