# Each GPU's rate in each point of several GPUs, beside the mean of the point: one row per point.
#
#     mpsweep plot results.jsonl --figure gpus -o data.gp
#     gnuplot -c gpus.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c gpus.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

# Colours come round after six; shapes distinguish GPUs.
array colours[6] = ['#D55E00', '#0072B2', '#009E73', '#CC79A7', '#E69F00', '#56B4E9']
array shapes[8] = [7, 5, 9, 11, 13, 6, 4, 8]
colour(g) = colours[g % 6 + 1]
shape(g) = shapes[g % 8 + 1]
legend_form = 'points'
n_entries = n_gpus
array entries[n_entries]
array entry_colours[n_entries]
array entry_shapes[n_entries]
do for [g = 0:n_gpus - 1] {
    entries[g + 1] = sprintf('GPU %d', g)
    entry_colours[g + 1] = colour(g)
    entry_shapes[g + 1] = shape(g)
}
text_longest = 0
do for [i = 1:n_rows] {
    if (strlen(texts[i]) > text_longest) { text_longest = strlen(texts[i]) }
}
right_margin = 0.2 + 0.057 * text_longest
load folder . 'rows.gp'

# Similar GPUs must not look far apart.
side = widest * 1.15 > 2 ? widest * 1.15 : 2
set xrange [-side:side]
set format x '%+g%%'
# As many numbers as there is room for, and one at least to each side.
room = (page_width - left_margin - right_margin) / 0.55
step = 0.5
do for [next in '1 2 5 10 20 50'] {
    if (2 * side / step > room && real(next) <= side) { step = real(next) }
}
set xtics step offset 0, lift
set xtics add ('0%%' 0)
set xlabel 'beside the mean of the GPUs of a point' noenhanced offset 0, 0.4 + 1.6 * lift
do for [i = 1:n_rows] {
    set label 6000 + i texts[i] \
        at graph 1, first i left offset character 1, 0 font legend_font noenhanced
    if (interval[i] > 0) {
        reach = interval[i] < side ? interval[i] : side
        set object 7000 + i rectangle from first -reach, first i - 0.32 to first reach, first i + 0.32 \
            fillcolor rgb '#E4E4E4' fillstyle solid noborder back
    }
}
set arrow 6999 from first 0, graph 0 to first 0, graph 1 nohead linewidth 0.8 \
    linecolor rgb '#666666' back

plot for [g = 0:n_gpus - 1] $rates using ($2 == g ? $3 : NaN):1 with points \
         linecolor rgb colour(g) linewidth 1.2 pointtype shape(g) pointsize 0.75 notitle
unset output
