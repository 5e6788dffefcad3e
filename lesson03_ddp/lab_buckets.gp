# lab_buckets.gp: the lab's curves. folder, kind (svg or png) and plots ("LINK-WORLD ...") are given.
# A dotted upright line: the bucket with which the model's step is shortest. Of plain links it foretells none.
rows = (words(plots) + 1) / 2
if (kind eq 'svg') {
    set terminal svg size 1120, 360 * rows font 'sans,13' background rgb 'white'
} else {
    set terminal png size 1120, 360 * rows
}
set output folder . '/buckets.' . kind
set datafile separator ','
set multiplot layout rows, 2
set logscale x 2
set xlabel 'bucket, KiB (at the left: one for each tensor)'
set ylabel 'ms'
set y2label 'messages'
set ytics nomirror
set y2tics
set yrange [0:*]
set y2range [0:*]
set xrange [3:1200]
set key outside top center horizontal maxrows 2 samplen 2
set grid
do for [name in plots] {
    dash = strstrt(name, '-')
    set title sprintf('%s, %s ranks', name[1 : dash - 1], name[dash + 1 : *])
    file = folder . '/' . name . '.csv'
    stats file every ::1 using (column(2) == 1 ? column(3) : NaN):9 name 'model' nooutput
    unset arrow
    if (name[1 : dash - 1] ne 'plain') {
        set arrow from first model_pos_min_y, graph 0 to first model_pos_min_y, graph 1 nohead dt 3 lw 2
    }
    plot file every ::1 using (column(2) == 1 ? column(3) : NaN):6 with linespoints pt 7 lc 1 \
             title 'step', \
         file every ::1 using (column(2) == 1 ? column(3) : NaN):9 with lines dt 2 lw 2 lc 1 \
             title 'by the model', \
         file every ::1 using (column(2) == 1 ? column(3) : NaN):7 with linespoints pt 4 lc 2 \
             title 'exposed', \
         file every ::1 using (column(2) == 1 ? column(3) : NaN):10 with lines dt 2 lw 2 lc 2 \
             title 'by the model', \
         file every ::1 using (column(2) == 1 ? column(3) : NaN):5 axes x1y2 with lines dt 4 lc 4 \
             title 'messages (right)'
}
unset multiplot
