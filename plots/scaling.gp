# Throughput against the number of GPUs, and the share that was reached of N times one GPU.
#
#     mpsweep plot results.jsonl --figure scaling -o data.gp
#     gnuplot -c scaling.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c scaling.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data
# One legend line for all ideal lines, each of which has its series' colour.
has_ideal = 1
legend_below = 1
y_most = throughput_max * 1.12
# In a column the panels stand below each other.
is_column = exists('page_width') && page_width < 5
panel_height = is_column ? 2.0 : 3.3
panel_gap = 0.55
plot_height = is_column && has_efficiency ? 2 * panel_height + panel_gap : panel_height
load folder . 'style.gp'

panel_between = 0.72
panel_width = has_efficiency && !is_column ? \
    (page_width - left_margin - right_margin - panel_between) / 2 : \
    page_width - left_margin - right_margin
panel_left(p) = left_margin + (is_column ? 0 : (p - 1) * (panel_width + panel_between))
panel_bottom(p) = plot_bottom + (is_column && has_efficiency ? (2 - p) * (panel_height + panel_gap) : 0)

set xlabel 'GPUs' noenhanced offset 0, 0.4 + 1.6 * lift
set xrange [0:gpus_max * 1.06]
set xtics gpus_max <= 8 ? 1 : count_step(gpus_max, panel_width)
set multiplot

set lmargin at screen across(panel_left(1))
set rmargin at screen across(panel_left(1) + panel_width)
set bmargin at screen up(panel_bottom(1))
set tmargin at screen up(panel_bottom(1) + panel_height)
set ylabel 'throughput of all GPUs (iterations/s)' noenhanced
set yrange [0:y_most]
set format y throughput_max >= 10 ? '%.0f' : '%g'
if (emulated) {
    set label 2 'EMULATED GPU' at graph 0.5, graph 0.5 center rotate by 28 \
        font ',26' textcolor '#E2E2E2' back
}
plot for [i = 1:n_series] ideal[i] * x with lines linecolor rgb series_colour(layout_of[i]) \
         linewidth 0.8 dashtype ideal_dash notitle, \
     for [i = 1:n_series] sprintf('$values_%d', i) \
         using 1:($3 < $2 ? $2 - $3 : 0):(0):($3 < $2 ? 2 * $3 : $2 + $3) @error_bars \
         linecolor rgb series_colour(layout_of[i]), \
     for [i = 1:n_series] sprintf('$values_%d', i) using 1:2 with linespoints \
         linecolor rgb series_colour(layout_of[i]) linewidth 1.3 \
         dashtype series_dash(variant_of[i]) pointsize 0.7 \
         pointtype series_point(layout_of[i], variant_of[i]) notitle
# The parts of the page are drawn once.
unset label
unset arrow

if (has_efficiency) {
    set lmargin at screen across(panel_left(2))
    set rmargin at screen across(panel_left(2) + panel_width)
    set bmargin at screen up(panel_bottom(2))
    set tmargin at screen up(panel_bottom(2) + panel_height)
    set ylabel 'efficiency against one GPU (%)' noenhanced
    low = efficiency_min > 100 ? 100 : efficiency_min
    high = efficiency_max < 100 ? 100 : efficiency_max
    # Few percent are far apart, and more of them are not lost beside the line.
    span = high - low < 10 ? 10 : high - low
    set yrange [(low - 0.15 * span > 0 ? low - 0.15 * span : 0):high + 0.15 * span]
    set format y '%g'
    if (emulated) {
        set label 2 'EMULATED GPU' at graph 0.5, graph 0.5 center rotate by 28 \
            font ',26' textcolor '#E2E2E2' back
    }
    plot 100 with lines linecolor rgb ideal_colour linewidth 0.8 dashtype ideal_dash notitle, \
         for [i = 1:n_series] sprintf('$values_%d', i) using 1:5:(0):($6 - $5) @error_bars \
             linecolor rgb series_colour(layout_of[i]), \
         for [i = 1:n_series] sprintf('$values_%d', i) using 1:4 with linespoints \
             linecolor rgb series_colour(layout_of[i]) linewidth 1.3 \
             dashtype series_dash(variant_of[i]) pointsize 0.7 \
             pointtype series_point(layout_of[i], variant_of[i]) notitle
}
unset multiplot
unset output
