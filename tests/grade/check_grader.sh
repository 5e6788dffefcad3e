#!/bin/sh
# check_grader: is the grader right? The solution has every point, and each mutant loses what it says.
#
#   sh tests/grade/check_grader.sh BUILD [NAME...]     NAME: 02-name, of tests/grade/mutants; or all
#
# A mutant is the solution with one mistake: a unified diff of one file. Before the diff stand what the
# mistake is, and a line
#
#   loses: 02.4/sums 02.6/step
#
# with the checks of its lesson that it loses, all of them and no others. SEED=n draws other numbers.
set -u

build=$1
shift
here=tests/grade/mutants
seed=${SEED:-$(($$ % 10000 + 1))}
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

complain() { # SENTENCE FILE
    echo "check-grader: $1" >&2
    cat "$2" >&2
    failed=1
}

# The ids of the checks that were lost, sorted, on one line.
lost() { awk '$1 ~ /^[0-9][0-9][.][0-9]+\// && $2 ~ /^-/ { print $1 }' "$1" | sort | tr '\n' ' '; }

solution() { # LESSON
    sh tests/grade/grade.sh "$build" "$1" --seed "$seed" >"$work/out" 2>&1
    grep -q '^total *100 / 100$' "$work/out" || complain "lesson $1: the solution has not 100 points" "$work/out"
    echo "lesson $1: $(grep '^total' "$work/out")"
}

mutant() { # NAME
    patch=$here/$1.patch
    file=$(sed -n 's/^+++ b\/\([^ ]*\).*/\1/p' "$patch")
    says=$(sed -n 's/^loses: *//p' "$patch" | tr ' ' '\n' | sort | tr '\n' ' ')
    tree=$work/$1
    for task in $("$build/grade" 04 --files); do
        mkdir -p "$tree/$(dirname "$task")"
        cp "$task" "$tree/$task"
    done
    if ! patch -s -p1 -d "$tree" <"$patch" >"$tree/out" 2>&1; then
        complain "$1: the diff does not fit $file any more" "$tree/out"
        return
    fi
    lesson=${1%%-*}
    FROM=$tree sh tests/grade/grade.sh "$build" "$lesson" --seed "$seed" >"$tree/out" 2>&1
    found=$(lost "$tree/out")
    if [ "$found" = "$says" ] && grep -q '^total' "$tree/out"; then
        echo "$1: loses $found"
    else
        complain "$1: expected to lose: $says; lost: $found" "$tree/out"
    fi
}

echo "seed $seed"
[ $# -gt 0 ] || for lesson in 01 02 03 04; do solution $lesson; done
[ $# -gt 0 ] || set -- $(cd $here && ls -- *.patch | sed 's/\.patch$//')
for name in "$@"; do mutant "$name"; done
[ "$failed" = 0 ] && echo "check-grader: $# mutants, each of which loses what it says"
exit "$failed"
