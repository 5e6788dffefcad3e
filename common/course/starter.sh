#!/bin/sh
# starter: a whole tree in which what a student is to write is not yet written. See tasks.h.
#
#   sh common/course/starter.sh LESSON OUT [FROM]
#
# Tasks of LESSON and of later lessons are emptied, those of earlier lessons are as they are in this tree,
# or in FROM: a tree of the student's own, of which each file with such a task is taken whole.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd -P)
lesson=${1-} out=${2-} from=${3-}

refuse() { # SENTENCE
    echo "starter: $1" >&2
    exit 2
}

# "FILE:02.4" for each region of a file, in the order of the tree.
regions() {
    cd "$here" && grep -nHoE '^ *// task [0-9]{2}\.[0-9]+ \{$' lesson0*/*.c common/*.c |
        sed -E 's/^([^:]*):[0-9]*: *\/\/ task ([0-9.]+) \{$/\1:\2/'
}

files() { # FIRST LAST: that hold tasks of these lessons
    regions | while IFS=: read -r file task; do
        number=${task%.*}
        number=${number#0}
        [ "$number" -lt "$1" ] || [ "$number" -gt "$2" ] || echo "$file"
    done | sort -u
}

# Where there is no git: what stands at the top, and the rooms; no build folder, nobody's notes.
tree() {
    cd "$here"
    if [ -e .git ] && command -v git >/dev/null; then
        git ls-files
    else
        find . -maxdepth 1 -type f
        find .ci common docs lesson0*_* tests -type f
    fi | while IFS= read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}

# The folder that is there and will hold it.
nearest() { # PATH
    (
        place=$(dirname "$1")
        while [ ! -d "$place" ]; do place=$(dirname "$place"); done
        cd "$place" && pwd -P
    )
}

check() {
    case $lesson in
    [1-4]) ;;
    0[1-4]) lesson=${lesson#0} ;;
    *) refuse "LESSON is '$lesson', expected 01, 02, 03 or 04, as in: make starter LESSON=02 OUT=../mine" ;;
    esac
    [ -n "$out" ] || refuse "OUT is not given: the folder to make, as in: make starter LESSON=02 OUT=../mine"
    case $out in -*) out=./$out ;; esac # no flag
    while [ "$out" != / ] && [ "$out" != "${out%/}" ]; do out=${out%/}; done
    if [ -d "$out" ]; then
        out=$(cd "$out" && pwd -P) # a link to a folder stays a link
        [ -z "$(ls -A "$out")" ] || refuse "OUT=$out is not empty: nothing in it was changed; name a new folder"
    elif [ -e "$out" ] || [ -L "$out" ]; then
        refuse "OUT=$out is a file, or a link that leads nowhere; expected a folder that is new or empty"
    fi
    case $(nearest "$out")/ in
    "$here"/*) refuse "OUT=$out is within this tree, where make clean or git clean might take it away; name a folder beside it, as ../mine" ;;
    esac
    [ -z "$from" ] || [ -d "$from" ] || refuse "FROM=$from is no folder, expected the tree of an earlier lesson"
}

# Earlier lessons' files of the student's own. All are looked for before one is copied.
check_from() {
    for file in $(files 1 $((lesson - 1))); do
        [ -f "$from/$file" ] ||
            refuse "FROM=$from has no $file, which holds a task of an earlier lesson; is it the top of a tree?"
    done
}

take_from() { # TREE
    for file in $(files 1 $((lesson - 1))); do
        cp "$from/$file" "$1/$file"
        left=$(grep -oE 'todo\("[0-9]{2}\.[0-9]+"\)' "$from/$file" | sed 's/.*"\(.*\)".*/\1/' | sort -u | tr '\n' ' ')
        [ -z "$left" ] || echo "starter: not yet written in $from/$file: ${left% }"
    done
}

empty() { # TREE
    for file in $(files "$lesson" 4); do
        awk -v from="$lesson" -f "$here/common/course/regions.awk" "$here/$file" >"$1/$file"
    done
}

commit() { # TREE
    command -v git >/dev/null || return 0
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
    said=$(git init -q "$1" 2>&1) || refuse "git cannot make a repository in OUT=$out: $said"
    git -C "$1" add -A
    git -C "$1" -c user.name=starter -c user.email=starter@localhost -c commit.gpgsign=false \
        commit -q --no-verify -m "Begin lesson 0$lesson"
}

quoted() { # as a shell reads it
    case $out in *[!A-Za-z0-9._/+-]*) echo "'$out'" ;; *) echo "$out" ;; esac
}

check
[ -z "$from" ] || check_from
mkdir -p "$(dirname "$out")" || refuse "OUT=$out cannot be made; see above"
made=$(mktemp -d "$out.XXXXXX") || refuse "OUT=$out cannot be made; see above"
full="OUT=$out cannot be filled, and nothing was left of it"
trap 'rm -rf "$made"' EXIT
trap 'exit 130' INT TERM HUP
# A mutant's patch would show the lines that are taken out.
tree | grep -v '^\(\./\)\{0,1\}tests/grade/mutants/' | (cd "$here" && tar -cf - -T -) >"$made/.tree" || refuse "$full"
said=$(tar -xf "$made/.tree" -C "$made" 2>&1) || refuse "$full: $(echo "$said" | head -n 1)"
rm -f "$made/.tree"
[ -z "$from" ] || take_from "$made"
empty "$made"
# The questions to answer; a sheet that is there stays (2).
(cd "$made" && sh common/course/answers.sh "$lesson" >/dev/null 2>&1) || [ $? = 2 ] || refuse "no sheet of answers could be made in OUT=$out"
chmod 755 "$made"
commit "$made"
[ ! -d "$out" ] || rmdir "$out" || refuse "OUT=$out, which is there, cannot be replaced; see above"
mv "$made" "$out"
echo "starter: $out: lesson 0$lesson, $(regions | grep -c ":0$lesson") places to write in; begin with: cd $(quoted) && make check"
