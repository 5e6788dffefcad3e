#!/bin/sh
# report: the pictures of a recorded run and one page that holds them all.
#
#   sh common/report/report.sh BUILD RUN [REFERENCE]      makes RUN/report/{index.html,*.svg,*.png,*.tsv}
#
# The folder is made anew: a picture that is not drawn this time must not stay from the last. 1, and a
# sentence, where RUN is no record or gnuplot is missing.
set -u
export LC_ALL=C # decimals have points

[ "${2-}" ] || { echo "report: which run? make report RUN=DIR, where DIR is what --record DIR has written" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 1
run=${2%/}
reference=${3-}
out=$run/report

sh "$here/../install.sh" name gnuplot || exit 1
# Nothing is made beside what is no record: the first call of build/report says what it is instead.
new=$(mktemp -d) || exit 1
trap 'rm -rf "$new"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
"$build/report" tables "$run" "$new" ${reference:+"$reference"} || exit 1

verdict() { # REFERENCE or none: true where the doctor could tell, 4 being findings
    "$build/doctor" "$run" "$@" --json >"$new/verdict.json" || [ $? = 4 ]
}
# Another network's run may stand beside this one's curve; to the doctor, who says so, it is no reference.
if [ "$reference" ]; then verdict "$reference" || verdict; else verdict; fi || rm -f "$new/verdict.json"

for kind in svg png; do
    (cd "$new" && gnuplot -e "kind='$kind'" "$here/report.gp" 2>gnuplot.log) ||
        { echo "report: gnuplot failed:" >&2; cat "$new/gnuplot.log" >&2; exit 1; }
done
rm -f "$new/gnuplot.log"
cp "$here/page.css" "$new" || exit 1
"$build/report" page "$run" "$new" ${reference:+"$reference"} || exit 1
rm -f "$new/page.css" # it is on the page

mkdir -p "$out" || exit 1
rm -f "$out"/*.svg "$out"/*.png "$out"/*.tsv "$out/settings.gp" "$out/verdict.json" "$out/index.html"
cp "$new"/* "$out" || exit 1
echo "report: $out/index.html"
