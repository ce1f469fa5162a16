# The search of a tune: what each point did, in the order in which they were first measured.
#
#     mpsweep plot results.jsonl --figure search -o data.gp
#     gnuplot -c search.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c search.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

# Layouts have the colours and shapes of all figures.
array colours[7] = ['#0072B2', '#D55E00', '#009E73', '#E69F00', '#CC79A7', '#000000', '#56B4E9']
array shapes[7] = [7, 5, 9, 11, 13, 15, 3]
legend_form = 'points'
legend_below = 1
n_entries = n_layouts
array entries[n_entries]
array entry_colours[n_entries]
array entry_shapes[n_entries]
do for [i = 1:n_layouts] {
    entries[i] = layout_name[i]
    entry_colours[i] = colours[layout_number[i]]
    entry_shapes[i] = shapes[layout_number[i]]
}
y_most = value_max * 1.12
load folder . 'style.gp'

set xlabel 'order of the first measurement' noenhanced offset 0, 0.4 + 1.6 * lift
set ylabel ylabel noenhanced
set xrange [0:order_max * 1.03 + 1]
set yrange [0:y_most]
set format y value_max >= 10 ? '%.0f' : '%g'

# The line of the best so far where it passes a place of the order.
line_at(x) = sum [k = 1:|$best|] (word($best[k], 1) <= x && \
    (k == |$best| || word($best[k + 1], 1) > x) ? real(word($best[k], 2)) : 0)

# A name without room beside one of those before it is left out, and takes none.
name_step = 0.12 * (order_max * 1.03 + 1) / plot_width
do for [i = 1:n_marks] {
    has_room = 1
    do for [j = 1:i - 1] {
        if (mark_text[j] ne '' && abs(mark_x[j] - mark_x[i]) < name_step) { has_room = 0 }
    }
    is_right = mark_x[i] > 0.6 * order_max
    if (mark_is_best[i]) {
        set label 7000 + i mark_text[i] at first mark_x[i], first mark_y[i] \
            offset character (is_right ? -1 : 1), 0.9 font legend_font noenhanced \
            point pointtype 6 pointsize 1.6 linewidth 1.6 linecolor rgb '#000000'
        if (is_right) {
            set label 7000 + i mark_text[i] right
        }
    } else { if (has_room) {
        # Upright: there is one point in each place of the order. High ones have their text below, and
        # one that the line would go through begins behind it.
        length = (0.55 * strlen(mark_text[i]) + 1.5) * legend_size / 72.0 * y_most / plot_height
        line_y = line_at(mark_x[i])
        is_high = mark_y[i] > 0.7 * y_most || \
            (line_y > mark_y[i] && line_y < mark_y[i] + length && line_y + length > y_most)
        is_crossed = is_high ? line_y < mark_y[i] && line_y > mark_y[i] - length : \
            line_y > mark_y[i] && line_y < mark_y[i] + length
        set label 7000 + i mark_text[i] \
            at first mark_x[i], first (is_crossed ? line_y : mark_y[i]) rotate by 90 \
            offset character 0, is_high ? -0.8 : 0.8 font legend_font noenhanced textcolor '#555555'
        if (is_high) { set label 7000 + i mark_text[i] right }
    } else { mark_text[i] = '' } }
}

plot $best using 1:2 with steps linecolor rgb '#888888' linewidth 1.2 notitle, \
     for [i = 1:n_layouts] $points using \
         ($3 == layout_number[i] && $4 == 0 ? $1 : NaN):2 with points \
         linecolor rgb colours[layout_number[i]] linewidth 1.2 \
         pointtype hollow[layout_number[i]] pointsize 0.6 notitle, \
     for [i = 1:n_layouts] $points using \
         ($3 == layout_number[i] && $4 == 1 ? $1 : NaN):2 with points \
         linecolor rgb colours[layout_number[i]] \
         pointtype shapes[layout_number[i]] pointsize 0.8 notitle
unset output
