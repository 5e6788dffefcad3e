# lab_buckets.gp: the lab's curves. folder, kind (svg or png) and plots ("LINK-WORLD ...") are given.
rows = (words(plots) + 1) / 2
if (kind eq 'svg') {
    set terminal svg size 960, 320 * rows font 'sans,13' background rgb 'white'
} else {
    set terminal png size 960, 320 * rows
}
set output folder . '/buckets.' . kind
set datafile separator ','
set multiplot layout rows, 2
set logscale x 2
set xlabel 'bucket, KiB (at the left: one for each tensor)'
set ylabel 'step, ms'
set yrange [0:*]
set xrange [3:1200]
set key bottom left
set grid
do for [name in plots] {
    dash = strstrt(name, '-')
    set title sprintf('%s, %s ranks', name[1 : dash - 1], name[dash + 1 : *])
    file = folder . '/' . name . '.csv'
    plot file every ::1 using (column(2) == 1 ? column(3) : NaN):6 with linespoints pt 7 \
             title 'measured', \
         file every ::1 using (column(2) == 1 ? column(3) : NaN):9 with lines dt 2 lw 2 \
             title 'model', \
         file every ::1 using (column(2) == 1 ? column(3) : NaN):7 with linespoints pt 4 \
             title 'exposed, measured'
}
unset multiplot
