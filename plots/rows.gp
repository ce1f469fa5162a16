# Common to figures with one row per point: load it after the data, which sets n_rows and labels. It
# makes room for the labels and the rows, loads style.gp, and draws the labels.

# Lengths are those of characters.
set encoding utf8
row_step = n_rows <= 60 ? 0.15 : 0.125
plot_height = (n_rows + 1) * row_step
label_longest = 0
do for [i = 1:n_rows] {
    if (strlen(labels[i]) > label_longest) { label_longest = strlen(labels[i]) }
}
left_margin = label_longest * 0.0575 + 0.25
if (left_margin < 0.78) { left_margin = 0.78 }
legend_below = 1
title_left = 0.1
is_filled = 1
load folder . 'style.gp'

set yrange [n_rows + 0.9:0.1]
unset ytics
do for [i = 1:n_rows] {
    set label 5000 + i labels[i] at graph 0, first i right offset character -1, 0 \
        font legend_font noenhanced
}
