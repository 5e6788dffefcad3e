#!/bin/sh
# floors: no include points up the stairs.
#
#   floor 5  tests                sees everything
#   floor 4  lesson04_zero        may include floors 0-3
#   floor 3  lesson03_ddp         may include floors 0-2
#   floor 2  lesson02_allreduce   may include floors 0-1
#   floor 1  lesson01_single      may include floor 0
#   floor 0  common               knows no lesson
#
# And each outside library is met in few places: OpenBLAS in one file, libuv where bytes travel or
# a thread waits, MPI where it stands in for sockets, Check in the tests. Prints every include that breaks a rule; 1 when one does.
set -u

rooms="common lesson0[1-4]_* tests" # in the order of the floors

includes() { # FOLDER...: a line FILE:LINE:"HEADER or FILE:LINE:<HEADER for every include
    find "$@" -name '*.[ch]' -exec grep -Hn '^ *# *include' {} + |
        sed 's/# *include *//; s/[>"][^>"]*$//'
}

# Every quoted include is written from the root, and names this room or one below.
stairs() {
    below=
    for room in $rooms; do
        below="$below${below:+|}$room"
        includes "$room" | grep ':"' | grep -vE ":\"($below)/" |
            sed 's/$/ (not a room on this floor or below)/'
    done
}

only() { # HEADER PLACES, regular expressions: the header is included there and nowhere else
    # shellcheck disable=SC2086 # patterns, to be expanded
    includes $rooms | grep -E ":.$1\$" | grep -vE "^($2)" | sed 's/$/ (its place is elsewhere)/'
}

found=$(
    stairs
    only 'cblas\.h' 'lesson01_single/matmul\.c:'
    only 'uv\.h' 'lesson02_allreduce/|lesson03_ddp/worker\.[ch]:|lesson04_zero/tiles\.[ch]:|common/launch|tests/'
    only 'mpi\.h' 'lesson02_allreduce/mpi_[a-z]*\.c:|tests/peers/'
    only 'check\.h' 'tests/'
)
if [ "$found" ]; then
    echo "$found" >&2
    exit 1
fi
echo "floors: no include points up the stairs"
