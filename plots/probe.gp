# Every arm of the probes: one row each, under a heading with the verdict.
#
#     mpsweep plot results.jsonl --figure probe -o data.gp
#     gnuplot -c probe.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c probe.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

legend_form = 'points'
n_entries = 4
array entries[4] = ['control', 'observed', 'not observed', 'inconclusive']
array entry_colours[4] = ['#000000', '#D55E00', '#0072B2', '#999999']
array entry_shapes[4] = [7, 5, 9, 6]
# Half of the last number of the axis, and its unit, may stand behind its end.
right_margin = 0.35
load folder . 'rows.gp'

set logscale x
decades = log10(us_max / us_min)
set xrange [us_min / 10.0 ** (0.04 * decades + 0.05):us_max * 10.0 ** (0.04 * decades + 0.05)]
set xtics () offset 0, lift
# Nearly equal values have numbers, too.
digits = decades > 3.5 ? '1' : decades > 1.5 ? '1 2 5' : decades > 0.4 ? '1 1.5 2 3 4 5 7' : \
    '1 1.1 1.2 1.3 1.4 1.6 1.8 2 2.2 2.5 2.8 3.2 3.6 4 4.5 5 5.6 6.3 7 8 9'
do for [power = int(floor(log10(us_min))) - 1:int(ceil(log10(us_max))) + 1] {
    do for [digit in digits] {
        us = digit * 10.0 ** power
        set xtics add ((us < 1e3 ? sprintf('%.3g µs', us) : \
            us < 1e6 ? sprintf('%.3g ms', us / 1e3) : sprintf('%.3g s', us / 1e6)) us)
    }
}
# The headings hide the axis and the grid behind them.
set style textbox opaque noborder margins 0.3, 0.3
set xlabel 'time' noenhanced offset 0, 0.4 + 1.6 * lift
do for [i = 1:n_rows] {
    if (strlen(headings[i]) > 0) {
        set label 6000 + i headings[i] at screen across(0.1), first i left font text_font noenhanced \
            boxed front
        if (i > 1) {
            set arrow 6000 + i from screen across(0.1), first i - 0.6 to graph 1, first i - 0.6 \
                nohead linewidth 0.6 linecolor rgb '#BBBBBB'
        }
    }
}

plot for [k = 1:4] $arms using ($6 == k ? $2 : NaN):1:($5 - $2):(0) with vectors nohead \
         linecolor rgb entry_colours[k] linewidth 0.8 dashtype solid notitle, \
     for [k = 1:4] $arms using ($6 == k ? $5 : NaN):1 with points \
         linecolor rgb entry_colours[k] linewidth 1.2 pointtype 2 pointsize 0.01 notitle, \
     for [k = 1:4] $arms using ($6 == k ? $5 : NaN):($1 - 0.28):(0):(0.56) with vectors nohead \
         linecolor rgb entry_colours[k] linewidth 1.2 dashtype solid notitle, \
     for [k = 1:4] $arms using ($6 == k ? $2 : NaN):1:3:4 with xerrorbars \
         linecolor rgb entry_colours[k] linewidth 2 pointtype entry_shapes[k] pointsize 0.6 notitle
unset output
