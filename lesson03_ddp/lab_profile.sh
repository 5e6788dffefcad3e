#!/bin/sh
# lab_profile: where an update's time goes, alone and with 2 and 4 ranks, side by side.
# Trains the widest network of `make bench-peers`, on Fashion-MNIST as there, with --profile and without the proof; where
# the data set is not installed on digits, whose first layer is smaller. Of several ranks rank 0's numbers are shown.
# usage: WORLDS="1 2 4" FLAGS="--link 1gbit,1ms" DATA=digits lab_profile.sh BUILD
set -eu
export OPENBLAS_NUM_THREADS=1 # a rank has one core, or less
build=$1
here=$(cd "$(dirname "$0")" && pwd)
data=${DATA-}
if [ ! "$data" ]; then
    data=digits
    ! sh "$here/../common/install.sh" name fashion-mnist >/dev/null 2>&1 || data=fashion-mnist
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

worlds=${WORLDS:-1 2 4} steps=30
[ "$data" != digits ] || steps=5 # an epoch has no more that are full
for world in $worlds; do
    set -- --data "$data" --hidden 1024,1024,1024 --batch 256 --steps "$steps" --no-verify --profile --progress never
    # shellcheck disable=SC2086 # flags, one word each
    case $world in
    1) "$build/lesson01_single" "$@" ;;
    *) "$build/launch" -n "$world" "$build/lesson03_ddp" "$@" --algorithm auto ${FLAGS-} ;;
    esac >"$folder/$world"
done

echo "Microseconds of an update, mean of $steps, on rank 0; $data, hidden widths 1024,1024,1024, global batch 256."
cd "$folder"
# shellcheck disable=SC2086 # file names, one word each
awk '
    FNR == 1 { heading = heading sprintf("  %18s", FILENAME " rank" (FILENAME == 1 ? "" : "s")) }
    { sub(/^\[0\] /, "") }
    /^  [a-z].* %/ && match($0, / +[0-9.]+ +[0-9.]+ %/) {
        name = substr($0, 1, 17)
        if (!(name in row)) names[++count] = name
        row[name] = row[name] sprintf("  %18s", substr($0, 18, 20))
    }
    END {
        printf "%-17s%s\n", "", heading
        for (i = 1; i <= count; i++) print names[i] row[names[i]]
    }' $worlds
