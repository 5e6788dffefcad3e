#!/bin/sh
# check_starter: which tests wait in a starter? Exactly those of the lists; none fails.
#
#   sh tests/course/check_starter.sh BUILD [--write] [LESSON|TASK...]
#
# Only files with tasks are compiled anew, with the build's own flags, and linked before its library. A test
# that does not come to a body of lessons 2 to 4 in lesson 1's starter comes to none in the next one's: of a
# later lesson only those suites are run of which some wait in the lesson before.
#
# Suites of mutants are left out, and the grader's: they take the sources of the tree, the solution's here. And pool:
# whether its tests are over before the thread they start comes to the worker's body is a race. What a suite
# skips on this machine ("disk: skipped: ...") waits as listed.
#
# Of each task, emptied alone, the suites of its row of the table come to wait. --write: writes the lists.
set -u

build=$(cd "$1" && pwd)
here=tests/course
shift
write=
if [ "${1-}" = --write ]; then
    write=1
    shift
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
flags=$(cat "$build/flags")
libraries=$(echo "$flags" | grep -o ' -l[^ ]*' | tr '\n' ' ')
bad=0
unset LONG # the lists are of the usual rows

complain() { # SENTENCE
    echo "check-starter: $1"
    bad=1
}

files_of() { # PATTERN of tasks
    grep -lE "^ *// task $1 \{\$" lesson0*/*.c common/*.c
}

# Compiles what awk's setting empties, and links the programs with it into $work.
build_with() { # SETTING FILE...
    setting=$1
    shift
    rm -rf "$work/source" "$work/build"
    mkdir -p "$work/source" "$work/build"
    for file in "$@"; do
        mkdir -p "$work/source/$(dirname "$file")"
        awk -v "$setting" -f common/course/regions.awk "$file" >"$work/source/$file" || exit 1
    done
    # shellcheck disable=SC2016 # expanded by the inner shell
    printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I{} sh -c "
        eval '$flags -Werror -c $work/source/{} -o $work/build/'\$(echo {} | tr / -).o" || return 1
    objects=$(find "$work/build" -name '*.o' ! -name '*main.c.o')
    for main in "$build"/objects/lesson0*/main.o; do
        room=$(basename "$(dirname "$main")")
        [ ! -f "$work/build/$room-main.c.o" ] || main=$work/build/$room-main.c.o
        link "$room" "$main" || return 1
    done
    link deadlock "$build/objects/lesson02_allreduce/deadlock.o" &&
        link lab_buckets "$build/objects/lesson03_ddp/lab_buckets.o" &&
        link consolidate "$build/objects/common/consolidate.o" &&
        link check "$(cat "$build/check.objects")" || return 1
    for program in "$build"/*; do
        [ -e "$work/build/${program##*/}" ] || ln -s "$program" "$work/build/"
    done
}

link() { # PROGRAM OBJECTS
    # shellcheck disable=SC2086 # words, one each
    eval "$flags" $2 $objects "$build/staircase.a" -o "$work/build/$1" $libraries
}

run() { # SUITE...: what it says, to $work/said
    sh common/check.sh plain "$work/build" "$@" >"$work/said" 2>&1
    code=$?
    grep -E '^[0-9]+(%:| suites,)' "$work/said" | tail -n 1
    [ $code = 0 ] && return
    grep -E ':[0-9]+:[FE]:' "$work/said" | sort -u
    complain "$name: tests fail; they are to pass, or to wait"
}

# What waits: "ring: name (5 checks): 02.1 02.4" as "ring: name 5". Of suites that skip, what the list says as well.
waiting() { # LIST
    {
        sed -nE 's/^TODO ([^(]*) \(([0-9]+) checks?\):.*/\1 \2/p' "$work/said"
        sed -nE 's/^([a-z_]+): skipped: .*/^\1: /p' "$work/said" >"$work/skipped"
        grep -f "$work/skipped" "$1"
    } | LC_ALL=C sort -u
}

lesson() { # NUMBER
    number=$1 name="lesson 0$1's starter" list=$here/todo-0$1.txt
    suites=
    if [ "$number" = 1 ]; then
        suites=$("$build/check" '?' 2>&1 | sed 's/.*the suites are://' | tr ' ' '\n' | grep -vE 'mutants|^(grade|pool)$')
    else
        suites=$(cut -d: -f1 "$here/todo-0$((number - 1)).txt" | sort -u)
    fi
    # shellcheck disable=SC2046,SC2086 # words, one each
    if build_with "from=$number" $(files_of "0[$number-4]\.[0-9]+"); then run $suites; else complain "$name cannot be built"; fi
    waiting "$list" >"$work/list"
    [ -z "$write" ] || cp "$work/list" "$list"
    diff "$list" "$work/list" >"$work/diff" || {
        cat "$work/diff"
        complain "$name: other tests wait than $list says (<); is it right? make todo-lists"
    }
}

task() { # ID
    name="task $1"
    row=$("$build/tasks" | awk -F '\t' -v id="$1" '$1 == id { print $4 }')
    # shellcheck disable=SC2046,SC2086 # words, one each
    if build_with "only=$1" $(files_of "$(echo "$1" | sed 's/\./\\./')"); then run $row; else complain "$name cannot be built"; fi
    for suite in $row; do
        grep -q "^TODO $suite: " "$work/said" || complain "$name: no test of the suite $suite waits for it"
    done
}

# shellcheck disable=SC2046 # words, one each
[ $# -gt 0 ] || set -- 1 2 3 4 $("$build/tasks" | cut -f1)
for what in "$@"; do
    echo "check-starter: $what"
    case $what in
    *.*) task "$what" ;;
    *) lesson "${what#0}" ;;
    esac
done
[ $bad = 0 ]
