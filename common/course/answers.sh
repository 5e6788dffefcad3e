#!/bin/sh
# answers: a lesson's sheet of questions, lesson0N_*/ANSWERS.md, where there is none yet.
#
#   sh common/course/answers.sh LESSON      in the tree the sheet is for
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common/course/lesson.sh
. "$here/lesson.sh"
# shellcheck source=common/course/place.sh
. "$here/place.sh"

if ! lesson_find "${1-}"; then
    echo "answers: expected a lesson from 1 to 4, found '${1-}': make answers LESSON=02" >&2
    exit 2
fi
sheet=$folder/ANSWERS.md
if [ -e "$sheet" ]; then
    echo "answers: $sheet is there already, and stays as it is; for an empty one, move it away first" >&2
    exit 2
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$placing"' EXIT
trap 'exit 130' INT TERM HUP
awk -v lesson="$lesson" -f "$here/answers.awk" "$folder/README.md" >"$work/sheet" && place "$work/sheet" "$sheet" || exit 1
echo "$sheet: $(grep -c '^### ' "$sheet") questions to fill in"
