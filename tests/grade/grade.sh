#!/bin/sh
# grade: grades this tree's tasks, or those of another tree.
#
#   FROM=DIR TASK=ID SEED=N JSON=FILE sh tests/grade/grade.sh BUILD LESSON [FLAG...]
#
# With FROM, a folder or an archive of make handin, the files that hold tasks, of the lessons up to LESSON, are
# taken from there; all else, the grader above all, is this tree's. They are compiled with the build's own flags, in a folder of
# their own, and linked before the library, whose files of the same names are then not looked at. One that does not
# compile costs its own tasks: for all others this tree's is taken.
# Nothing is written into DIR. Exit code: 0 graded, 1 cannot be built or may not be linked (admit.sh), 2 wrong usage.
set -u

build=$1
lesson=$2
shift 2

fail() { # EXIT-CODE SENTENCE
    echo "grade: $2" >&2
    exit "$1"
}

[ "$lesson" ] || fail 2 "which lesson? make grade LESSON=02 [TASK=02.4] [SEED=n] [FROM=dir] [JSON=file]"
set -- "$lesson" ${TASK:+--task "$TASK"} ${SEED:+--seed "$SEED"} ${JSON:+--json "$JSON"} "$@"
[ "${FROM-}" ] || exec "$build/grade" "$@"

given=$FROM
set -- "$@" --from "$given"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# Nothing runs in the background yet, or the grader does, which says so itself.
stop() {
    trap '' INT TERM HUP
    [ "$grader" ] || fail 130 "stopped"
    kill "$grader" 2>/dev/null
    wait "$grader" 2>/dev/null # some shells add a word of their own
    exit 130
}
grader=
trap stop INT TERM HUP
case $FROM in
*.tar.gz) # a hand-in: a folder with all of it
    [ -f "$FROM" ] || fail 2 "FROM=$FROM is not there"
    mkdir "$work/handed-in" || exit 1
    tar -tzf "$FROM" 2>/dev/null | grep -qE '^/|(^|/)[.][.](/|$)' && fail 2 "FROM=$FROM holds a path outside of its folder"
    tar -xzf "$FROM" -C "$work/handed-in" || fail 2 "FROM=$FROM cannot be unpacked; make handin packs one"
    inside=$(ls -A "$work/handed-in")
    FROM=$work/handed-in/${inside:-nothing}
    [ -d "$FROM" ] ||
        fail 2 "FROM=$given: expected one folder in the archive, found: $(echo "${inside:-nothing}" | head -n 3 | paste -sd' ' -)"
    ;;
esac
[ -d "$FROM" ] || fail 2 "FROM=$given is neither a folder nor an archive of make handin"
files=$("$build/grade" "$lesson" --files) || exit 2
# A link may lead anywhere, to the solution for one.
link=$(find "$work/handed-in" "$FROM"/common "$FROM"/lesson0* -type l 2>/dev/null | head -n 1)
[ -z "$link" ] || fail 2 "$link is a symbolic link: a hand-in holds files and folders only"
for file in $files; do
    [ -f "$FROM/$file" ] || fail 2 "FROM=$given has no $file; it holds a task, and is there in every starter"
done

build=$(cd "$build" && pwd)
flags=$(cat "$build/flags")
libraries=$(echo "$flags" | grep -o ' -l[^ ]*' | tr '\n' ' ')

link() { # PROGRAM OBJECTS, as quoted words
    eval "LC_ALL=C $flags $2 \"\$build/staircase.a\" -o \"\$work/\$1\" $libraries"
}

# Compiled, and linked without the others: a function may be declared, and be nowhere.
builds() { # FILE OBJECT
    eval "LC_ALL=C $flags -Wno-error -Werror=implicit-function-declaration -MMD -MF \"\$2.d\" -c \"\$FROM/\$1\" -o \"\$2\"" 2>"$2.said" ||
        return 1
    cat "$2.said" >&2
    sh tests/grade/admit.sh "$FROM/$1" "$2" "$build/objects/${1%.c}.o" "$2.d" || exit 1
    [ "${1##*/}" = main.c ] && others= || others=$checks
    link alone "$others \"$2\"" 2>"$2.said"
}

# What is as it is here need not be compiled anew.
checks=$(tr '\n' ' ' <"$build/grade.objects")
objects=
mains=
for file in $files; do
    cmp -s "$FROM/$file" "$file" && continue
    object=$work/$(echo "$file" | tr / -).o
    if ! builds "$file" "$object"; then
        head -n 20 "$object.said" >&2
        echo "grade: $file does not compile: its tasks get no points, and all others are graded with this tree's" >&2
        set -- "$@" --unbuilt "$file=$object.said"
        continue
    fi
    case $file in
    */main.c) mains="$mains $file=$object" ;;
    *) objects="$objects \"$object\"" ;;
    esac
done

# The programs that checks start, beside a grader of its own. Those of later lessons no check starts.
for room in lesson0[1-4]_*; do
    room_lesson=${room#lesson}
    [ "${room_lesson%%_*}" -le "$lesson" ] || continue
    main=$build/objects/$room/main.o
    for given in $mains; do
        [ "${given%%=*}" = "$room/main.c" ] && main=${given#*=}
    done
    link "$room" "\"$main\" $objects" || fail 1 "$room cannot be linked; see above"
done
link grade "$checks $objects" || fail 1 "the grader cannot be linked; see above"
for program in "$build"/launch "$build"/verify "$build"/consolidate "$build"/*.so; do
    [ -e "$program" ] && ln -s "$program" "$work/"
done
# In the background: a shell hears of a signal only when what it runs in the foreground has ended.
"$work/grade" "$@" &
grader=$!
wait "$grader"
