#!/bin/sh
# demo: all four lessons on digits, then one table of what each of them printed last.
#
#   sh common/demo.sh BUILD
#
# Lesson 4 twice: at stage 1, and at stage 3, where everything is sharded. A lesson's last line is a row of the table:
#
#   result | lesson 2 | world 4 | loss 0.0123 | accuracy 96.9 % | 1.8 s | verified: this; and that
#
# All are run even when one fails; the exit code is that of the first that failed. A pipe
# into tee would end with tee's own exit code, so each lesson's is kept in a file beside its output.
set -u

build=$1
ranks=4
kept=$(mktemp -d) || exit 1
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
first_failure=0

lesson() { # NUMBER, perhaps with a stage, COMMAND...
    number=$1
    shift
    printf '\n=== lesson %s: %s\n\n' "$number" "$*"
    { "$@" 2>&1; echo $? >"$kept/status"; } | tee "$kept/output"
    status=$(cat "$kept/status")
    rm "$kept/status"
    row=$(sed 's/^\[[0-9]*\] //' "$kept/output" | grep '^result |' | tail -n 1 |
        sed "s/^result | lesson [0-9]*/result | lesson $number/")
    if [ "$status" = 0 ] && [ -z "$row" ]; then
        echo "demo: lesson $number ended well, but printed no result" >&2
        status=1
    fi
    if [ "$status" != 0 ]; then
        row="result | lesson $number | world - | loss - | accuracy - | - | FAILED with exit code $status"
        [ "$first_failure" != 0 ] || first_failure=$status
    fi
    echo "$row" >>"$kept/rows"
}

# The columns as wide as their widest entry; what was verified, one claim a line.
table() {
    awk -F ' *[|] *' '
        function entry(row, column, text) {
            cell[row, column] = text
            if (length(text) > width[column]) width[column] = length(text)
        }
        BEGIN {
            split("lesson|world|final loss|test accuracy|time|verified", title, "|")
            for (c = 1; c <= 6; c++) entry(0, c, title[c])
        }
        {
            sub(/^lesson /, "", $2); sub(/^world /, "", $3); sub(/^loss /, "", $4)
            sub(/^accuracy /, "", $5); sub(/^verified: */, "", $7)
            for (c = 1; c <= 5; c++) entry(rows + 1, c, $(c + 1))
            claims = split($7, claim, /; */)
            for (i = 1; i <= claims; i++) entry(rows + i, 6, claim[i])
            rows += claims ? claims : 1
        }
        END {
            for (r = 0; r <= rows; r++) {
                for (c = 1; c <= 5; c++) printf "%-" width[c] "s  ", cell[r, c]
                print cell[r, 6]
            }
        }' "$kept/rows"
}

lesson 1 "$build/lesson01_single"
lesson 2 "$build/launch" -n "$ranks" "$build/lesson02_allreduce"
lesson 3 "$build/launch" -n "$ranks" "$build/lesson03_ddp"
lesson "4, stage 1" "$build/launch" -n "$ranks" "$build/lesson04_zero"
lesson "4, stage 3" "$build/launch" -n "$ranks" "$build/lesson04_zero" --stage 3

printf '\n=== four lessons, one staircase\n\n'
table
exit "$first_failure"
