#!/bin/sh
# bench_peers: our all-reduce and its peers in alternation, and the ratios of their times.
#
#   ROUNDS=5 WORLDS="2 4" OURS="tcp:auto unix:auto" PEERS="gloo floor" sh tests/peers/bench_peers.sh BUILD
#
#   OURS    TRANSPORT:ALGORITHM each, as in --transport and --algorithm; auto is the built-in choice
#   PEERS   gloo         gloo's C++ library over TCP; a second run in each round, gloo-again, shows
#                        by its ratio to the first how much of a ratio is noise
#           openmpi-tcp  Open MPI, over TCP on loopback
#           openmpi-shm  Open MPI, through its shared memory
#           floor        64 MiB by plain TCP sockets, each way by a connection of its own
#           floor-one    the same, both ways by one connection
#           floor-unix   as floor, by Unix sockets
#           torch        is bench_train.sh's, and left to it; alone it leaves nothing to do here
#
# A machine's speed drifts by more than what is looked for. So every round runs every program once,
# and a time is compared with times of the same round only (ratios.awk). A peer that is not
# installed is named and left out; one that fails ends it all.
set -u
export LC_ALL=C # decimals have points

rounds=${ROUNDS:-5}
worlds=${WORLDS:-2 4}
ours=${OURS:-tcp:auto unix:auto}
peers=${PEERS-gloo openmpi-tcp openmpi-shm floor floor-one floor-unix}
[ "$peers" != torch ] || exit 0
sizes="4 1024 16384 262144 1048576 4194304 16777216 67108864"

build=$1
here=$(cd "$(dirname "$0")" && pwd)
kept=$(mktemp -d) || exit 1
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail() { # TEXT
    echo "bench_peers: $1" >&2
    exit 1
}

there() { # THING: is it installed? It is named when it is not.
    sh "$here/../../common/install.sh" name "$1"
}

# Peers are compiled for this very machine, which ours is not.
# shellcheck disable=SC2086 # compilers may hold options
compile() { # PEER: into the kept folder; 1 when what it needs is missing
    case $1 in
    gloo)
        there gloo || return 1
        ${CXX:-c++} -O3 -march=native "$here/gloo.cc" -o "$kept/gloo" -lgloo -lpthread
        ;;
    openmpi-tcp | openmpi-shm)
        there openmpi || return 1
        mpicc -O3 -march=native "$here/openmpi.c" -o "$kept/openmpi"
        ;;
    torch) return 1 ;;
    floor | floor-one | floor-unix) ${CC:-cc} -O3 "$here/floor.c" -o "$kept/floor" ;;
    *) fail "there is no peer '$1'" ;;
    esac || fail "$1 does not compile"
}

# Our own table, found by its titles, as lines of bytes and microseconds.
ours_run() { # TRANSPORT:ALGORITHM WORLD
    "$build/launch" -n "$2" "$build/lesson02_allreduce" --bench \
        --transport "${1%%:*}" --algorithm "${1#*:}" >"$kept/table" || return 1
    awk -F '|' '
        /median us/ { for (i = 1; i <= NF; i++) { if ($i ~ /bytes/) b = i; if ($i ~ /median/) m = i } }
        b && $b + 0 > 0 { print $b + 0, $m + 0 }' "$kept/table"
}

# ob1: the engine that heeds which transports (btl) it may use.
# shellcheck disable=SC2086 # words, one each
openmpi_run() { # WORLD TRANSPORT...
    root=
    [ "$(id -u)" != 0 ] || root=--allow-run-as-root
    np=$1
    shift
    mpirun $root --oversubscribe --mca pml ob1 --mca btl "$@" -np "$np" "$kept/openmpi" $sizes
}

# shellcheck disable=SC2086 # words, one each
run() { # NAME WORLD: lines of bytes and microseconds
    case $1 in
    *:*) ours_run "$1" "$2" ;;
    gloo*)
        rm -rf "$kept/meet" && mkdir "$kept/meet" && "$kept/gloo" "$2" "$kept/meet" $sizes
        ;;
    openmpi-tcp) openmpi_run "$2" tcp,self --mca btl_tcp_if_include lo ;;
    openmpi-shm) openmpi_run "$2" vader,self ;;
    floor) "$kept/floor" tcp 2 ;;
    floor-one) "$kept/floor" tcp 1 ;;
    floor-unix) "$kept/floor" unix 2 ;;
    esac
}

# From `launch` to the end of a job of 4 ranks that makes one step and proves it: an upper bound of the
# time to the first step, proof included.
start_up() {
    began=$(date +%s%N)
    "$build/launch" -n 4 "$build/lesson02_allreduce" --steps 1 --quiet >"$kept/said" 2>&1 ||
        fail "a job of one step failed: $(cat "$kept/said")"
    echo "$((($(date +%s%N) - began) / 1000000))" >>"$kept/start_up"
}

columns=
for peer in $peers; do
    compile "$peer" && columns="$columns $peer"
done
rows=$ours
again=
case $columns in *gloo*) again=gloo-again rows="$ours gloo-again" ;; esac

round=0
while [ $((round += 1)) -le "$rounds" ]; do
    start_up
    for world in $worlds; do
        for name in $ours $columns $again; do
            case $name.$world in floor*.2) ;; floor*) continue ;; esac # between two, always
            echo "round $round of $rounds, $world ranks: $name" >&2
            if ! run "$name" "$world" >"$kept/lines" 2>"$kept/said" || ! [ -s "$kept/lines" ]; then
                fail "$name failed with $world ranks: $(cat "$kept/lines" "$kept/said")"
            fi
            awk -v head="$name $world $round" '{ print head, $1, $2 }' "$kept/lines" >>"$kept/times"
        done
    done
done
[ -e "$kept/times" ] || exit 0
printf '\nOn %s cores. Above 1 the row is faster than the column; in percent: its share of the floor.\n' \
    "$(getconf _NPROCESSORS_ONLN)"
awk -v rows="$rows" -v columns="$columns" -f "$here/ratios.awk" "$kept/times"
printf '\nFrom launch to the end of a job of one step, 4 ranks: %s ms, median of %d rounds\n' \
    "$(sort -n "$kept/start_up" | sed -n "$(((rounds + 1) / 2))p")" "$rounds"
