#!/bin/sh
# check: runs the test suite of a build folder, plain or under a tool that watches it.
#
#   sh common/check.sh plain|sanitize|valgrind BUILD [SUITE...]
#
# BLAS keeps to one thread unless the user wants more: the tests start many ranks on few cores.
# Suites run side by side, some more than there are cores, for many only wait; AT_A_TIME=1: in turn.
# Watched programs are slow, so Check waits longer for them.
set -u

how=$1
export BUILD="$2" # where the tests find the programs they start
shift 2
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"

here=$(cd "$(dirname "$0")" && pwd)
# exitcode: a rank that a sanitizer ends must look like no exit the tests expect.
export ASAN_OPTIONS="detect_leaks=1:exitcode=99:${ASAN_OPTIONS-}"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:exitcode=99:${UBSAN_OPTIONS-}"
# die_after_fork=0: ranks are forked, and lesson 3's start a thread.
# A process that ends waits for no late races: others watch for its end.
export TSAN_OPTIONS="die_after_fork=0:atexit_sleep_ms=0:exitcode=99:suppressions=$here/tsan.supp:${TSAN_OPTIONS-}"

at_a_time=${AT_A_TIME:-$(($(getconf _NPROCESSORS_ONLN) + 2))}

# ThreadSanitizer's memory map does not fit every kernel's random layout: where it can be, it is fixed.
fixed=
if setarch "$(uname -m)" -R true 2>/dev/null; then
    fixed="setarch $(uname -m) -R"
fi

# The suites of one process: valgrind runs one thread at a time, ranks that wait would wait long.
alone="fail slice rng options metrics progress proof environment launch_cause launch_cores compare
    tensorfile csv idx dataset sampler locate layer loss model norm optimizer schedule trainer
    golden reduce choice replay costmodel extrapolate steps explain wire bucket corpus"

case $how in
plain) exec "$BUILD/check" -j "$at_a_time" "$@" ;;
sanitize)
    export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-10}"
    # shellcheck disable=SC2086 # words, one each
    exec $fixed "$BUILD/check" -j "$at_a_time" "$@"
    ;;
valgrind)
    export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-50}" CK_FORK=no
    # shellcheck disable=SC2086
    [ $# -gt 0 ] || set -- $alone
    exec valgrind --quiet --leak-check=full --error-exitcode=99 "$BUILD/check" "$@"
    ;;
esac
