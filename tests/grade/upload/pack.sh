#!/bin/sh
# pack: what Gradescope or Autolab is to be given to grade a lesson: this tree as it is committed, and how to run it.
#
#   sh tests/grade/upload/pack.sh LESSON gradescope|autolab OUT
#
# Gradescope: OUT is a zip. Autolab: OUT is a new folder with autograde.tar and autograde-Makefile.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common/course/lesson.sh
. "$here/../../../common/course/lesson.sh"
# shellcheck source=common/course/place.sh
. "$here/../../../common/course/place.sh"

refuse() { # SENTENCE...
    echo "autograder: $*" >&2
    exit 2
}

usage="make autograder LESSON=02 FOR=gradescope OUT=autograder.zip, or FOR=autolab OUT=folder"
lesson_find "${1-}" || refuse "expected a lesson from 1 to 4, found '${1-}': $usage"
site=${2-} out=${3-}
case $site in gradescope | autolab) ;; *) refuse "FOR: expected gradescope or autolab, found '$site': $usage" ;; esac
[ -n "$out" ] || refuse "OUT is not given: $usage"
[ ! -e "$out" ] || refuse "$out is there already, and stays as it is: name another"
[ -d "$(dirname "$out")" ] || refuse "$out: there is no folder $(dirname "$out")"
git rev-parse --verify --quiet HEAD >/dev/null || refuse "git does not know this tree; what is packed is its last commit"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$placing"' EXIT
trap 'exit 130' INT TERM HUP
echo "$lesson" >"$work/lesson"

case $site in
gradescope)
    case $out in *.zip) ;; *) refuse "OUT: expected a name that ends in .zip, found '$out'" ;; esac
    # The files stand at the root, the tree in course/.
    git archive --format=zip -o "$work/packed" --add-file="$here/setup.sh" --add-file="$here/run_autograder" \
        --add-file="$work/lesson" --prefix=course/ HEAD || exit 1
    place "$work/packed" "$out" || refuse "cannot write $out, of which nothing was left; see above"
    ;;
autolab)
    git archive --format=tar -o "$work/packed" --add-file="$work/lesson" --prefix=course/ HEAD || exit 1
    mkdir "$out" || refuse "cannot make the folder $out; see above"
    trap 'rm -rf "$work" "$out"' EXIT
    cp "$here/autograde-Makefile" "$out/" || refuse "cannot write into $out; see above"
    place "$work/packed" "$out/autograde.tar" || refuse "cannot write $out, of which nothing was left; see above"
    trap 'rm -rf "$work"' EXIT
    ;;
esac
echo "$out: lesson $lesson for $site, as of commit $(git rev-parse --short HEAD); docs/instructor.md says where to put it"
