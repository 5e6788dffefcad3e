#!/bin/sh
# mutant: does a mutant of the solution lose the points it should, and no others?
#
#   SEED=N sh tests/grade/mutant.sh BUILD NAME     NAME: 02-name, a file of tests/grade/mutants
#
# A mutant is the solution with one mistake: a unified diff of one file. Before the diff stand what the
# mistake is, and the checks of its lesson that it loses, in one line or more:
#
#   loses: 02.4/sums 02.6/step
#
# where chance decides whether it loses one more, that too,
#
#   perhaps: 03.3/killed
#
# and, where it matters which rank's sentence is told, words of it:
#
#   says: expected lesson 3's
#
# Prints a line; where the mutant loses other points, also what the grader said. Exit code 1 then.
set -u

build=$1
name=$2
patch=tests/grade/mutants/$name.patch
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' INT TERM HUP

complain() { # SENTENCE
    printf '%s: %s\n%s\n' "$name" "$1" "$(cat "$tree/out")" >&2 # in one go: others write, too
    exit 1
}

words() { tr ' ' '\n' | grep . | sort | tr '\n' ' '; }

for file in $("$build/grade" 04 --files); do
    mkdir -p "$tree/$(dirname "$file")"
    cp "$file" "$tree/$file"
done
# In a folder of no repository, git is patch(1).
unset GIT_DIR GIT_WORK_TREE
(cd "$tree" && GIT_CEILING_DIRECTORIES=${tree%/*} git apply -) <"$patch" >"$tree/out" 2>&1 ||
    complain "the diff does not fit any more"
says=$(sed -n 's/^loses: *//p' "$patch" | words)
perhaps=$(sed -n 's/^perhaps: *//p' "$patch")
# A measured time is luck where others are at work: if nothing else differs, once more.
speed=$(sed -n 's/.*{"\([0-9.]*\)", "\([a-z]*\)", KIND_SPEED.*/\1\/\2/p' tests/grade/lesson0?.c)
untimed() { echo "$1" | tr ' ' '\n' | grep -vxF "$speed"; }
for _ in 1 2 3; do
    FROM=$tree sh tests/grade/grade.sh "$build" "${name%%-*}" --seed "$SEED" >"$tree/out" 2>&1
    grep -q '^total' "$tree/out" || complain "it was not graded"
    found=$(awk '$1 ~ /^[0-9][0-9][.][0-9]+\// && $2 ~ /^-/ { print $1 }' "$tree/out" | grep -vxF "${perhaps:-none}" | words)
    [ "$found" = "$says" ] && break
    [ "$(untimed "$found")" = "$(untimed "$says")" ] || break
done
[ "$found" = "$says" ] || complain "expected to lose ${says}and no other, lost ${found:-nothing }"
sentence=$(sed -n 's/^says: *//p' "$patch")
grep -qF "$sentence" "$tree/out" || complain "expected it to say: $sentence"
echo "$name: loses $found"
