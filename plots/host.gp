# Throughput against the CPUs in use, one series per layout and setting, and the front of the best.
#
#     mpsweep plot results.jsonl --figure host -o data.gp
#     gnuplot -c host.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c host.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data
has_lines = 0
y_most = throughput_max > 0 ? throughput_max * 1.1 : 1
load folder . 'style.gp'

set xlabel 'CPUs in use' noenhanced offset 0, 0.4 + 1.6 * lift
set ylabel 'throughput (iterations/s)' noenhanced
x_most = cpus_max > 0 ? cpus_max * 1.06 : 1
set xrange [0:x_most]
set yrange [0:y_most]
set format y throughput_max >= 10 ? '%.0f' : '%g'

# A layout's name ends at the left of its point, or begins at the axis where it would cross that. The
# best come first, and a name without room beside those before it is left out, as a second one is.
n_front = |$front|
array names[n_front]
array lefts[n_front]
array rights[n_front]
array ips_of[n_front]
name_height = 1.1 * legend_size / 72 * y_most / plot_height
do for [i = 1:n_front] {
    line = $front[n_front + 1 - i]
    eval sprintf('cpus = %s; ips_of[i] = %s', word(line, 1), word(line, 2))
    names[i] = word(line, 3)
    width = (strlen(names[i]) + 2) * character * x_most / plot_width
    is_beside = cpus > width
    lefts[i] = is_beside ? cpus - width : 0
    rights[i] = lefts[i] + width
    do for [j = 1:i - 1] {
        meets = abs(ips_of[j] - ips_of[i]) < name_height && lefts[j] < rights[i] && lefts[i] < rights[j]
        if (names[j] eq names[i] || (meets && names[j] ne '')) { names[i] = '' }
    }
    if (names[i] eq '') { continue }
    set label 7000 + i names[i] at first (is_beside ? cpus : 0), first ips_of[i] \
        offset character (is_beside ? -0.6 : 0.4), 0.6 font legend_font noenhanced
    if (is_beside) { set label 7000 + i names[i] right }
}
plot $front using 1:2 with steps linecolor rgb ideal_colour linewidth 0.8 notitle, \
     for [i = 1:n_series] sprintf('$series_%d', i) using 1:2 with points \
         linecolor rgb series_colour(layout_of[i]) pointsize 0.7 \
         pointtype series_point(layout_of[i], variant_of[i]) notitle
unset output
