#!/bin/sh
# lint: what a tool can check about the code, a tool checks. 1 when anything was found.
#
#   sh common/lint.sh FLAG...     the flags a file is compiled with
#
# All checks are made, so that one run shows all there is to mend. Files are looked at one by one,
# as many at a time as there are cores.
set -u

rooms="common lesson0[1-4]_* tests"
export JOBS="${JOBS:-2}"

files() { # find's words for a name
    # shellcheck disable=SC2086 # patterns, to be expanded
    find $rooms "$@" | sort
}

# One compilation with both compilers, of a file that holds nothing but one include.
headers() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    files -name '*.h' | xargs -P "$JOBS" -I{} sh -c '
        for compiler in gcc clang; do
            echo "#include \"$0\"" | $compiler "$@" -Werror -fsyntax-only -x c - || exit 1
        done' {} "$@"
}

format() {
    files -name '*.[ch]' -o -name '*.cc' | xargs clang-format --dry-run -Werror
}

# One line for each finding; `clang-tidy FILE` by hand shows the path that leads there.
# A peer's own header need not be installed; a shim names the parameters of system calls its own way.
tidy() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    files -name '*.c' ! -name openmpi.c ! -path '*/shim/*' | xargs -P "$JOBS" -I{} sh -c '
        out=$(clang-tidy --quiet "$0" -- "$@" 2>&1) || { echo "$out" | grep "error:"; exit 1; }' {} "$@"
}

# A file fits on a few pages, a function on one, and a banner opens every file. A test may be longer:
# its tables are.
shape() {
    files -name '*.[ch]' | xargs awk '
        function complain(text) { print FILENAME ":" FNR ": " text; bad = 1 }
        FNR == 1 && !/^\/\*/ { complain("no banner: a comment opens every file") }
        FNR == 1 { most = FILENAME ~ /^tests/ ? 600 : FILENAME ~ /h$/ ? 160 : 320 }
        FNR == most + 1 { complain("the file is too long; is it one noun?") }
        /^{$/ { start = FNR }
        /^}$/ && start { if (FNR - start > 51) complain("the function is longer than 50 lines"); start = 0 }
        END { exit bad }' &&
        files -name '*.sh' | xargs awk '
        FNR == 2 && !/^# / { print FILENAME ": no banner"; bad = 1 }
        END { exit bad }'
}

promises() { # what is left for later is an issue, not a comment; a test may print the word
    ! files -type f ! -name '*.gz' | xargs grep -nE '(//|\*|#).*\<(TO''DO|FIX''ME|XX''X)\>'
}

scripts() {
    # shellcheck disable=SC2046 # words, one each
    shellcheck $(files -name '*.sh') .ci/run
}

failed=
run() { # TITLE FUNCTION ARGUMENT...
    title=$1
    shift
    if "$@"; then
        echo "lint: $title: ok"
    else
        echo "lint: $title: FAILED"
        failed=1
    fi
}

run "format" format
run "floors" sh common/floors.sh
run "every header compiles alone, gcc and clang" headers "$@"
run "shape" shape
run "nothing left for later" promises
run "scripts" scripts
# shellcheck disable=SC2046 # words, one each
run "clang-tidy" tidy "$@" $(mpicc -show | tr ' ' '\n' | grep '^-I') # where mpi.h is
[ -z "$failed" ]
