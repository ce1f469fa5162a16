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
n_entries = 9
array entries[9] = ['launch call', 'copy-in call', 'copy-out call', 'waiting call', 'other call', \
    'kernel', 'copy in', 'copy out', 'other work']
# A call has the hue of what it starts; those of a row differ in lightness, too.
array entry_colours[9] = ['#7CC9AE', '#5E9BCB', '#F7D58B', '#E6E6E6', '#D9B3CC', \
    '#009E73', '#00406B', '#E69F00', '#CC79A7']
load folder . 'rows.gp'

unset grid
set xrange [from:to > from ? to : from + 1]
set xlabel 'ms' noenhanced offset 0, 0.4 + 1.6 * lift
set style fill solid 1 noborder
plot for [k = 0:8] $rows using ($4 == k ? 0.5 * ($2 + $3) : NaN):1:2:3:($1 - 0.36):($1 + 0.36) \
    with boxxyerror fillcolor rgb entry_colours[k + 1] notitle
unset output
