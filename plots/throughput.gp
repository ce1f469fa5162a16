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
load folder . 'style.gp'

set xlabel xlabel noenhanced offset 0, 0.4 + 1.6 * lift
set ylabel ylabel noenhanced
set xrange [0:x_max * 1.04]
set yrange [0:throughput_max > 0 ? throughput_max * 1.06 : 1]
set format y throughput_max >= 10 ? '%.0f' : '%g'
set xtics x_is_rate ? rate_step(x_max, plot_width) : count_step(x_max, plot_width)

plot for [i = 1:n_series] sprintf('$series_%d', i) \
         using 1:($3 < $2 ? $2 - $3 : 0):(0):($3 < $2 ? 2 * $3 : $2 + $3) @error_bars \
         linecolor rgb series_colour(layout_of[i]), \
     for [i = 1:n_series] sprintf('$series_%d', i) using 1:2 with linespoints \
         linecolor rgb series_colour(layout_of[i]) linewidth 1.3 \
         dashtype series_dash(variant_of[i]) pointsize 0.7 \
         pointtype series_point(layout_of[i], variant_of[i]) notitle, \
     ideal_slope * x with lines linecolor rgb ideal_colour linewidth 0.8 dashtype ideal_dash notitle
unset output
