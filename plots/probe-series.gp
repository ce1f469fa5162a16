# Arms of probes that differ in one number: a panel for each probe.
#
#     mpsweep plot results.jsonl --figure probe-series -o data.gp
#     gnuplot -c probe-series.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c probe-series.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

panel_height = exists('page_width') && page_width < 5 ? 1.8 : 2.7
panel_gap = 0.6
plot_height = n_panels * panel_height + (n_panels - 1) * panel_gap
legend_below = 1
load folder . 'style.gp'
panel_bottom(p) = plot_bottom + (n_panels - p) * (panel_height + panel_gap)

# Each panel has its own quantity across.
array panel_least[n_panels]
array panel_most[n_panels]
do for [p = 1:n_panels] {
    panel_least[p] = x_max
    panel_most[p] = x_min
    do for [i = 1:n_series] {
        if (panel_of[i] == p) {
            stats sprintf('$values_%d', i) using 1 nooutput name 'X'
            panel_least[p] = X_min < panel_least[p] ? X_min : panel_least[p]
            panel_most[p] = X_max > panel_most[p] ? X_max : panel_most[p]
        }
    }
}

set logscale xy
decades = log10(us_max / us_min)
set yrange [us_min / 10.0 ** (0.05 * decades + 0.05):us_max * 10.0 ** (0.14 * decades + 0.05)]
set ytics ()
# Nearly equal values have numbers, too.
digits = decades > 3.5 ? '1' : decades > 0.9 ? '1 2 5' : decades > 0.4 ? '1 1.5 2 3 4 5 6 8' : \
    '1 1.1 1.2 1.3 1.4 1.6 1.8 2 2.2 2.5 2.8 3.2 3.6 4 4.5 5 5.6 6.3 7 8 9'
do for [power = int(floor(log10(us_min))) - 1:int(ceil(log10(us_max))) + 1] {
    do for [digit in digits] {
        us = digit * 10.0 ** power
        set ytics add ((us < 1e3 ? sprintf('%.3g µs', us) : \
            us < 1e6 ? sprintf('%.3g ms', us / 1e3) : sprintf('%.3g s', us / 1e6)) us)
    }
}
# Powers of two, with the letters of their thousands.
bytes(x) = x < 1024 ? sprintf('%g', x) : x < 1048576 ? sprintf('%gK', x / 1024) : \
    x < 1073741824 ? sprintf('%gM', x / 1048576) : sprintf('%gG', x / 1073741824)

set style textbox opaque noborder margins 0.4, 0.4
set multiplot
do for [p = 1:n_panels] {
    set bmargin at screen up(panel_bottom(p))
    set tmargin at screen up(panel_bottom(p) + panel_height)
    step = log10(panel_most[p] / panel_least[p]) > 3 ? 4 : 1
    set xtics () offset 0, lift
    do for [power = 0:40:step] { set xtics add (bytes(2.0 ** power) 2.0 ** power) }
    # The largest has a number, too, where there is room beside the last of these.
    last = 2.0 ** (step * floor(log(panel_most[p]) / log(2) / step + 1e-9))
    scale_width = plot_width / log(1.3 * 1.3 * panel_most[p] / panel_least[p])
    across_last = scale_width * log(panel_most[p] / last)
    if (across_last > 0.07 * strlen(bytes(panel_most[p])) + 0.06) {
        set xtics add (bytes(panel_most[p]) panel_most[p])
    }
    set xrange [panel_least[p] / 1.3:panel_most[p] * 1.3]
    set xlabel panel_xlabels[p] noenhanced offset 0, 0.4 + 1.6 * lift
    if (panel_titles[p] ne '') {
        set label 3 panel_titles[p] at graph 0.03, graph 0.95 left font text_font noenhanced \
            boxed front
    }
    if (emulated) {
        set label 2 'EMULATED GPU' at graph 0.5, graph 0.5 center rotate by 20 \
            font ',26' textcolor '#E2E2E2' back
    }
    if (panel_control[p] > 0) {
        set arrow 1 from graph 0, first panel_control[p] to graph 1, first panel_control[p] nohead \
            linewidth 1 dashtype 2 linecolor rgb '#666666' back
    }
    plot for [i = 1:n_series] sprintf('$values_%d', i) \
             using (panel_of[i] == p ? $1 : NaN):3:(0):($4 - $3) @error_bars \
             linecolor rgb series_colour(layout_of[i]), \
         for [i = 1:n_series] sprintf('$values_%d', i) \
             using (panel_of[i] == p ? $1 : NaN):2 with linespoints \
             linecolor rgb series_colour(layout_of[i]) linewidth 1.3 \
             dashtype series_dash(variant_of[i]) pointsize 0.6 \
             pointtype series_point(layout_of[i], variant_of[i]) notitle
    # What belongs to the page is drawn once.
    unset label
    unset arrow
}
unset multiplot
unset output
