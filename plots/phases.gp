# The share of each phase in an iteration: one row per point.
#
#     mpsweep plot results.jsonl --figure phases -o data.gp
#     gnuplot -c phases.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c phases.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

legend_form = 'boxes'
n_entries = 5
array entries[5] = ['copy in', 'launch', 'synchronise', 'copy out', 'rest']
# Neighbours differ in lightness, too.
array entry_colours[5] = ['#9CCFF0', '#D55E00', '#004D3A', '#F5C04A', '#DDDDDD']
right_margin = 0.75
load folder . 'rows.gp'

unset grid
set xrange [0:100]
set xlabel 'share of the mean latency (%)' noenhanced offset 0, 0.4 + 1.6 * lift
do for [i = 1:n_rows] {
    set label 6000 + i totals[i] at graph 1, first i left offset character 1, 0 \
        font legend_font noenhanced
}
set style fill solid 1 border rgb '#FFFFFF'
plot for [k = 1:5] $rows using (50 * (column(k + 1) + column(k + 2))):1: \
         (100 * column(k + 1)):(100 * column(k + 2)):($1 - 0.38):($1 + 0.38) with boxxyerror \
         fillcolor rgb entry_colours[k] notitle
unset output
