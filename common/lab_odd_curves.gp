# One picture: the planted run over the healthy one. Given: folder, name, what, out. Few marks make a small file.
set terminal svg size 520,300 noenhanced font "sans-serif,12" background "white"
set output out
set xlabel "epochs (samples seen)"
set xrange [0:10]
set xtics 0,2 nomirror
set mytics 1
set ytics nomirror
set border 3
set key top right
if (what eq "loss") { set logscale y; set ylabel "training loss" } else { set ylabel "test accuracy"; set key bottom right }
plot folder."/healthy.curve" with lines lw 5 lc rgb "#9ec5f4" title "healthy", \
     folder."/planted.curve" with lines lw 1.5 lc rgb "#c0301b" title name
