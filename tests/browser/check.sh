#!/bin/sh
# check: a page held against the code it repeats, in a browser without a window, or a line that says why not.
#
#   sh tests/browser/check.sh PROGRAM PAGE BUILD     runs PROGRAM BROWSER FOLDER PAGE BUILD
#
# BROWSER is Chromium or one of its kin, CHROMIUM when that is set; FOLDER is for what it writes, and is
# gone afterwards. Then look.py measures what any page must hold, where there is a python3; its screenshots
# stay in BUILD/page-shots.
set -u

program=$1
page=$2
build=$3
title=$(basename "$program" | tr _ -)

find_browser() {
    for name in ${CHROMIUM:-chromium chromium-browser google-chrome google-chrome-stable}; do
        command -v "$name" && return
    done
    return 1
}

if ! browser=$(find_browser); then
    echo "$title: skipped: there is no Chromium here (apt-get install chromium, or CHROMIUM=PROGRAM)"
    exit 0
fi
folder=$(mktemp -d) || exit 1
# A browser whose test has ended may write for a moment more.
trap 'rm -rf "$folder" 2>/dev/null || { sleep 2; rm -rf "$folder"; }' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

"$program" "$browser" "$folder" "$page" "$build" || exit 1
if command -v python3 >/dev/null; then
    mkdir -p "$build/page-shots"
    python3 "$(dirname "$0")/look.py" --script "$browser" "$build/page-shots" "$page" || exit 1
fi
echo "$title: $page does what the code does, on a desk and a phone"
