#!/usr/bin/env -S gnuplot -c
# What searches reach with a budget, from the tables of tests/accuracy/evaluate:
#
#   tests/accuracy/searches.gp docs/results/evaluation.txt >docs/results/h100-searches.svg
set encoding utf8
set terminal svg size 860,300 dynamic font 'sans-serif,11' name 'searches'
tables = ARG1
if (ARGC != 1 || system(sprintf("test -r '%s' && echo yes", tables)) ne 'yes') {
    print "usage: searches.gp EVALUATION, a readable file of tests/accuracy/evaluate"
    exit status 1
}
array works[4] = ['builtin', 'detect', 'torch', 'decode']
array titles[4] = ['built-in, 346 layouts', 'detector, 346 layouts', 'PyTorch, 70 layouts', 'decoder, 31 layouts']
array searches[4] = ['tune', 'random', 'successive halving', 'Bayesian optimisation']
# Okabe and Ito's colours, and a shape and a dash of its own for print without colour.
array colours[4] = ['#0072B2', '#000000', '#E69F00', '#CC79A7']
array shapes[4] = [7, 6, 8, 4]
array dashes[4] = [1, 3, 2, 4]
# Budget, median and the worst tenth: the last numbers of a row. Beside each other, not on each other.
rows(w, s) = sprintf("< awk -v at=%g '$1 == \"%s\" && index($0, \"  %s\") { print $2 * at, $(NF - 3), $(NF - 2) }' %s", \
    1.0 + 0.04 * (s - 2.5), works[w], searches[s], tables)

array least[4] = [60, 85, 0, 0]

set multiplot
set logscale x
set xrange [8.5:141]
set xtics (10, 20, 30, 60, 120) nomirror
set ytics nomirror
set grid ytics linecolor '#DDDDDD' linetype 1
set border 3
set xlabel 'budget (s)' offset 0,0.4
set bmargin at screen 0.30
set tmargin at screen 0.90
unset key
do for [w = 1:4] {
  set lmargin at screen 0.07 + 0.24 * (w - 1)
  set rmargin at screen 0.26 + 0.24 * (w - 1)
  set yrange [least[w]:100 + 0.04 * (100 - least[w])]
  set title titles[w] offset 0,-0.6
  if (w == 1) { set ylabel '% of the best layout' offset 1.2,0 } else { unset ylabel }
  plot for [k = 1:4] rows(w, 5 - k) using 1:2:3:2 with yerrorbars \
           linecolor rgb colours[5 - k] pointtype shapes[5 - k] pointsize 0.1 linewidth 1 notitle, \
       for [s = 1:4] rows(w, 5 - s) using 1:2 with linespoints linecolor rgb colours[5 - s] \
           pointtype shapes[5 - s] pointsize 0.6 dashtype dashes[5 - s] \
           linewidth (s == 4 ? 2.5 : 1.5) notitle
}
# The legend, of a plot of nothing over the whole page.
set lmargin at screen 0.02
set rmargin at screen 0.98
unset title
unset xlabel
unset tics
unset border
unset grid
set label 1 'lines: the median of 50 searches; bars: down to the worst tenth; the vertical axes differ' \
    at screen 0.5,0.035 center font ',9' textcolor rgb '#555555'
set key at screen 0.5,0.13 center center horizontal maxrows 1 samplen 3.5 width 1 font ',10'
set yrange [0:1]
plot for [s = 1:4] NaN with linespoints linecolor rgb colours[s] pointtype shapes[s] pointsize 0.6 \
    dashtype dashes[s] linewidth (s == 1 ? 2.5 : 1.5) title searches[s]
unset multiplot
