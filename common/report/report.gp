# report.gp: the pictures of a run, from the tables of build/report in the current folder. kind (svg or png) is given.
#
# Colours are those of Okabe and Ito, told apart by readers who see no red or no green; what matters also
# differs in dash or shape. A picture is 480 wide, so that it can be read on a phone; png is twice that.
load 'settings.gp'
BLUE = '#0072B2'; RED = '#D55E00'; GREEN = '#009E73'; ORANGE = '#E69F00'; SKY = '#56B4E9'; PINK = '#CC79A7'; GREY = '#8C8C8C'

set datafile separator tab
set datafile missing 'NaN'
set border 3
set tics nomirror out
set grid linecolor rgb '#B8B8B8' linewidth 0.5 dashtype 3
# The key stands at the foot, in two columns where all its entries are short; the margin below leaves room for its rows.
do_foot = "set key at screen 0.5, screen 0.01 center bottom horizontal maxcols columns Left reverse samplen 2 spacing 1.1 width wider; \
    set bmargin 4 + 1.25 * ceil(entries / (1.0 * columns)); \
    high = above + 22 * ceil(entries / (1.0 * columns))"
set tmargin 2.4
set y2range [0:1]
unset y2tics
set lmargin 12
set rmargin 3
set format y '%g'

do_open = "if (kind eq 'svg') { \
    eval sprintf(\"set terminal svg size 480, %d dynamic noenhanced font 'sans-serif,13' background rgb 'white'\", high) \
} else { \
    eval sprintf(\"set terminal pngcairo size 960, %d noenhanced fontscale 1.35 linewidth 1.6 background rgb 'white'\", 2 * high) \
}; set output name . '.' . kind"
do_range = "if (range_log) { set logscale y } else { unset logscale y }; set yrange [range_least : range_most]"

# Numbers on an axis: some five of them, apart by 1, 2 or 5 times a power of ten.
tenth(x) = 10 ** floor(log10(x))
round_up(x) = x / tenth(x) > 5 ? 10 * tenth(x) : x / tenth(x) > 2 ? 5 * tenth(x) : x / tenth(x) > 1 ? 2 * tenth(x) : tenth(x)
tics_of(span) = span > 0 ? round_up(span / 6.0) : 1
whole_tics_of(span) = tics_of(span) < 1 ? 1 : tics_of(span)

# A band that leaves the frame is cut there.
inside(y) = y < loss_least ? loss_least : y > loss_most ? loss_most : y

few = points <= 60
thick = few ? 1.5 : (points <= 300 ? 1.4 : 1.1)
short = each > 1 ? 1 : 2
thinned = each > 1 ? sprintf(' (means of %d)', each) : ''

# --- the loss ---

do for [i = 1 : 2] {
    if (loss_any) {
        entries = 1 + (each > 1) + has_reference + (epochs > 0) + (lost > 0)
        above = 300; columns = short; wider = -1
        eval do_foot
        name = i == 1 ? 'loss-updates' : 'loss-samples'
        eval do_open
        range_log = loss_log; range_least = loss_least; range_most = loss_most
        eval do_range
        set title (i == 1 ? 'Loss by updates' : 'Loss by samples seen')
        unit = i == 1 || samples < 1e4 ? 1 : samples < 1e7 ? 1e3 : 1e6
        set xlabel (i == 1 ? 'update' : 'training samples seen, all ranks' . (unit == 1 ? '' : unit == 1e3 ? ', thousands' : ', millions'))
        set ylabel (loss_log ? 'loss (logarithmic)' : 'loss')
        if (i == 1) { set xrange [first - 0.5 : last + 1.5] } else { set xrange [0 : samples > 0 ? 1.02 * samples / unit : 1] }
        step = whole_tics_of(i == 1 ? last - first : samples / unit)
        set xtics step
        plot (each > 1 ? 'loss.tsv' : '/dev/null') using (column(i) / unit):(inside($4)):(inside($5)) with filledcurves fillcolor rgb BLUE fillstyle transparent solid 0.25 noborder title (each > 1 ? 'from least to most' : ''), \
             (has_reference ? 'reference.tsv' : '/dev/null') using (column(i) / unit):3 with lines linewidth thick dashtype 2 linecolor rgb ORANGE title (has_reference ? 'reference' : ''), \
             'loss.tsv' using (column(i) / unit):3 with lines linewidth thick linecolor rgb BLUE title 'training' . thinned, \
             (few ? 'loss.tsv' : '/dev/null') using (column(i) / unit):3 with points pointtype 7 pointsize 0.4 linecolor rgb BLUE notitle, \
             (epochs > 0 ? 'epochs.tsv' : '/dev/null') using (column(i) / unit):4 with linespoints pointtype 6 pointsize (epochs > 60 ? 0 : 0.6) linewidth 1.5 linecolor rgb RED title (epochs > 0 ? 'test' : ''), \
             (lost > 0 ? 'lost.tsv' : '/dev/null') using (column(i) / unit):(0.97) axes x1y2 with points pointtype 2 pointsize 0.7 linewidth 1.6 linecolor rgb PINK title (lost > 0 ? 'not finite' : '')
        unset output
    }
}
set xrange [first - 0.5 : own_last + 1.5]
step = whole_tics_of(own_last - first)
set xtics step

# --- each rank's own loss ---

if (local_any && world > 1) {
    entries = world <= lines ? world + 1 : 2
    above = 300; columns = world <= lines ? short : 1; wider = -1
    eval do_foot
    name = 'loss-local'
    eval do_open
    range_log = local_log; range_least = local_least; range_most = local_most
    eval do_range
    set title 'Loss of each rank beside the reported one'
    set xlabel 'update'
    set ylabel (local_log ? 'loss (logarithmic)' : 'loss')
    array colour[6] = [ORANGE, SKY, GREEN, PINK, RED, GREY]
    if (world <= lines) {
        plot for [r = 1 : world] 'local.tsv' using 1:(column(4 + r)) with lines linewidth 1 linecolor rgb colour[r] title sprintf('rank %d', r - 1), \
             'local.tsv' using 1:2 with lines linewidth 1.8 linecolor rgb BLUE title 'reported' . thinned
    } else {
        plot 'local.tsv' using 1:3:4 with filledcurves fillcolor rgb ORANGE fillstyle transparent solid 0.45 noborder title sprintf('%d ranks, least to most', world), \
             'local.tsv' using 1:2 with lines linewidth 1.8 linecolor rgb BLUE title 'reported' . thinned
    }
    unset output
}

# --- gradients ---

if (norm_any) {
    entries = (looks > 0 && world > 1) + has_norms + (looks > 0) + (clip > 0)
    above = 300; columns = short; wider = -1
    eval do_foot
    name = 'norms'
    eval do_open
    range_log = norm_log; range_least = norm_least; range_most = norm_most
    eval do_range
    set title 'Norm of the gradient'
    set xlabel 'update'
    set ylabel (norm_log ? 'norm (logarithmic)' : 'norm')
    plot (looks > 0 ? 'looks.tsv' : '/dev/null') using 1:3:4 with filledcurves fillcolor rgb ORANGE fillstyle transparent solid 0.3 noborder title (looks > 0 && world > 1 ? "ranks' own" : ''), \
         (looks > 0 && world > 1 ? 'looks.tsv' : '/dev/null') using 1:3:(0):($4 - $3) with vectors nohead linewidth 1.2 linecolor rgb ORANGE notitle, \
         (has_norms ? 'norms.tsv' : '/dev/null') using 1:2 with lines linewidth thick linecolor rgb BLUE title (has_norms ? 'updates' . thinned : ''), \
         (looks > 0 ? 'looks.tsv' : '/dev/null') using 1:2 with points pointtype 7 pointsize 0.5 linecolor rgb BLUE title (looks > 0 ? 'reduced' : ''), \
         (clip > 0 ? 'looks.tsv' : '/dev/null') using 1:(clip) with lines dashtype 2 linewidth 1.2 linecolor rgb RED title (clip > 0 ? sprintf('--clip %g', clip) : '')
    unset output
}

# --- the time of one step ---

unset logscale y
set autoscale x
set format x '%g'
set yrange [rows - 0.4 : -0.6]
apart = rows > 16 ? 8 : 1
set ytics apart
set ylabel 'rank'
unset grid
set grid xtics linecolor rgb '#B8B8B8' linewidth 0.5 dashtype 3
set style fill solid 0.9 noborder
bars = 110 + (rows > 16 ? 12 : 34) * rows

if (traced >= 0 || has_times) {
    above = bars; columns = 2; wider = 0; entries = world > 1 ? 4 : 2
    eval do_foot
    name = 'step'
    eval do_open
    unit = time_most < 0.5 ? 1e3 : time_most < 500 ? 1 : 1e-3
    set xlabel (unit == 1e3 ? 'microseconds' : unit == 1 ? 'milliseconds' : 'seconds')
    set xrange [0 : 1.03 * unit * time_most]
    step = tics_of(unit * time_most)
    set xtics step
    set title (traced >= 0 ? sprintf('Update %d, from --trace', traced) : sprintf('Update %d, from the seconds recorded', shown))
    array kinds[4] = [BLUE, RED, GREEN, GREY]
    array titles[4] = ['compute', 'exposed wait', 'communication', 'other']
    if (traced >= 0) {
        plot for [k = 0 : 3] 'spans.tsv' using ($3 == k ? unit * $4 : NaN):($1 + ($2 == 1 ? 0.22 : -0.14)):(unit * $4):(unit * $5):($1 + ($2 == 1 ? 0.07 : -0.38)):($1 + ($2 == 1 ? 0.38 : 0.05)) with boxxyerror linecolor rgb kinds[k + 1] title titles[k + 1]
    } else {
        begin(c, w, n) = c + w > n ? c + w - n : 0
        plot 'step.tsv' using (0):1:(0):(unit * $2):($1 - 0.38):($1 + 0.05) with boxxyerror linecolor rgb BLUE title 'compute', \
             'step.tsv' using (unit * $2):1:(unit * $2):(unit * ($2 + $3)):($1 - 0.38):($1 + 0.05) with boxxyerror linecolor rgb RED title (world > 1 ? 'exposed wait' : ''), \
             (world > 1 ? 'step.tsv' : '/dev/null') using (unit * $2):1:(unit * begin($2, $3, $5)):(unit * (begin($2, $3, $5) + $5)):($1 + 0.08):($1 + 0.38) with boxxyerror linecolor rgb GREEN title (world > 1 ? 'communication' : ''), \
             'step.tsv' using (unit * $2):1:(unit * ($2 + $3)):(unit * ($2 + $3 + $4)):($1 - 0.38):($1 + 0.05) with boxxyerror linecolor rgb GREY title 'other'
    }
    unset output
}

# --- memory ---

if (has_memory) {
    above = bars; columns = 2; wider = 0; entries = 7
    eval do_foot
    name = 'memory'
    eval do_open
    set title 'Memory of each rank, by what it is for'
    unit = memory_most < 0.5 ? 1024 : memory_most < 2048 ? 1 : 1 / 1024.0
    set xlabel (unit == 1024 ? 'KiB' : unit == 1 ? 'MiB' : 'GiB')
    set xrange [0 : 1.05 * unit * memory_most]
    step = tics_of(unit * memory_most)
    set xtics step
    array uses[6] = [BLUE, ORANGE, GREEN, SKY, PINK, GREY]
    array of[6] = ['parameters', 'gradients', 'optimizer', 'activations', 'buffers', 'other']
    total(n) = n < 2 ? 0 : sum [c = 2 : n] column(c)
    plot for [u = 1 : 6] 'memory.tsv' using (unit * total(u)):1:(unit * total(u)):(unit * total(u + 1)):($1 - 0.35):($1 + 0.35) with boxxyerror linecolor rgb uses[u] title of[u], \
         'memory.tsv' using (unit * $8):1 with points pointtype 2 linewidth 1.5 linecolor rgb 'black' title 'peak'
    unset output
}
