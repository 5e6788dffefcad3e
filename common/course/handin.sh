#!/bin/sh
# handin: packs a student's tree as it is committed, with answers, machine and history, into one archive.
#
#   sh common/course/handin.sh LESSON [OUT.tar.gz]      in the student's tree
#
# What is not committed is in no archive, so it is refused; a question without an answer likewise. Points are the
# grader's business: tasks that are not yet written are named, and no reason to refuse.
set -u
export LC_ALL=C GIT_OPTIONAL_LOCKS=0

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common/course/lesson.sh
. "$here/lesson.sh"
# shellcheck source=common/course/place.sh
. "$here/place.sh"

refuse() { # SENTENCE...
    echo "handin: $*" >&2
    exit 2
}

# The first ten lines of standard input, indented, and how many more.
some() {
    awk 'NR <= 10 { print "  " $0 } END { if (NR > 10) print "  and " NR - 10 " more" }'
}

check_committed() {
    command -v git >/dev/null || refuse "git is missing: a hand-in is what you committed; install git, commit, try again"
    git rev-parse --git-dir >"$work/said" 2>&1 ||
        refuse "git does not know this folder ($(head -n 1 "$work/said")): git init, git add ., git commit, try again"
    commit=$(git rev-parse --short --verify --quiet HEAD) || refuse "nothing is committed yet: git add ., git commit, try again"
    # Without renames: one file a line. What is unknown to git, also for whom git is not to say so.
    git -c core.quotepath=off status --porcelain --no-renames --untracked-files=normal -- . >"$work/changed" ||
        refuse "git cannot say what is not committed; see above"
    [ -s "$work/changed" ] || return 0
    echo "handin: not committed (??: unknown to git; M: changed; D: gone):" >&2
    some <"$work/changed" >&2
    refuse "a hand-in is what you committed: git add and git commit them, or git checkout and remove them, and try again"
}

check_answers() {
    sheet=$folder/ANSWERS.md
    [ -f "$sheet" ] || refuse "$sheet is missing: make answers LESSON=$lesson makes it, with every question to fill in"
    awk -v lesson="$lesson" -f "$here/answers.awk" "$folder/README.md" >"$work/sheet"
    if ! answered=$(awk -f "$here/answered.awk" "$work/sheet" "$sheet"); then
        echo "handin: not filled in, in $sheet:" >&2
        echo "$answered" | sed 's/^  //' | some >&2
        refuse "an answer may be -, where you have none; make answers shows the empty sheet once this one is moved away"
    fi
}

# The ids of this lesson's tasks that are still empty, on a line. What an end of a task would have instead is not there.
unwritten() {
    cat common/*.c lesson0*/*.c | sed 's/\/\/ } [0-9.]* instead:.*//' | grep -o "todo(\"$lesson\.[0-9]*\")" | sed 's/.*"\(.*\)".*/\1/' | sort -u | paste -sd' ' -
}

library() { # NAME: its version, if pkg-config knows it
    echo "$1 $("${PKG_CONFIG:-pkg-config}" --modversion "$1" 2>/dev/null || echo unknown)"
}

processor() {
    awk -F ': *' '/^(model name|Model)/ { print $2; exit }' /proc/cpuinfo 2>/dev/null ||
        sysctl -n machdep.cpu.brand_string 2>/dev/null
}

facts() {
    echo "lesson: $lesson"
    echo "name: $(sed -n 's/^Name: *//p' "$folder/ANSWERS.md" | head -n 1)"
    echo "commit: $(git log -1 --format='%H, %ad' --date=iso)"
    echo "packed: $(date -u '+%Y-%m-%d %H:%M:%S UTC')"
    echo "not yet written: ${todo:-nothing}"
    echo "answers: $answered"
    echo "system: $(uname -srm)"
    echo "processor: $(processor), $(getconf _NPROCESSORS_ONLN) cores"
    echo "memory: $(awk '/^MemTotal/ { print int($2 / 1024) " MiB" }' /proc/meminfo 2>/dev/null)"
    echo "compiler: $("${CC:-cc}" --version 2>/dev/null | head -n 1)"
    echo "libraries: $(library openblas), $(library libuv), $(library zlib), $(library jansson), $(library check)"
    echo
    echo "history, latest first; lines added and taken away, by file:"
    git -c log.showRoot=false log --no-color --date=iso --format='%n%h  %ad  %an  %s' --numstat -- . | head -n 2000
    echo
    echo "how the answers came about:"
    git log --no-color --no-ext-diff --reverse --date=iso --format='%n%h  %ad' -p -- "$sheet" | head -n 5000
}

# Whether they end in CR LF is for git to decide.
lines_of() { # FILE
    [ ! -f "$1" ] || tr -d '\r' <"$1" | cksum
}

# What is marked and what was answered is in the archive as it is here. Else an ignored file, or one that git was told
# not to look at, would be missed by the one who marks it.
check_packed() { # FOLDER
    grep -lE '^ *// task [0-9]+[.][0-9]+ [{]' common/*.c lesson0*/*.c >"$work/marked" 2>/dev/null
    echo "$sheet" >>"$work/marked"
    while IFS= read -r file; do
        [ "$(lines_of "$file")" = "$(lines_of "$1/$file")" ] || refuse "$file is not committed as it is here, though git status does not say so: is it" \
            "ignored (git check-ignore -v $file), or hidden (git ls-files -v $file)? git add -f $file, git commit, try again"
    done <"$work/marked"
}

pack() {
    name=$(basename "$out" .tar.gz)
    mkdir "$work/$name"
    git -c core.autocrlf=false archive --format=tar HEAD >"$work/tree" || refuse "git cannot pack the tree; see above"
    tar -xf "$work/tree" -C "$work/$name" || refuse "the tree cannot be unpacked in $work; see above"
    check_packed "$work/$name"
    facts >"$work/$name/HANDIN.txt"
    files=$(find "$work/$name" -type f | wc -l)
    tar -czf "$work/packed" -C "$work" "$name" || refuse "the archive cannot be made; see above"
    place "$work/packed" "$out" || refuse "cannot write $out, of which nothing was left; see above"
}

lesson_find "${1-}" || refuse "expected a lesson from 1 to 4, found '${1-}': make handin LESSON=02 [OUT=file.tar.gz]"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$placing"' EXIT
trap 'exit 130' INT TERM HUP

check_committed
out=${2:-handin-$lesson-$commit.tar.gz}
case $out in *.tar.gz) ;; *) refuse "OUT: expected a name that ends in .tar.gz, found '$out'" ;; esac
[ ! -e "$out" ] || refuse "$out is there already, and stays as it is: move it away, or say OUT=another.tar.gz"
[ -d "$(dirname "$out")" ] || refuse "$out: there is no folder $(dirname "$out")"
check_answers
todo=$(unwritten)
pack

echo "$out: lesson $lesson as of commit $commit, $((files)) files, $(($(wc -c <"$out") / 1024)) KiB"
echo "  $sheet: $answered"
echo "  HANDIN.txt: name, commit, machine, compiler, libraries, history, how the answers came about"
[ -z "$todo" ] || echo "  not yet written, and no reason to wait: $todo"
echo "Hand in this file. What the grader says of it: make grade LESSON=$lesson FROM=$out"
