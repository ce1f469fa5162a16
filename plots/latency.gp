# Percentiles of the latency against load: a panel each, one series per layout and setting.
#
#     mpsweep plot results.jsonl --figure latency -o data.gp
#     gnuplot -c latency.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c latency.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data
load folder . 'panels.gp'
