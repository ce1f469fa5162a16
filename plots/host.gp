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
y_most = throughput_max * 1.1
load folder . 'style.gp'

set xlabel 'CPUs in use' noenhanced offset 0, 0.4 + 1.6 * lift
set ylabel 'throughput (iterations/s)' noenhanced
set xrange [0:cpus_max > 0 ? cpus_max * 1.06 : 1]
set yrange [0:throughput_max > 0 ? throughput_max * 1.1 : 1]
set format y throughput_max >= 10 ? '%.0f' : '%g'

# A name ends at its point, or stands above it where it would cross the axis.
name_room(name) = (strlen(name) + 2) * character * cpus_max * 1.06 / plot_width
name_x(cpus, name) = cpus > name_room(name) ? cpus : name_room(name)
name_y(cpus, ips, name) = cpus > name_room(name) ? ips : ips + 0.025 * throughput_max
plot $front using 1:2 with steps linecolor rgb ideal_colour linewidth 0.8 notitle, \
     for [i = 1:n_series] sprintf('$series_%d', i) using 1:2 with points \
         linecolor rgb series_colour(layout_of[i]) pointsize 0.7 \
         pointtype series_point(layout_of[i], variant_of[i]) notitle, \
     $labels using (name_x($1, strcol(3))):(name_y($1, $2, strcol(3))):3 with labels \
         font legend_font right offset -0.6, 0.4 noenhanced notitle
unset output
