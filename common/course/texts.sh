#!/bin/sh
# texts: writes what the texts quote of the tree anew: contracts, line counts, lists of tasks.
#
#   sh common/course/texts.sh BUILD          `make texts`: rewrites every .md in which something is stale
#   sh common/course/texts.sh BUILD check    names those files, changes none; 1 when there are any. Not in a tree in
#                                            which a student writes: its lines are its own
#
# Which places, and what is put there: texts.awk.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1
only=${2-}
new=$build/text.new
stale=0

students() {
    ls lesson0*/ANSWERS.md || grep -l '"common/todo.h"' lesson0*/*.c common/s*.c
} >/dev/null 2>&1

[ "$only" = check ] && students && exit 0
"$build/tasks" > "$build/tasks.tsv" || exit 2
for text in $(find . \( -path ./.git -o -path './build*' \) -prune -o -name '*.md' -print | sed 's,^\./,,' | sort); do
    awk -f "$here/texts.awk" "$build/tasks.tsv" "$text" > "$new" || exit 2
    cmp -s "$new" "$text" && continue
    if [ "$only" = check ]; then
        echo "$text: what it quotes has changed; \`make texts\` writes it anew"
        diff "$text" "$new" | sed -n 's/^[<>]/  &/p' | head -6
        stale=1
    else
        cat "$new" > "$text" && echo "  $text"
    fi
done
rm -f "$new"
exit $stale
