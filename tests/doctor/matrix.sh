#!/bin/sh
# matrix: plants every mistake of the zoo, asks the doctor what it sees, and prints planted against diagnosed.
#
#   MEMBERS= WORLDS="2 3 4" OPTIMIZERS="sgd adam" SEEDS="1 2 3" PARTS="matrix clean pairs proof" sh tests/doctor/matrix.sh BUILD
#
# Four parts. matrix: every member, world, optimizer and seed, through the lessons and stages it lives in by turns.
# clean: a hundred runs without a mistake, of all kinds. pairs: every two that do not contradict each other. proof: does
# the lessons' own proof catch it where the table says so, and nowhere else? FLAGS="--precision bf16" are added to all
# planted runs, CLEAN=500 makes more clean ones.
#
# Leaves with 1 when anything was missed or seen that is not there; each failure comes with the commands that repeat it.
set -u

here=$(cd "$(dirname "$0")" && pwd)

build=$1
# shellcheck source=common/zoo_run.sh
. "$here/../../common/zoo_run.sh"
worlds=${WORLDS:-2 3 4}
optimizers=${OPTIMIZERS:-sgd adam}
seeds=${SEEDS:-1 2 3}
parts=${PARTS:-matrix clean pairs proof}
members=${MEMBERS:-$(zoo_table | cut -f 1)}
at_a_time=$(($(getconf _NPROCESSORS_ONLN) + 2))
small="--hidden 9 --batch 128 --steps 40 --progress never --quiet ${FLAGS:-}"
clean_runs=${CLEAN:-100}

# shellcheck disable=SC2086 # words
zoo_check_members $members
# shellcheck disable=SC2086
zoo_check_numbers WORLDS 2 16 $worlds
# shellcheck disable=SC2086
zoo_check_numbers SEEDS 0 999999999 $seeds
zoo_check_numbers CLEAN 0 999999 "$clean_runs"
for part in $parts; do
    case $part in
    matrix | clean | pairs | proof) ;;
    *) echo "PARTS are matrix, clean, pairs and proof, not $part" >&2; exit 2 ;;
    esac
done
for optimizer in $optimizers; do
    case $optimizer in
    sgd | adam | adamw) ;;
    *) echo "OPTIMIZERS are sgd, adam and adamw, not $optimizer" >&2; exit 2 ;;
    esac
done

work=$build/doctor-matrix
rm -rf "$work"
mkdir -p "$work" || exit 1

word() { # NUMBER WORD...: the word of that number, round and round
    n=$1
    shift
    shift $((n % $#))
    echo "$1"
}

# A run with nothing wrong, of one process, for those the doctor needs to compare with. Prints its name.
healthy() { # FLAG...: those of a single rank; no algorithm
    set -- "$(echo "$*" | sed 's/ --algorithm [a-z]*//; s/ --resume//')"
    name=$(echo "$*" | cksum | cut -d ' ' -f 1)
    echo "healthy-$name|healthy|none|1|1|no|$*" >>"$work/healthy"
    echo "$name"
}

# Lessons, stages, worlds, seeds: of each member by turns, so that all are met.
plan_matrix() {
    for member in $members; do
        needs=$(zoo_field "$member" 4)
        # shellcheck disable=SC2046 # words
        set -- $(zoo_places "$(zoo_field "$member" 2)" "$(zoo_field "$member" 3)")
        turn=0
        for world in $worlds; do
            for optimizer in $optimizers; do
                for seed in $seeds; do
                    flags="$small --optimizer $optimizer --seed $seed $needs"
                    reference=no
                    [ "$(zoo_field "$member" 5)" = yes ] && reference=$(healthy "$flags")
                    echo "matrix|$member|$(word $turn "$@")|$world|$reference|$flags"
                    turn=$((turn + 1))
                done
            done
        done
    done
}

# Each kind of flag turns at a pace of its own, so that no two always meet. A third is compared with one process.
plan_clean() {
    i=0
    while [ $i -lt "$clean_runs" ]; do
        world=$((i % 4 + 1))
        where=$(word $((i / 4)) 2 3 4.1 4.2 4.3)
        [ $world = 1 ] && where=$(word $((i / 4)) 1 2 3 4.1 4.3)
        flags="--hidden $(word $i 9 11,9 none) --steps 40 --progress never --quiet --seed $i"
        flags="$flags --optimizer $(word $((i / 2)) sgd adam adamw) --schedule $(word $((i / 3)) constant linear cosine halve:9)"
        flags="$flags --accumulate $(word $((i / 5)) 1 1 2 3)"
        [ $((i % 7)) = 0 ] && [ $((i % 3)) != 2 ] && flags="$flags --dropout 0.3"
        [ $((i % 5)) = 1 ] && flags="$flags --clip 0.5"
        [ $((i % 6)) = 2 ] && flags="$flags --weight-decay 0.01"
        [ $((i % 9)) = 3 ] && flags="$flags --precision $(word $i bf16 fp16)"
        [ $((i % 11)) = 4 ] && flags="$flags --drop-last"
        [ $((i % 4)) = 3 ] && [ $((i % 3)) = 0 ] && flags="$flags --algorithm direct"
        [ $((i % 13)) = 5 ] && flags="$flags --no-shuffle"
        case $((i % 8)) in
        5) flags="$flags --per-rank-batch 32 --lr-scale linear --warmup 10" ;;
        7) flags="$flags --batch 50" ;;
        *) flags="$flags --batch 128" ;;
        esac
        reference=no
        case $((i % 3))$flags in
        1*--per-rank-batch*) ;;
        1*) reference=$(healthy "$flags") ;;
        esac
        [ $((i % 6)) = 5 ] && flags="$flags --resume"
        echo "clean|none|$where|$world|$reference|$flags"
        i=$((i + 1))
    done
}

# Every two, at three ranks, in a place where both live. Two that contradict each other the lesson refuses. With a
# batch of 145 an epoch's last update has one micro-batch of three, in which local and reduced are told apart.
plan_pairs() {
    echo "$members" | tr ' ' '\n' | awk '
        { name[NR] = $1; for (i = 1; i < NR; i++) print name[i], $1 }' |
    while read -r first second; do
        zoo_places "$(zoo_field "$first" 2)" "$(zoo_field "$first" 3)" | sort >"$work/places"
        place=$(zoo_places "$(zoo_field "$second" 2)" "$(zoo_field "$second" 3)" | sort | comm -12 "$work/places" - | tail -n 1)
        [ -n "$place" ] || continue
        flags="$(echo "$small" | sed 's/128/145/') $(zoo_field "$first" 4)"
        more=$(zoo_field "$second" 4)
        case $flags in *"${more%% *}"*) ;; *) flags="$flags $more" ;; esac
        # Beside another mistake a gradient may be smaller, and what is never cut cannot be cut wrongly.
        flags=$(echo "$flags" | sed 's/--clip 0.5/--clip 0.1/')
        reference=no
        case "$(zoo_field "$first" 5)$(zoo_field "$second" 5)" in *yes*) reference=$(healthy "$flags") ;; esac
        both=$(printf '%s\n' "$first" "$second" | sort | paste -sd+ -)
        echo "pairs|$both|$place|3|$reference|$flags"
    done
}

# Four ranks, the first two steps verified, in each lesson once (lesson 4: stage 1).
plan_proof() {
    for member in $members; do
        for where in $(zoo_places "$(zoo_field "$member" 2)" 1); do
            case ,$(zoo_field "$member" 6), in
            *",${where%.1},"*) expected=caught ;;
            *) expected=unnoticed ;;
            esac
            echo "proof|$member|$where|4|$expected|--hidden 9 --batch 100 --steps 30 --verify 2 --quiet $(zoo_field "$member" 4)"
        done
    done
}

failures() {
    awk -F '|' '$2 != $3 && $3 != "refused"' "$work/results" | while IFS='|' read -r part planted diagnosed number reference; do
        echo
        echo "$part: planted $planted, diagnosed $diagnosed:"
        sed 's/^/    /' "$work/$number/commands"
        compared=
        [ "$reference" != no ] && compared=" $work/healthy-$reference" && sed 's/^/    /' "$work/healthy-$reference/commands"
        echo "    $build/doctor $work/$number$compared"
        [ "${diagnosed#exit}" = "$diagnosed" ] || tail -n 3 "$work/$number/output" | sed 's/^/    says: /'
    done
}

began=$(date +%s)
: >"$work/healthy"
for part in $parts; do
    case $part in
    matrix) plan_matrix ;;
    clean) plan_clean ;;
    pairs) plan_pairs ;;
    proof) plan_proof ;;
    esac
done | awk '{ print "run-" NR "|" $0 }' >"$work/plan"

run_all() { # PLAN: as many at a time as there are cores, and some, for many only wait
    [ -s "$1" ] || return 0
    tr '\n' '\0' <"$1" | xargs -0 -P "$at_a_time" -n 1 sh "$here/case.sh" "$build" "$work"
}
sort -u "$work/healthy" >"$work/references"
run_all "$work/references"
run_all "$work/plan" >"$work/results"

failures
awk -F '|' -f "$here/confusion.awk" "$work/results"
code=$?
echo "$(wc -l <"$work/plan") runs in $(($(date +%s) - began)) s"
exit $code
