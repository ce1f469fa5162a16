# The ratios of two results files, NEW / BASE: one row per point, with its 95% interval, coloured by
# verdict.
#
#     mpsweep compare base.jsonl new.jsonl -o data.gp
#     gnuplot -c compare.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c compare.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

legend_form = 'points'
n_entries = 4
array entries[4] = ['worse', 'better', 'same', 'unsure']
array entry_colours[4] = ['#D55E00', '#0072B2', '#009E73', '#999999']
array entry_shapes[4] = [11, 9, 7, 6]

load folder . 'rows.gp'

# Steps that are even on a logarithmic axis, as far as there is room for their labels.
span = log(ratio_max) - log(ratio_min)
margin = span * 0.06
set logscale x
set xrange [exp(log(ratio_min) - margin):exp(log(ratio_max) + margin)]
step = span < 0.06 ? 0.01 : span < 0.12 ? 0.02 : span < 0.3 ? 0.05 : span < 0.7 ? 0.1 : \
    span < 1.4 ? 0.25 : 0
set xtics () offset 0, lift
if (step > 0) {
    do for [i = int(ceil(ratio_min / step)):int(floor(ratio_max / step))] {
        set xtics add (sprintf('%g', i * step) i * step)
    }
} else {
    do for [power = -3:3] {
        do for [digit in '1 2 5'] {
            if (digit eq '1' || span < 5) {
                set xtics add (sprintf('%g', digit * 10.0 ** power) digit * 10.0 ** power)
            }
        }
    }
}
set xlabel 'throughput of NEW as a share of BASE' noenhanced offset 0, 0.4 + 1.6 * lift

# The range that does not matter, and the line without a change.
set object 1 rectangle from 1 / (1 + threshold), graph 0 to 1 + threshold, graph 1 \
    fillcolor rgb '#EFEFEF' fillstyle solid noborder behind
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linecolor rgb '#666666' linewidth 0.8 back

inside(x) = x < ratio_min ? ratio_min : x > ratio_max ? ratio_max : x
plot for [v = 0:3] $rows using ($5 == v && $6 == 0 ? inside($2) : NaN):1:(inside($3)):(inside($4)) \
         with xerrorbars linecolor rgb entry_colours[v + 1] linewidth 1.3 \
         pointtype entry_shapes[v + 1] pointsize 0.6 notitle, \
     for [v = 0:3] $rows using ($5 == v && $6 == 1 ? ratio_min : NaN):1 with points \
         linecolor rgb entry_colours[v + 1] linewidth 1.3 pointtype 2 pointsize 0.6 notitle
unset output
