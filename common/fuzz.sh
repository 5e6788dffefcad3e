#!/bin/sh
# fuzz: gives each reader of strangers' bytes what libFuzzer makes up, for some seconds each.
#
#   sh common/fuzz.sh BUILD SECONDS TARGET...     runs BUILD/fuzz_TARGET from tests/fuzz/corpus/TARGET
#
# What covers new code is kept in BUILD/corpus/TARGET and is where the next run begins. What breaks a
# promise is kept in BUILD/found, and the sentence and the command that repeats it are shown. All targets
# are run; 1 when one was broken.
set -u

build=$1
seconds=$2
shift 2

# A reader asks for memory as its file is large, not as its header says. Both limits are far above what
# inputs of 4 KiB need, even packed ones.
limits="-rss_limit_mb=256 -malloc_limit_mb=64 -timeout=10 -max_len=4096"
export ASAN_OPTIONS="quarantine_size_mb=8:${ASAN_OPTIONS-}" # freed blocks count as used
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS-}"

# Files are written by the thousand a second: in memory, where the system has a folder for that.
place=${TMPDIR:-/tmp}
[ -w /dev/shm ] && place=/dev/shm
TMPDIR=$(mktemp -d "$place/fuzz-XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' INT TERM

fuzz() { # TARGET
    log=$build/fuzz_$1.log
    mkdir -p "$build/corpus/$1" "$build/found"
    # shellcheck disable=SC2086 # words, one each
    if "$build/fuzz_$1" $limits -max_total_time="$seconds" -print_final_stats=1 \
        -artifact_prefix="$build/found/$1-" "$build/corpus/$1" "tests/fuzz/corpus/$1" >"$log" 2>&1; then
        awk -v target="$1" '
            /^stat::number_of_executed_units/ { runs = $2 }
            /^#[0-9]+.* cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
            END { printf "fuzz: %-10s %9d inputs, %5d edges: ok\n", target, runs, edges }' "$log"
        return 0
    fi
    echo "fuzz: $1: FAILED; the whole report is in $log"
    grep -E '^(a promise was broken|SUMMARY|==.*ERROR)|runtime error' "$log"
    sed -n "s,.*Test unit written to \(.*\),  to repeat it: $build/fuzz_$1 \1,p" "$log"
    return 1
}

failed=
for target; do
    fuzz "$target" || failed=1
done
[ -z "$failed" ]
