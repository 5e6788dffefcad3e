# One picture: the planted run over the healthy one. Given: folder, name, what, out.
set terminal svg size 520,300 noenhanced font "sans-serif,12" background "white"
set output out
set xlabel "epochs (samples seen)"
set grid lc rgb "#dddddd" lt 1
set key top right
if (what eq "loss") { set logscale y; set ylabel "training loss" } else { set ylabel "test accuracy"; set key bottom right }
plot folder."/healthy.curve" with lines lw 2 lc rgb "#2a78d6" title "healthy", \
     folder."/planted.curve" with lines lw 2 lc rgb "#d0402b" title name
