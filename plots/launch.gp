# The time of one launch call against the number of workers: its mean and its 99th percentile.
#
#     mpsweep plot results.jsonl --figure launch -o data.gp
#     gnuplot -c launch.gp data.gp picture.svg        (or .png, .pdf)

if (ARGC != 2) { exit error 'usage: gnuplot -c launch.gp DATA.gp PICTURE.svg|.png|.pdf' }
data = ARG1
output = ARG2
folder = ARG0
while (strlen(folder) > 0 && folder[strlen(folder):] ne '/') {
    folder = folder[1:strlen(folder) - 1]
}
load data
load folder . 'panels.gp'
