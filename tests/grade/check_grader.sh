#!/bin/sh
# check_grader: is the grader right? The solution has every point, a starter none, and each mutant loses
# what it says.
#
#   sh tests/grade/check_grader.sh BUILD [NAME...]     NAME: 02-name, a mutant (mutant.sh); or all
#
# SEED=n draws other numbers. As many mutants at a time as there are cores.
set -u

build=$1
shift
here=tests/grade/mutants
export SEED="${SEED:-$(($$ % 10000 + 1))}"
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

[ -d $here ] || {
    echo "check-grader: there are no mutants here: a starter has none, for they show the solution" >&2
    exit 2
}

expect() { # LESSON POINTS WHOSE [FROM]
    for _ in 1 2 3; do # a measured time is luck where others are at work
        FROM=${4-} sh tests/grade/grade.sh "$build" "$1" --seed "$SEED" >"$work/out" 2>&1
        lost=$(grep -E '^ +[0-9.]+/[a-z]+ -' "$work/out")
        [ "$lost" ] || break
        echo "$lost" | grep -qv '(speed)' && break
    done
    if grep -q "^total *$2 / 100\$" "$work/out"; then
        echo "lesson $1: $3 has $2 points"
    else
        echo "check-grader: lesson $1: expected $2 points for $3, found:" >&2
        cat "$work/out" >&2
        failed=1
    fi
}

# The files of a starter that hold tasks; the rest is this tree's in any case.
starter() { # LESSON
    for file in $("$build/grade" "$1" --files); do
        mkdir -p "$work/$1/$(dirname "$file")"
        awk -v from="$1" -f common/course/regions.awk "$file" >"$work/$1/$file"
    done
}

echo "seed $SEED"
if [ $# = 0 ]; then
    for lesson in 01 02 03 04; do
        expect $lesson 100 "the solution"
        starter $lesson
        expect $lesson 0 "a starter" "$work/$lesson"
    done
    # shellcheck disable=SC2046 # names, one a word
    set -- $(find $here -name '*.patch' | sort | sed 's/.*\///; s/\.patch$//')
fi
printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh tests/grade/mutant.sh "$build" || failed=1
[ "$failed" = 0 ] && echo "check-grader: $# mutants, each of which loses what it says"
exit "$failed"
