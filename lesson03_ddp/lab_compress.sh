#!/bin/sh
# lab_compress: when do half the bytes pay, and when does error feedback show?
# usage: lab_compress.sh BUILD
set -eu
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# field NAME: of each update, from rank 0's metrics.
field() {
    awk -v name="$1" '/"event":"step"/ && match($0, "\"" name "\":[^,}]*") { print substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) }' \
        "$folder/m.rank-0.json"
}

median() {
    field "$1" | sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}

# run RANKS FLAGS...
run() {
    ranks=$1
    shift
    "$build/launch" -n "$ranks" "$build/lesson03_ddp" "$@" --quiet --no-verify --metrics "$folder/m.json" >"$folder/out"
}

# speed LINK LABEL FLAGS...: one row.
speed() {
    link=$1 label=$2
    shift 2
    [ "$link" = plain ] || set -- "$@" --link "$link"
    run 2 --hidden 512,256 --batch 128 --epochs 5 "$@"
    printf '%-12s  %-22s  %9s  %9s  %9s  %s\n' "$link" "$label" \
        "$(awk "BEGIN { printf \"%.2f\", 1000 * $(median seconds) }")" \
        "$(awk "BEGIN { printf \"%.2f\", 1000 * $(median exposed_seconds) }")" \
        "$(median bytes_sent)" "$(sed -n 's/.*| loss \([0-9.]*\) | accuracy \([0-9.]*\) .*/\1  \2 %/p' "$folder/out")"
}

printf '%-12s  %-22s  %9s  %9s  %9s  %s\n' 'link' '2 ranks, per update' 'ms' 'exposed' 'bytes' 'loss and accuracy after 5 epochs'
for link in plain 1gbit,0.1ms 50mbit,1ms; do
    speed "$link" 'float'
    speed "$link" 'bf16' --compress bf16
    speed "$link" 'bf16, error feedback' --compress bf16 --error-feedback
done

# The same 2000 updates on the whole set: what does rounding add up to?
echo
printf '%-38s  %14s  %14s  %s\n' 'linear model, 4 ranks, 2000 updates' 'loss' 'off float' 'accuracy'
for flags in '' '--compress bf16' '--compress bf16 --error-feedback'; do
    # shellcheck disable=SC2086 # words
    run 4 --hidden none --batch 1438 --no-shuffle --momentum 0 --lr 1 --steps 2000 $flags
    loss=$(field loss | tail -n 1)
    [ -n "$flags" ] || float=$loss
    printf '%-38s  %14.12f  %14s  %s\n' "${flags:-float}" "$loss" \
        "$(awk "BEGIN { printf \"%.1e\", $loss - $float }")" \
        "$(sed -n 's/.*| accuracy \([0-9.]*\) .*/\1 %/p' "$folder/out")"
done
