# Calls and GPU work over time: one row for each thread's calls, and one for each stream.
#
#     mpsweep trace ... --figure data.gp
#     gnuplot -c timeline.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c timeline.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

legend_form = 'boxes'
n_entries = 8
array entries[8] = ['launch call', 'copy call', 'waiting call', 'other call', \
    'kernel', 'copy in', 'copy out', 'other work']
array entry_colours[8] = ['#F2B48A', '#9CCFF0', '#D9D9D9', '#F0E3A0', \
    '#009E73', '#0072B2', '#D55E00', '#CC79A7']
load folder . 'rows.gp'

unset grid
set xrange [from:to > from ? to : from + 1]
set xlabel 'ms' noenhanced offset 0, 0.4 + 1.6 * lift
set style fill solid 1 noborder
plot for [k = 0:7] $rows using ($4 == k ? 0.5 * ($2 + $3) : NaN):1:2:3:($1 - 0.36):($1 + 0.36) \
    with boxxyerror fillcolor rgb entry_colours[k + 1] notitle
unset output
