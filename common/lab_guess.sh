#!/bin/sh
# lab_guess: records a run with a mistake in it and does not say which. You find it, then ask the doctor.
#
#   SEED=NUMBER NP=4 sh common/lab_guess.sh BUILD
#
# The same SEED is the same run. Nothing that is written names the mistake: --inject enters no record.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1
# shellcheck source=common/zoo_run.sh
. "$here/zoo_run.sh"

seed=${SEED:-$(($(date +%s) % 100000))}
world=${NP:-4}
zoo_check_numbers SEED 0 999999999 "$seed"
zoo_check_numbers NP 2 16 "$world" # most mistakes need company
run=$build/guess
rm -rf "$run" "$build/guess-healthy"

# A line of standard input, by the seed.
any() {
    awk -v seed="$seed" 'BEGIN { srand(seed); rand() } { line[NR] = $0 } END { print line[int(rand() * NR) + 1] }'
}

member=$(zoo_table | cut -f 1 | any)
place=$(zoo_places "$(zoo_field "$member" 2)" "$(zoo_field "$member" 3)" | any)
flags="--hidden 16 --seed 7 --progress never $(zoo_field "$member" 4)"
case $flags in
*--resume*) flags="$flags --steps 138" ;;
*) flags="$flags --epochs 6" ;;
esac

# shellcheck disable=SC2086 # flags are words
zoo_run "$run" "$place" "$world" "$member" $flags || { echo "the run failed:"; grep -v inject "$run/output"; exit 1; }
# shellcheck disable=SC2046 # flags are words
zoo_run "$build/guess-healthy" 1 1 "" $(echo "$flags" | sed 's/ --resume//') || { cat "$build/guess-healthy/output"; exit 1; }
for each in "$run" "$build/guess-healthy"; do
    rm -rf "$each/commands" "$each/saved"
done
sed -i '/inject/d' "$run/output"

cat <<END
Recorded: $run, a run of $world ranks with one mistake in it (SEED=$seed makes it again).
For comparison: $build/guess-healthy, one process, nothing wrong.

 1. Look:    make report RUN=$run, and at the pictures $run/report/*.svg (index.html begins with the verdict: not yet)
 2. Search:  docs/odd-curves.md, the checklist first, then your symptom
 3. Measure: $run/rank-0.jsonl and the others, a line a step
 4. Ask:     $build/doctor $run $build/guess-healthy
END
