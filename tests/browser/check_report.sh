#!/bin/sh
# check_report: makes records, reports of them, and looks at the pages in headless Chromium: look.py.
#
#   sh tests/browser/check_report.sh BUILD      screenshots stay in BUILD/report-shots
#
# Then pages that were damaged on purpose: each must be found out, or looking is worth nothing.
set -u

build=$(cd "$1" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
report=$here/../../common/report/report.sh
chromium=
for name in chromium chromium-browser google-chrome; do
    [ "$chromium" ] || chromium=$(command -v "$name")
done
[ "$chromium" ] || { echo "check-report: skipped: there is no chromium here"; exit 0; }

shots=$build/report-shots
kept=$(mktemp -d) || exit 1
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
rm -rf "$shots"
mkdir -p "$shots"
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
failed=

say() { # WORDS...: a failure
    echo "check-report: $*"
    failed=1
}

train() { # NAME RANKS LESSON FLAG...: a record, whatever becomes of the run
    name=$1 ranks=$2 lesson=$3
    shift 3
    mkdir -p "$kept/$name"
    set -- "$build/$lesson" --hidden 9 --quiet --record "$kept/$name" "$@"
    [ "$ranks" = 1 ] || set -- "$build/launch" -n "$ranks" "$@"
    "$@" >"$kept/out" 2>&1
    [ -e "$kept/$name/rank-0.jsonl" ] || say "no record of $name: $(cat "$kept/out")"
}

page() { # NAME [REFERENCE]: its report
    sh "$report" "$build" "$kept/$1" ${2:+"$kept/$2"} >"$kept/out" 2>&1 || say "no report of $1: $(cat "$kept/out")"
}

holds() { # NAME WORDS: must be on the page
    grep -qF -e "$2" "$kept/$1/report/index.html" || say "the page of $1 does not say: $2"
}

odd="it's <b>\"odd\"<script>alert(1)<!script> & so"
train healthy 2 lesson03_ddp --epochs 3 --trace "$kept/healthy/trace.json"
train zero 2 lesson04_zero --stage 2 --clip 0.5 --epochs 2
train faulty 4 lesson02_allreduce --epochs 2 --inject sum-not-mean
train once 1 lesson01_single --steps 1
train long 1 lesson01_single --batch 4 --steps 4000
train diverged 1 lesson01_single --hidden 9,9,9,9 --lr 1e6 --no-verify
train skipped 2 lesson03_ddp --hidden 30,30,30 --lr 1e4 --on-nonfinite skip --no-verify --steps 40
train wide 16 lesson02_allreduce --steps 2
train "$odd" 1 lesson01_single --steps 2
train cut 2 lesson03_ddp --steps 30
for rank in 0 1; do # as if it had been killed
    head -n 20 "$kept/cut/rank-$rank.jsonl" >"$kept/cut/kept" && mv "$kept/cut/kept" "$kept/cut/rank-$rank.jsonl"
done

set -- healthy faulty once long diverged skipped wide "$odd" cut
for name; do page "$name"; done
page zero healthy
page once zero
holds healthy "Nothing wrong found"
holds healthy "step 1: gradient = the gradient of every other rank"
holds faulty "sum-not-mean"
holds long "each point is the mean of 5 in a row"
holds skipped "The reported loss is not finite in"
holds cut "The run did not end by itself"
holds "$odd" "&lt;script&gt;alert(1)&lt;!script&gt; &amp; so"

mkdir "$kept/nothing" && echo hello >"$kept/nothing/rank-0.jsonl"
for name in nothing missing; do
    sh "$report" "$build" "$kept/$name" >"$kept/out" 2>&1 && say "$name, which is no record, has a report"
    [ "$(wc -l <"$kept/out")" = 1 ] || say "$name is not refused in one sentence: $(cat "$kept/out")"
    [ ! -e "$kept/$name/report" ] || say "a report lies in $name"
done

pages=0
for name in "$@" zero; do
    pages=$((pages + 1))
    python3 "$here/look.py" "$chromium" "$shots" "$kept/$name/report/index.html" >"$kept/out" 2>&1 || say "$(cat "$kept/out")"
done

damage() { # NAME SED WORDS: the page changed by SED must be told of with these words
    mkdir -p "$kept/damaged/$1"
    sed "$2" "$kept/healthy/report/index.html" >"$kept/damaged/$1/index.html"
    if python3 "$here/look.py" "$chromium" "$kept/damaged" "$kept/damaged/$1/index.html" >"$kept/out" 2>&1; then
        say "damage was not seen: $1"
    elif ! grep -qF -e "$3" "$kept/out"; then
        say "damage was not named: $1: $(cat "$kept/out")"
    fi
}
damage request 's|</footer>|<img src="http://127.0.0.1:9/x.png" alt="">&|' "a request for http://127.0.0.1:9/x.png"
damage console 's|</footer>|&<script>console.error("here")</script>|' "the console says"
damage wide 's|</footer>|&<div style="width: 1400px">here</div>|' "the page is"
damage twice 's|</footer>|&<p id="loss">here</p>|' "the id loss is there twice"
damage text 's|aria-label="[^"]*"|aria-label=""|' "has no text for those who do not see it"
damage cut '/id="picture-step"/,/<\/svg>/s|<g transform="translate(|<g transform="translate(-90,0) translate(|' "is cut off"
damage upon '/id="picture-norms"/,/<\/svg>/s|<g transform="translate([0-9.]*,[0-9.]*)|<g transform="translate(200,100)|' "lies upon"
damage pale 's|--text: #1b1b1b|--text: #cccccc|' "has a contrast of"
damage empty '/id="picture-memory"/,/<\/svg>/d' "a figure has no picture"

[ ! "$failed" ] || { echo "check-report: FAILED"; exit 1; }
echo "check-report: $pages pages and 9 damaged ones at 1280 and 390: all as they should be; screenshots: $shots"
