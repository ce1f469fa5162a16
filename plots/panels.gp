# Common to figures of several panels: load it after the data. A panel each for the columns of
# $values_N, over the same x and the same logarithmic axis.

is_column = exists('page_width') && page_width < 5
panel_columns = n_panels > 1 && !is_column ? 2 : 1
panel_rows = (n_panels + panel_columns - 1) / panel_columns
panel_height = is_column ? 1.5 : n_panels > 2 ? 2.1 : 2.9
panel_gap = 0.36
plot_height = panel_rows * panel_height + (panel_rows - 1) * panel_gap
legend_below = 1
load folder . 'style.gp'

panel_between = 0.42
panel_width = (page_width - left_margin - right_margin - (panel_columns - 1) * panel_between) \
    / panel_columns
panel_left(p) = left_margin + ((p - 1) % panel_columns) * (panel_width + panel_between)
panel_bottom(p) = plot_bottom + \
    (panel_rows - 1 - (p - 1) / panel_columns) * (panel_height + panel_gap)

set logscale y
decades = log10(value_max / value_min)
set yrange [value_min / 10.0 ** (0.05 * decades + 0.03):value_max * 10.0 ** (0.14 * decades + 0.05)]
# With few powers of ten in sight, show their twos and fives, too; with none, even closer steps.
set ytics ()
digits = decades > 3.5 ? '1' : decades > 0.9 ? '1 2 5' : decades > 0.35 ? '1 1.5 2 3 4 5 6 8' : \
    '1 1.1 1.2 1.3 1.4 1.6 1.8 2 2.2 2.5 2.8 3 3.3 3.6 4 4.5 5 5.5 6 6.5 7 7.5 8 8.5 9 9.5'
do for [power = int(floor(log10(value_min))) - 1:int(ceil(log10(value_max))) + 1] {
    do for [digit in digits] {
        set ytics add (sprintf('%g', digit * 10.0 ** power) digit * 10.0 ** power)
    }
}
set xrange [0:x_max * 1.04]
set xtics x_is_rate ? rate_step(x_max, panel_width) : count_step(x_max, panel_width)

# No line of the grid goes through a panel's title.
set style textbox opaque noborder margins 0.4, 0.4
# What is grey has no colour of its series.
shown(value) = has_fading && column(f) > 1 ? NaN : value
$no_values << EOD
NaN NaN
EOD
set multiplot
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
    # The limit stands in the title, where it meets no data.
    set label 3 panel_titles[p] . (limits[p] > 0 ? sprintf(', limit %g ms', limits[p]) : '') \
        at graph 0.03, graph 0.95 left font text_font noenhanced boxed front
    if (emulated) {
        set label 2 'EMULATED GPU' at graph 0.5, graph 0.5 center rotate by 20 \
            font ',26' textcolor '#E2E2E2' back
    }
    if (limits[p] > 0) {
        set arrow 9 from graph 0, first limits[p] to graph 1, first limits[p] nohead \
            linecolor rgb '#404040' linewidth 1.1 dashtype 3 back
    }
    c = 3 * p - 1
    f = 3 * n_panels + 2
    grey(i) = has_fading ? sprintf('$values_%d', i) : '$no_values'
    plot for [i = 1:n_series] grey(i) using 1:(column(f) > 0 ? column(c) : NaN) with lines \
             linecolor rgb '#B8B8B8' linewidth 1.1 dashtype series_dash(variant_of[i]) notitle, \
         for [i = 1:n_series] grey(i) using 1:(column(f) > 1 ? column(c) : NaN) with points \
             linecolor rgb '#A0A0A0' pointsize 0.5 \
             pointtype series_point(layout_of[i], variant_of[i]) notitle, \
         for [i = 1:n_series] sprintf('$values_%d', i) \
             using 1:(shown(column(c + 1))):(0):(column(c + 2) - column(c + 1)) @error_bars \
             linecolor rgb series_colour(layout_of[i]), \
         for [i = 1:n_series] sprintf('$values_%d', i) using 1:(shown(column(c))) with linespoints \
             linecolor rgb series_colour(layout_of[i]) linewidth 1.3 \
             dashtype series_dash(variant_of[i]) pointsize 0.6 \
             pointtype series_point(layout_of[i], variant_of[i]) notitle
    # What belongs to the page is drawn once.
    unset label
    unset arrow
}
unset multiplot
unset output
