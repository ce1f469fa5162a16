# Throughput by processes and threads per process: a cell for each P×T, with its streams a thread
# where there are several.
#
#     mpsweep plot results.jsonl --figure heatmap -o data.gp
#     gnuplot -c heatmap.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c heatmap.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

top = throughput_max > 0 ? throughput_max : 1
is_dark(ips) = ips < 0.6 * top

# The longest number of a cell, and of its streams.
set encoding utf8
stats $cells using (strlen(strcol(4))) nooutput name 'VALUE'
stats $cells using (strlen(strcol(5))) nooutput name 'STREAMS'

# gnuplot 5.4 crashes over labels without points. Counted while no range is set, which would hide some.
stats $cells using ($3 < 0 ? 1 : 0) nooutput name 'MISSING'
stats $cells using ($3 >= 0 && is_dark($3) ? 1 : 0) nooutput name 'DARK'
stats $cells using ($3 >= 0 && !is_dark($3) ? 1 : 0) nooutput name 'LIGHT'

legend_form = 'none'
is_filled = 1
cell = n_threads <= 10 ? 0.36 : has_streams ? 0.3 : 0.24
plot_height = n_threads * cell > 1.1 ? n_threads * cell : 1.1
right_margin = 1.0
load folder . 'style.gp'

# Viridis: even in lightness, so that it also reads in grey and to colour-blind eyes.
set palette defined (0 '#440154', 1 '#472D7B', 2 '#3B528B', 3 '#2C728E', 4 '#21918C', 5 '#28AE80', \
    6 '#5EC962', 7 '#ADDC30', 8 '#FDE725')
set cbrange [0:top]
set colorbox user origin screen across(page_width - right_margin + 0.2), screen up(plot_bottom) \
    size screen across(0.14), screen up(plot_height)
set cbtics round_step(0.24 * top / plot_height) font legend_font scale 0.4
set format cb top >= 10 ? '%.0f' : '%g'

unset grid
unset border
set tics scale 0
set xrange [0.5:n_processes + 0.5]
set yrange [0.5:n_threads + 0.5]
set xtics () offset 0, lift
value_room = plot_width / n_processes
# Of numbers without room for all every second has one, or every third.
label_width = strlen(sprintf('%d', processes[n_processes])) * 0.57 * font_size / 72.0 + 0.05
do for [i = 1:n_processes:int(ceil(label_width / value_room))] {
    set xtics add (sprintf('%d', processes[i]) i)
}
set ytics ()
do for [i = 1:n_threads] { set ytics add (sprintf('%d', threads[i]) i) }
set xlabel 'processes' noenhanced offset 0, 0.4 + 1.6 * lift
set ylabel 'threads a process' noenhanced

value_size = value_room > 0.365 ? 7.5 : value_room > 0.26 ? 6 : 4.5
value_font = sprintf(',%g', value_size)
half = 0.47
# Of cells that are narrower than their numbers the colour has to do.
fits(characters) = characters * 0.57 * value_size / 72.0 <= 2 * half * value_room
first_line = fits(VALUE_max) ? 1 : 2
last_line = has_streams && fits(STREAMS_max) ? 2 : 1
# Of two lines in a cell.
above = has_streams ? 0.33 : 0
below = -0.33

parts = "$cells using ($3 >= 0 ? $1 : NaN):2:($1 - half):($1 + half):($2 - half):($2 + half):3 " . \
    "with boxxyerror fillstyle solid 1 noborder fillcolor palette notitle"
if (MISSING_sum > 0) {
    parts = parts . ", $cells using ($3 < 0 ? $1 : NaN):2:($1 - half):($1 + half):($2 - half):" . \
        "($2 + half) with boxxyerror fillcolor rgb '#BBBBBB' fillstyle pattern 4 " . \
        "border linecolor rgb '#BBBBBB' notitle, " . \
        "$cells using ($3 < 0 ? $1 : NaN):2:4 with labels font title_font textcolor rgb '#000000' " . \
        "noenhanced notitle"
}
if (DARK_sum > 0 && first_line <= last_line) {
    parts = parts . ", for [l = first_line:last_line] $cells " . \
        "using ($3 >= 0 && is_dark($3) ? $1 : NaN):2:(strcol(3 + l)) with labels " . \
        "offset 0, l == 1 ? above : below font value_font textcolor rgb '#FFFFFF' noenhanced notitle"
}
if (LIGHT_sum > 0 && first_line <= last_line) {
    parts = parts . ", for [l = first_line:last_line] $cells " . \
        "using ($3 >= 0 && !is_dark($3) ? $1 : NaN):2:(strcol(3 + l)) with labels " . \
        "offset 0, l == 1 ? above : below font value_font textcolor rgb '#000000' noenhanced notitle"
}
eval 'plot ' . parts
unset output
