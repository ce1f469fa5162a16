# The nodes of a fleet: what each gives, as a ratio to the median of all.
#
#     mpsweep plot fleet.jsonl --figure fleet -o data.gp
#     gnuplot -c fleet.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c fleet.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

array entries[3] = ['node', 'stands out', 'quartiles of its points']
array entry_colours[3] = ['#0072B2', '#D55E00', '#9FC5DF']
array entry_shapes[3] = [7, 5, 5]
legend_form = 'points'
legend_below = 1
n_entries = 3
# Few nodes have their names below them, aslant where they would meet; of many only those that stand
# out have one.
set encoding utf8
few = n_nodes <= 16
longest_name = 0
if (few) {
    do for [i = 1:n_nodes] {
        if (strlen(names[i]) > longest_name) { longest_name = strlen(names[i]) }
    }
}
is_aslant = (longest_name + 2) * 0.0583 * n_nodes > (exists('page_width') ? page_width : 7.0) - 1
slant = longest_name > 18 ? 60 : 30
if (is_aslant) { axis_height = 0.3 + 0.0583 * longest_name * sin(slant * pi / 180) }
load folder . 'style.gp'

if (!is_aslant) { set xlabel xlabel noenhanced offset 0, 0.4 + 1.6 * lift }
set ylabel ylabel noenhanced
set xrange [-0.5 - 0.02 * n_nodes:n_nodes - 0.5 + 0.02 * n_nodes]
span = ratio_max - ratio_min
set yrange [ratio_min - 0.06 * span:ratio_max + 0.12 * span]
set format y '%.3g'

if (few) {
    set xtics () noenhanced font legend_font offset 0, is_aslant ? 0 : lift
    do for [i = 1:n_nodes] { set xtics add (names[i] i - 1) }
    if (is_aslant) { set xtics rotate by slant right }
} else {
    do for [i = 1:n_marks] {
        is_right = mark_x[i] > 0.75 * n_nodes
        set label 7000 + i mark_text[i] at first mark_x[i], first mark_y[i] \
            offset character (is_right ? -0.8 : 0.8), 0.35 font legend_font noenhanced \
            textcolor '#555555'
        if (is_right) { set label 7000 + i mark_text[i] right }
    }
}

size = n_nodes > 200 ? 0.35 : n_nodes > 60 ? 0.5 : 0.8
set object 1 rectangle from graph 0, first limit_low to graph 1, first limit_high \
    fillcolor rgb '#F2F2F2' fillstyle solid noborder behind
plot 1 with lines linecolor rgb '#888888' linewidth 0.8 notitle, \
     $nodes using 1:3:(0):($4 - $3) @error_bars linecolor rgb entry_colours[3], \
     $nodes using ($5 == 0 ? $1 : NaN):2 with points linecolor rgb entry_colours[1] \
         pointtype 7 pointsize size notitle, \
     $nodes using ($5 == 1 ? $1 : NaN):2 with points linecolor rgb entry_colours[2] \
         pointtype 5 pointsize size + 0.3 notitle
unset output
