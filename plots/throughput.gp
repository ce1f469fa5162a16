# Throughput against the number of workers, or of an open loop against the offered rate: one series
# per layout and setting.
#
#     mpsweep plot results.jsonl -o data.gp
#     gnuplot -c throughput.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c throughput.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data
has_ideal = 1
y_most = throughput_max * 1.06

# Many series have a panel for each setting that splits them, and the legend has what differs within one.
if (!exists('n_panels')) {
    n_panels = 1
    array panel_titles[1] = ['']
    array panel_of[n_series]
    array legend_of[n_series]
    do for [i = 1:n_series] {
        panel_of[i] = 1
        legend_of[i] = i
    }
} else {
    n_named = n_legend
    array titles[n_legend]
    array layout_of[n_legend]
    array variant_of[n_legend]
    do for [i = 1:n_legend] {
        titles[i] = legend_titles[i]
        layout_of[i] = legend_layout[i]
        variant_of[i] = legend_variant[i]
    }
}
is_column = exists('page_width') && page_width < 5
panel_columns = n_panels > 1 && !is_column ? 2 : 1
panel_rows = (n_panels + panel_columns - 1) / panel_columns
panel_between = 0.6
if (n_panels > 1) {
    # A title stands above its panel, in lines of whole settings as wide as that.
    set encoding utf8
    head_size = is_column ? 7 : 7.5
    head_step = 0.135
    head_most = int(((exists('page_width') ? page_width : 7.0) - 1.05 - (panel_columns - 1) * \
        panel_between) / panel_columns * 72 / (0.56 * head_size))
    head_lines = 1
    array head_of[n_panels]
    array head_count[n_panels]
    do for [p = 1:n_panels] {
        rest = panel_titles[p]
        lines = ''
        count = 1
        while (strlen(rest) > head_most) {
            end = 0
            do for [i = 2:head_most] { if (rest[i - 1:i] eq ', ') { end = i } }
            if (end == 0) { end = head_most }
            lines = lines . rest[1:end] . "\n"
            rest = rest[end + 1:]
            count = count + 1
        }
        head_of[p] = lines . rest . "\n"
        head_count[p] = count
        if (count > head_lines) { head_lines = count }
    }
    panel_head = head_lines * head_step + 0.06
    panel_gap = 0.3 + panel_head
    panel_height = is_column ? 1.6 : 2.3
    plot_height = panel_rows * panel_height + (panel_rows - 1) * panel_gap + panel_head
    legend_below = 1
} else {
    panel_gap = 0
}
load folder . 'style.gp'
if (n_panels == 1) { panel_height = plot_height }
panel_width = (plot_width - (panel_columns - 1) * panel_between) / panel_columns
panel_left(p) = left_margin + ((p - 1) % panel_columns) * (panel_width + panel_between)
panel_bottom(p) = plot_bottom + \
    (panel_rows - 1 - (p - 1) / panel_columns) * (panel_height + panel_gap)

set xrange [0:x_max * 1.04]
set yrange [0:throughput_max > 0 ? throughput_max * 1.06 : 1]
set format y throughput_max >= 10 ? '%.0f' : '%g'
set xtics x_is_rate ? rate_step(x_max, panel_width) : count_step(x_max, panel_width)

if (n_panels > 1) { set multiplot }
do for [p = 1:n_panels] {
    set lmargin at screen across(panel_left(p))
    set rmargin at screen across(panel_left(p) + panel_width)
    set bmargin at screen up(panel_bottom(p))
    set tmargin at screen up(panel_bottom(p) + panel_height)
    if (p + panel_columns > n_panels) {
        set xlabel xlabel noenhanced offset 0, 0.4 + 1.6 * lift
    } else {
        unset xlabel
    }
    if ((p - 1) % panel_columns == 0) { set ylabel ylabel noenhanced } else { unset ylabel }
    if (n_panels > 1) {
        rest = head_of[p]
        do for [line = 1:head_count[p]] {
            end = strstrt(rest, "\n")
            set label 300 + line rest[1:end - 1] at screen across(panel_left(p)), \
                up(panel_bottom(p) + panel_height + 0.08 + (head_count[p] - line) * head_step) \
                left font sprintf(',%g', head_size) noenhanced
            rest = rest[end + 1:]
        }
    }
    if (n_panels > 1 && emulated) {
        set label 2 'EMULATED GPU' at graph 0.5, graph 0.5 center rotate by 20 \
            font ',26' textcolor '#E2E2E2' back
    }
    plot for [i = 1:n_series] sprintf('$series_%d', i) \
             using (panel_of[i] == p ? $1 : NaN):($3 < $2 ? $2 - $3 : 0):(0):($3 < $2 ? 2 * $3 : $2 + $3) \
             @error_bars linecolor rgb series_colour(layout_of[legend_of[i]]), \
         for [i = 1:n_series] sprintf('$series_%d', i) \
             using (panel_of[i] == p ? $1 : NaN):2 with linespoints \
             linecolor rgb series_colour(layout_of[legend_of[i]]) linewidth 1.3 \
             dashtype series_dash(variant_of[legend_of[i]]) pointsize 0.7 \
             pointtype series_point(layout_of[legend_of[i]], variant_of[legend_of[i]]) notitle, \
         ideal_slope * x with lines linecolor rgb ideal_colour linewidth 0.8 dashtype ideal_dash notitle
    # What belongs to the page is drawn once.
    unset label
    unset arrow
}
if (n_panels > 1) { unset multiplot }
unset output
