#!/bin/sh
# lab_buckets: how large should a bucket be? A table and a curve for each link and number of ranks.
#
#   LINKS="plain 200mbit,1ms 50mbit,1ms" WORLDS="2 4" sh lesson03_ddp/lab_buckets.sh BUILD
#
#   LINKS   as in --link; plain is the loopback as it is
#
# The network is deep and narrow, 34 tensors that hardly differ, and the batch large: so backward
# takes long for what there is to send, and there is something to hide behind it.
set -u
export LC_ALL=C # decimals have points

build=$1
links=${LINKS:-plain 200mbit,1ms 50mbit,1ms}
worlds=${WORLDS:-2 4}
here=$(cd "$(dirname "$0")" && pwd)
kept=$build/lab-buckets
mkdir -p "$kept" || exit 1

width=120,120,120,120
hidden=$width,$width,$width,$width
samples=$kept/samples.csv
awk 'BEGIN {
    for (i = 0; i < 10240; i++) {
        for (j = 1; j <= 64; j++) printf "%.2f,", (i * j) % 101 / 100
        print i % 10
    }
}' >"$samples" || exit 1

sweep() { # LINK WORLD
    data=$kept/$1-$2.csv
    slowed=$1
    [ "$slowed" = plain ] && slowed=
    # shellcheck disable=SC2086 # no word where there is no link
    text=$(LAB_FILE=$data "$build/launch" -n "$2" "$build/lab_buckets" --quiet --data "$samples" \
        --hidden "$hidden" --batch 8192 --lr 0.001 ${slowed:+--link $slowed}) || exit 1
    echo "$text" | sed 's/^\[0\] //'
}

plots=
for link in $links; do
    for world in $worlds; do
        sweep "$link" "$world" || exit 1
        plots="$plots $link-$world"
    done
done

echo "numbers: $kept/*.csv"
sh "$here/../common/install.sh" name gnuplot || exit 0 # the tables are there
for kind in svg png; do
    gnuplot -e "folder='$kept'; kind='$kind'; plots='$plots'" "$here/lab_buckets.gp" || exit 1
    echo "plot:    $kept/buckets.$kind"
done
