# The measured rate beside the ceiling that binds each point and the next one: one row per point.
#
#     mpsweep plot results.jsonl --figure ceilings -o data.gp
#     gnuplot -c ceilings.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c ceilings.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data

# Where a ceiling binds it is a bar. Colours come round after six. There are fourteen shapes beside
# the dot of what was measured: two rare ceilings share theirs with others of other colours.
array colours[6] = ['#D55E00', '#0072B2', '#009E73', '#CC79A7', '#E69F00', '#56B4E9']
array shapes[16] = [8, 4, 12, 10, 14, 6, 2, 11, 9, 1, 5, 13, 15, 3, 1, 5]
colour(k) = colours[(marks[k] - 1) % 6 + 1]
shape(k) = shapes[(marks[k] - 1) % 16 + 1]
legend_form = 'points'
n_entries = n_names + 1
array entries[n_entries]
array entry_colours[n_entries]
array entry_shapes[n_entries]
entries[1] = 'measured'
entry_colours[1] = '#000000'
entry_shapes[1] = 7
do for [k = 1:n_names] {
    entries[k + 1] = names[k]
    entry_colours[k + 1] = colour(k)
    entry_shapes[k + 1] = shape(k)
}
binding_longest = 0
do for [i = 1:n_rows] {
    if (strlen(binding[i]) > 30) { binding[i] = binding[i][1:29] . '…' }
    if (reached[i] > 0) { binding[i] = binding[i] . sprintf(', %.0f%%', 100.0 * reached[i]) }
    if (strlen(binding[i]) > binding_longest) { binding_longest = strlen(binding[i]) }
}
right_margin = 0.2 + 0.057 * binding_longest
load folder . 'rows.gp'

set logscale x
decades = log10(ips_max / ips_min)
set xrange [ips_min / 10.0 ** (0.04 * decades + 0.02):ips_max * 10.0 ** (0.04 * decades + 0.02)]
set xtics () offset 0, lift
# As many numbers as there is room for: the least distance of two of them is in decades.
width = page_width - left_margin - right_margin
room = width / 0.45
array numbers[7] = [ \
    '1 1.1 1.2 1.3 1.4 1.6 1.8 2 2.2 2.5 2.8 3 3.3 3.6 4 4.5 5 5.5 6 6.5 7 7.5 8 8.5 9 9.5', \
    '1 1.2 1.4 1.6 1.8 2 2.2 2.5 3 3.5 4 5 6 7 8 9', '1 1.5 2 3 4 5 6 8', '1 1.5 2 3 5 7', \
    '1 2 5', '1 3', '1']
array distances[7] = [0.022, 0.041, 0.079, 0.125, 0.301, 0.477, 1]
chosen = decades * 2 > room ? 7 : decades * 2.7 > room ? 6 : \
    decades * 5 > room || decades > 0.9 ? 5 : decades > 0.3 ? 3 : 1
number_width = 0.07 * digits_of(ips_max) + 0.06
while (chosen < 7 && distances[chosen] * width / (1.08 * decades + 0.04) < number_width) {
    chosen = chosen + 1
}
digits = numbers[chosen]
every = int(ceil(decades * (0.15 + 0.07 * digits_of(ips_max)) / width + 0.01))
first_power = int(floor(log10(ips_min))) - 1
do for [power = first_power:int(ceil(log10(ips_max))) + 1:every] {
    do for [digit in digits] {
        set xtics add (sprintf('%.10g', digit * 10.0 ** power) digit * 10.0 ** power)
    }
}
set xlabel 'iterations/s' noenhanced offset 0, 0.4 + 1.6 * lift
do for [i = 1:n_rows] {
    set label 6000 + i binding[i] \
        at graph 1, first i left offset character 1, 0 font legend_font noenhanced
}

# From the measured rate to the bar, and the bar.
do for [i = 1:n_rows] {
    if (bar_ips[i] > 0) {
        set arrow 7000 + i from first measured_ips[i], first i to first bar_ips[i], first i nohead \
            linewidth 1.2 linecolor rgb colour(bar_name[i]) back
        set arrow 8000 + i from first bar_ips[i], first i - 0.36 to first bar_ips[i], first i + 0.36 \
            nohead linewidth 2.6 linecolor rgb colour(bar_name[i]) back
    }
}

plot for [k = 1:n_names] $ceilings using ($3 == k && $4 == 0 ? $2 : NaN):1 with points \
         linecolor rgb colour(k) linewidth 1.2 pointtype shape(k) pointsize 0.7 notitle, \
     $measured using 2:1:3:4 with xerrorbars linecolor rgb '#000000' linewidth 1.2 pointtype 7 \
         pointsize 0.55 notitle
unset output
