# lab_memory.gp: what rank 0 keeps, use by use, and what it sends. folder and kind (svg or png) are given.
if (kind eq 'svg') {
    set terminal svg size 960, 420 font 'sans,13' background rgb 'white'
} else {
    set terminal png size 960, 420
}
set output folder . '/memory.' . kind
set datafile separator ','
set style data histograms
set style histogram rowstacked
set style fill solid 0.8 border -1
set boxwidth 0.7
set ylabel 'MiB of a rank'
set yrange [0:*]
set key outside right
set xtics rotate by -20
set grid ytics
plot for [i = 2 : 6] folder . '/memory.csv' using i:xtic(1) title columnheader(i), \
     folder . '/memory.csv' using 0:9 with linespoints pt 7 lc rgb 'black' title 'sent in an update'
