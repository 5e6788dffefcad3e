#!/bin/sh
# lab_odd_curves: every mistake of the zoo beside the healthy run: plots, and a line each.
#
#   MEMBERS= WORLD=4 PICTURES=DIR sh common/lab_odd_curves.sh BUILD
#
# Healthy and planted differ in --inject alone. A point of a plot is the mean loss of an eighth of an epoch, and
# the axis counts samples, not updates. With PICTURES=docs/pictures the handbook's pictures are made anew.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1
# shellcheck source=common/zoo_run.sh
. "$here/zoo_run.sh"

world=${WORLD:-4}
kept=$build/odd-curves
pictures=${PICTURES:-$kept}
# shellcheck disable=SC2086 # words
zoo_check_members ${MEMBERS:-}
zoo_check_numbers WORLD 2 16 "$world" # most mistakes need company
rm -rf "$kept"
mkdir -p "$kept" "$pictures" || exit 1
sh "$here/install.sh" name gnuplot || exit 1

# The flags a mistake shows best with, beside those without which it means nothing.
flags_of() { # MEMBER
    echo "--hidden 16 --batch 64 --seed 1 --progress never --quiet $(zoo_field "$1" 4)"
    case $1 in
    resume-without-momentum) echo "--steps 230 --optimizer adam --lr 0.01" ;;
    resume-*) echo "--steps 230" ;;
    sum-not-mean) echo "--epochs 10 --lr 0.2" ;;
    lr-scale-no-warmup) echo "--epochs 10 --lr 0.4" ;;
    *) echo "--epochs 10" ;;
    esac
}

# Epochs done and loss, an eighth of an epoch a line; or the epochs' test accuracy.
curve() { # RECORD WHAT
    awk -v what="$2" '
        function field(key) {
            if (!match($0, "\"" key "\":[-0-9.e+]+")) return ""
            return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0
        }
        function flush() { if (n) printf "%.3f %.5g\n", (bin + 0.5) / 8, sum / n; n = sum = 0 }
        /"event":"start"/ { train = field("train_samples"); if (!field("first")) seen = 0 }
        /"event":"step"/ && what == "loss" {
            middle = seen + field("samples") / 2
            seen += field("samples")
            if (int(middle * 8 / train) != bin) { flush(); bin = int(middle * 8 / train) }
            loss = field("loss")
            if (loss != "") { sum += loss; n++ }
        }
        /"event":"epoch"/ && what != "loss" { printf "%d %.6g\n", field("epoch") + 1, field(what) }
        END { flush() }' "$1/rank-0.jsonl"
}

final_loss() { # RECORD
    awk '/"event":"epoch"/ {
            loss = "NaN"
            if (match($0, /"train_loss":[0-9.e+-]+/)) loss = sprintf("%.4f", substr($0, RSTART + 13, RLENGTH - 13))
        }
        END { printf "%s", loss }' "$1/rank-0.jsonl"
}

# One member: two runs, the plot, the line.
show() { # MEMBER
    place=$(zoo_places "$(zoo_field "$1" 2)" "$(zoo_field "$1" 3)" | awk 'NR <= 2' | tail -n 1)
    # shellcheck disable=SC2046 # words
    zoo_run "$kept/$1/healthy" "$place" "$world" "" $(flags_of "$1") || cat "$kept/$1/healthy/output"
    # shellcheck disable=SC2046
    zoo_run "$kept/$1/planted" "$place" "$world" "$1" $(flags_of "$1") || cat "$kept/$1/planted/output"
    what=loss
    [ "$1" = eval-padding-counted ] && what=test_accuracy
    for run in healthy planted; do
        curve "$kept/$1/$run" $what >"$kept/$1/$run.curve"
    done
    gnuplot -e "folder='$kept/$1'; name='$1'; what='$what'; out='$pictures/$1.svg'" "$here/lab_odd_curves.gp"
    reference=
    [ "$(zoo_field "$1" 5)" = yes ] && reference=$kept/$1/healthy
    printf '%-27s %8s %8s   %s\n' "$1" "$(final_loss "$kept/$1/healthy")" "$(final_loss "$kept/$1/planted")" \
        "$(zoo_diagnosis "$kept/$1/planted" ${reference:+"$reference"})"
}

if [ "${2:-}" = show ]; then
    rm -rf "${kept:?}/$3"
    show "$3"
    exit
fi

printf '%-27s %8s %8s   %s\n' "$world ranks, 10 epochs of digits" healthy planted "the doctor says"
for member in ${MEMBERS:-$(zoo_table | cut -f 1)}; do
    show "$member"
done
echo "plots: $pictures/*.svg"
