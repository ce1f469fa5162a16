# Common to all figures: the page, its fonts and colours, and how series are distinguished.
#
# A figure's script names `output`, loads its data, then this file, and plots. The data sets
# n_series with titles, layout_of and variant_of; the two paragraphs of the caption; title; emulated;
# page_width, which is that of a paper's column where it is narrow.
# Lengths are inches, font sizes points.
#
# A figure whose legend is not one line per series sets legend_form to 'boxes', 'points' or 'none', and
# n_entries with entries and entry_colours, for points entry_shapes. It may also set plot_height,
# axis_height, left_margin, right_margin, title_left, legend_below, has_ideal, ideal_title and
# ideal_dash; n_named, how many of the series the legend names; has_lines = 0 leaves the lines of
# series out of the legend; is_filled means that what it draws may hide the mark of an emulated GPU.

set encoding utf8
set minussign

# Okabe and Ito's colours, which colour-blind readers can distinguish; a layout keeps its own. In
# black and white, shapes and dashes distinguish them.
array palette[7] = ['#0072B2', '#D55E00', '#009E73', '#E69F00', '#CC79A7', '#000000', '#56B4E9']
array filled[7] = [7, 5, 9, 11, 13, 15, 3]
array hollow[7] = [6, 4, 8, 10, 12, 14, 1]
array dashes[5] = [1, 2, 4, 5, 3]

# For series number v of layout l, both from 1. The first has the layout's filled shape and a solid
# line, the second its hollow shape; further ones take a cross, then other layouts' shapes.
series_colour(l) = palette[l]
series_dash(v) = dashes[(v - 1) % 5 + 1]
series_point(l, v) = v == 1 ? filled[l] : v == 2 ? hollow[l] : v <= 5 ? v - 2 : \
    hollow[(l + v - 6) % 6 + 1]

# The page, from top to bottom: title, plot, axis, legend if it is below, caption.
if (!exists('page_width')) { page_width = 7.0 }
is_narrow = page_width < 5
font_size = is_narrow ? 8 : 9
legend_size = is_narrow ? 7 : 7.5
caption_size = is_narrow ? 6.5 : 7
text_font = sprintf(',%d', font_size)
legend_font = sprintf(',%g', legend_size)
caption_font = sprintf(',%g', caption_size)
title_height = 0.36
if (!exists('plot_height')) { plot_height = is_narrow ? 0.64 * page_width : 3.3 }
if (!exists('axis_height')) { axis_height = 0.48 }
# Room for numbers of five digits beside the label of the axis.
if (!exists('left_margin')) { left_margin = exists('y_most') && y_most >= 10000 ? 0.9 : 0.78 }
if (!exists('right_margin')) { right_margin = 0.15 }
caption_step = 0.135
legend_step = 0.15
sample_width = 0.48

if (!exists('has_ideal')) { has_ideal = 0 }
if (!exists('ideal_title')) { ideal_title = 'ideal' }
if (!exists('ideal_dash')) { ideal_dash = 3 }
if (!exists('has_lines')) { has_lines = 1 }
if (!exists('n_named') && exists('n_series')) { n_named = n_series }
if (!exists('legend_form')) {
    legend_form = 'lines'
    n_entries = n_named + has_ideal
    array entries[n_entries]
    do for [i = 1:n_named] { entries[i] = titles[i] }
    if (has_ideal) { entries[n_entries] = ideal_title }
}
if (legend_form ne 'lines') { sample_width = 0.2 }
if (legend_form eq 'none') { n_entries = 0 }

# A legend to the right is easier to read; one that would take too much of the width goes below.
character = 0.56 * legend_size / 72.0
longest = strlen(ideal_title)
do for [i = 1:n_entries] {
    if (strlen(entries[i]) > longest) { longest = strlen(entries[i]) }
}
# Entries longer than the page have smaller letters, since gnuplot drops what begins beside the page.
entry_room = page_width - sample_width - 0.35
entry_size = longest * character > entry_room ? legend_size * entry_room / (longest * character) : legend_size
entry_width = sample_width + longest * character * entry_size / legend_size + 0.25
if (!exists('legend_below')) { legend_below = 0 }
legend_right = !legend_below && n_entries > 0 && n_entries <= 12 + has_ideal && entry_width <= 0.343 * page_width
legend_columns = legend_right ? 1 : int((page_width - 0.1) / entry_width)
if (legend_columns < 1) { legend_columns = 1 }
if (legend_columns > n_entries) { legend_columns = n_entries > 0 ? n_entries : 1 }
legend_rows = int(ceil(1.0 * n_entries / legend_columns))
legend_height = legend_right || n_entries == 0 ? 0 : legend_rows * legend_step + 0.1

# A line of the caption has as many words as fit, and ends behind a comma or a stop if one is near its
# end.
line_most = int(122 * (page_width - 0.3) / 6.7 * 7 / caption_size)
array captions[40]
n_captions = 0
do for [p = 1:2] {
    rest = paragraphs[p]
    while (strlen(rest) > 0 && n_captions < 40) {
        end = strlen(rest)
        if (end > line_most) {
            space = 0
            pause = 0
            do for [i = 2:line_most + 1] {
                if (rest[i:i] eq ' ') {
                    space = i
                    if (strstrt(',;.', rest[i - 1:i - 1]) > 0) { pause = i }
                }
            }
            end = pause > line_most * 3 / 4 ? pause : space > 0 ? space : line_most
        }
        n_captions = n_captions + 1
        captions[n_captions] = rest[1:end]
        rest = rest[end + 1:]
    }
}
caption_height = n_captions * caption_step + 0.1
page_height = title_height + plot_height + axis_height + legend_height + caption_height

# The picture's format is its extension. SVG sets texts below an axis farther down than the others.
lift = 0
extension = output[strlen(output) - 3:]
if (extension eq '.svg') {
    lift = 0.5
    set terminal svg noenhanced size page_width * 72, page_height * 72 dynamic \
        font 'sans-serif' . text_font background 'white'
} else { if (extension eq '.pdf') {
    # Unscaled, this terminal draws fonts at half and lines at a third of what the others do.
    set terminal pdfcairo noenhanced color size page_width, page_height \
        font 'Sans' . text_font fontscale 0.75 linewidth 2
} else { if (extension eq '.png') {
    # Twice the 96 pixels an inch of a screen, for which the terminal scales its fonts already.
    png_scale = 2
    set terminal pngcairo noenhanced size page_width * 192, page_height * 192 \
        font 'Sans' . text_font fontscale png_scale linewidth png_scale \
        pointscale png_scale background 'white'
} else {
    exit error sprintf("cannot tell the format of '%s': name it .svg, .png or .pdf", output)
} } }
# An extension alone stands for the standard output.
if (strlen(output) > 4) { set output output }

across(inches) = inches / page_width
up(inches) = inches / page_height
plot_bottom = caption_height + legend_height + axis_height
set lmargin at screen across(left_margin)
plot_width = page_width - left_margin - (legend_right ? entry_width + 0.1 : right_margin)
set rmargin at screen across(left_margin + plot_width)
set bmargin at screen up(plot_bottom)
set tmargin at screen up(plot_bottom + plot_height)

set border 3 linewidth 0.75 linecolor '#444444'
set tics nomirror out scale 0.6 textcolor '#000000'
set xtics offset 0, lift
# The default form has room for a sign, which would push the labels aside.
set format '%g'
set grid linetype 1 linewidth 0.4 linecolor '#DDDDDD' back

# Error bars are vectors between their ends, beside lines and not with them: gnuplot's own erase what is
# behind the points, and dashes would break them up. It goes behind x:low:(0):(high - low).
error_bars = 'notitle with vectors heads size screen across(0.025), 90 fixed linewidth 1.1 ' . \
    'dashtype solid'

# The step of an axis from 0 to most that leaves room for its numbers in a width of inches: a power of
# two for counts, which are powers of two more often than of ten; else 1, 2 or 5 times one of ten.
digits_of(most) = strlen(sprintf('%.0f', most))
exponent(least) = least > 1 ? ceil(log(least) / log(2) - 1e-9) : 0
count_step(most, inches) = 2.0 ** exponent(most * (0.35 + 0.07 * digits_of(most)) / inches)
round_up(x) = x > 5 ? 10 : x > 2 ? 5 : x > 1 ? 2 : 1
power_below(x) = 10.0 ** floor(log10(x))
round_step(least) = power_below(least) * round_up(least / power_below(least))
rate_step(most, inches) = round_step(most * (0.15 + 0.07 * digits_of(most)) / inches)

# The legend is drawn by hand: gnuplot's own guesses at widths differ from terminal to terminal.
# The ideal line, or what else belongs to no series alone, is its last entry.
ideal_colour = '#666666'
unset key
legend_left = legend_right ? page_width - entry_width : \
    (page_width - legend_columns * entry_width) / 2
legend_top = legend_right ? plot_bottom + plot_height : caption_height + legend_height
do for [i = 1:n_entries] {
    x = legend_left + ((i - 1) / legend_rows) * entry_width
    y = legend_top - ((i - 1) % legend_rows + 0.5) * legend_step
    set label 1000 + 2 * i entries[i] at screen across(x + sample_width), \
        up(y) font sprintf(',%g', entry_size) noenhanced
    if (legend_form ne 'lines') {
        set label 1001 + 2 * i '' at screen across(x + sample_width / 2 - 0.02), up(y) \
            point linecolor rgb entry_colours[i] pointsize 0.8 \
            pointtype legend_form eq 'boxes' ? 5 : entry_shapes[i]
        continue
    }
    is_ideal = i > n_named
    colour = is_ideal ? ideal_colour : series_colour(layout_of[i])
    # Of two arrows of one colour and one width the SVG terminal draws the second with the dashes of the
    # first.
    width = is_ideal ? 0.8 : 1.3 + 0.01 * (i % 2)
    dash = is_ideal ? ideal_dash : series_dash(variant_of[i])
    if (has_lines || is_ideal) {
        set arrow 100 + i from screen across(x), up(y) \
            to screen across(x + sample_width - 0.08), up(y) \
            nohead linecolor rgb colour linewidth width dashtype dash
    }
    if (!is_ideal) {
        set label 1001 + 2 * i '' at screen across(x + sample_width / 2 - 0.04), up(y) \
            point linecolor rgb colour pointsize 0.7 \
            pointtype series_point(layout_of[i], variant_of[i])
    }
}

if (is_narrow) { title_left = 0.1 }
if (!exists('title_left')) { title_left = left_margin }
if (emulated && exists('is_filled')) { title = title . ' (EMULATED GPU)' }
title_most = (page_width - title_left - 0.1) * 72 / (0.57 * strlen(title))
title_font = sprintf(',%g', title_most < font_size + 2 ? title_most : font_size + 2)
set label 1 title at screen across(title_left), up(page_height - 0.2) \
    font title_font noenhanced
do for [i = 1:n_captions] {
    set label 10 + i captions[i] at screen across(0.1), \
        up(caption_height - (i - 0.3) * caption_step) \
        font caption_font noenhanced textcolor '#333333'
}
if (emulated && !exists('is_filled')) {
    # Within the plot, however narrow that is.
    set label 2 'EMULATED GPU' at graph 0.5, graph 0.5 center rotate by 28 \
        font sprintf(',%g', 38 / 7.0 * page_width) textcolor '#E2E2E2' back
}
