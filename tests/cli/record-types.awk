# The fields of records as docs/results-format.md lists them, one a line:
#   RECORD FIELD OPTIONAL TYPE...
# OPTIONAL is yes for a field that may be absent, measured for one that is there only with a
# measurement, else no.
/^## / { record = $2; measured = "no" }
/^The fields below are there only with status/ { measured = "measured" }
/^\| `/ {
    split($0, cells, "|")
    optional = cells[4] ~ /or absent/ ? "yes" : measured
    gsub(/[` ]/, "", cells[2])
    gsub(/^ +| +$/, "", cells[3])
    count = split(cells[2], names, ",")
    for (i = 1; i <= count; i++)
        print record, names[i], optional, cells[3]
}
