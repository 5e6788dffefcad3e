#!/bin/sh
# check_mpi: lessons 2 to 4 over MPI instead of sockets: the same proofs, the same bits, no hang.
#
#   sh tests/mpi/check_mpi.sh BUILD     BUILD's programs use sockets, BUILD/mpi's MPI
#
# One line for each check; 1 when one failed, after all were made. A run that hangs is ended after
# LIMIT seconds and has failed. MPI itself is kept on this machine: shared memory, or TCP on loopback.
set -u

build=$1
mpi=$build/mpi
LIMIT=60
kept=$(mktemp -d) || exit 1
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
failed=

export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
# Open MPI takes these for what other MPIs need not be told: more ranks than cores, as root, here.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=vader,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo

run_mpi() { # WORLD COMMAND...: its exit code; what it says is in $kept/out
    world=$1
    shift
    timeout "$LIMIT" mpirun -n "$world" "$@" >"$kept/out" 2>&1 </dev/null
}

report() { # TITLE ok|WHY
    echo "check-mpi: $1: $2"
    [ "$2" = ok ] || { failed=1; sed 's/^/    /' "$kept/out"; }
}

verdict() { # TITLE COMMAND...: ok when the command succeeds
    title=$1
    shift
    if "$@"; then report "$title" ok; else report "$title" FAILED; fi
}

# The proofs hold over MPI, and the checkpoint at the end is, byte for byte, that of sockets.
same_as_sockets() { # WORLD LESSON FLAG...
    n=$1
    lesson=$2
    shift 2
    rm -rf "$kept/sockets" "$kept/mpi"
    run_mpi "$n" "$mpi/$lesson" "$@" --save "$kept/mpi" || return 1
    grep -q "^result .* world $n .* all hold" "$kept/out" || return 1
    "$build/launch" -n "$n" "$build/$lesson" "$@" --save "$kept/sockets" >"$kept/out" 2>&1 || return 1
    diff -r "$kept/sockets" "$kept/mpi" >"$kept/out" && [ "$(ls "$kept/mpi")" ]
}

# Short frames, in letters, and long ones, in several messages.
for world in 2 3 4; do
    for lesson in lesson02_allreduce lesson03_ddp lesson04_zero; do
        verdict "$lesson, $world ranks, proofs and bits of sockets" \
            same_as_sockets "$world" "$lesson" --steps 40
    done
    for algorithm in ring root tree halving direct auto; do
        verdict "$algorithm, $world ranks, long vectors, proofs and bits of sockets" \
            same_as_sockets "$world" lesson02_allreduce --data synthetic --hidden 600,400 --steps 1 \
            --algorithm "$algorithm"
    done
done
verdict "direct, 2 ranks, a vector sent whole, proofs and bits of sockets" \
    same_as_sockets 2 lesson02_allreduce --hidden 512 --steps 5 --algorithm direct
export OMPI_MCA_btl=tcp,self
for lesson in lesson02_allreduce lesson03_ddp lesson04_zero; do
    verdict "$lesson, 3 ranks, direct, by MPI's own TCP" \
        same_as_sockets 3 "$lesson" --data synthetic --hidden 600,400 --steps 2 --algorithm direct
done
export OMPI_MCA_btl=vader,self

# Ranks that differ are told so, each of them; what they were told is in the run's output.
told() { # CODE TEXT TIMES: of the run before
    [ "$code" = "$1" ] && [ "$(grep -c "$2" "$kept/out")" -ge "$3" ]
}

timeout "$LIMIT" mpirun -n 1 "$mpi/lesson02_allreduce" : -n 2 "$mpi/lesson02_allreduce" --lr 0.3 \
    >"$kept/out" 2>&1 </dev/null
code=$?
verdict "other options are refused, on all ranks" told 1 "was started with other options" 3

run_mpi 2 "$mpi/lesson02_allreduce" --transport unix
code=$?
verdict "--transport unix is refused" told 2 "built with MPI=1 and has mpi only" 1
run_mpi 2 "$mpi/lesson02_allreduce" --link 100mbit,1ms
code=$?
verdict "--link is refused" told 2 "MPI's links cannot be slowed down" 1

"$build/launch" -n 2 "$mpi/lesson02_allreduce" >"$kept/out" 2>&1
code=$?
verdict "another launcher is refused" told 1 "is started by mpirun" 1

run_mpi 2 "$mpi/lesson02_allreduce" --bench --bench-most 4096 --algorithm ring
code=$?
verdict "--bench measures" told 0 "2 ranks on .* MPI" 1

run_mpi 3 "$mpi/mismatch" none
verdict "equal calls succeed" [ $? = 0 ]
for other in count type operation algorithm tag order; do
    run_mpi 3 "$mpi/mismatch" "$other"
    code=$?
    verdict "another $other is told to all ranks" told 1 "Every rank must make the same calls" 3
done

# A rank ends or stops in the middle of training: all others end, soon, and nothing stays behind.
all_gone() { # no rank runs any more; one that nobody has waited for yet is gone too
    for pid in "$kept"/pid.*; do
        case $(ps -o stat= -p "$(cat "$pid")") in '' | Z*) ;; *) return 1 ;; esac
    done
}

lose() { # SIGNAL WORLD: sent to rank 1 once it has trained a few steps; $code and $seconds of the job
    rm -f "$kept"/pid.* "$kept"/m.*
    # shellcheck disable=SC2016 # expanded by each rank's shell
    run_mpi "$2" sh -c 'echo $$ >"$0/pid.${OMPI_COMM_WORLD_RANK-$PMI_RANK}"; exec "$@"' "$kept" \
        "$mpi/lesson02_allreduce" --data synthetic --epochs 1000000 --timeout 3 --quiet --metrics "$kept/m" &
    job=$!
    until [ -s "$kept/m.rank-1" ] || ! kill -0 "$job" 2>/dev/null; do sleep 0.1; done
    kill -s "$1" "$(cat "$kept/pid.1")"
    began=$(date +%s)
    wait "$job"
    code=$?
    seconds=$(($(date +%s) - began))
}

ended() { # SECONDS: with an error, within these, leaving nothing
    [ "$code" != 0 ] && [ "$code" != 124 ] && [ "$seconds" -le "$1" ] && all_gone
}

for world in 2 4; do
    lose KILL "$world"
    verdict "rank 1 of $world is killed: all end" ended 5
    lose STOP "$world"
    verdict "rank 1 of $world stops: all end after the timeout" ended 10
    verdict "and all others name it" [ "$(grep -c '^lesson02.*: rank 1 has ' "$kept/out")" -ge $((world - 1)) ]
done

[ -z "$failed" ]
