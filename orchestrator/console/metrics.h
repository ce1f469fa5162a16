/*
 * Gauges as OpenMetrics text, which Prometheus and the textfile collector of its node exporter
 * read:
 *
 *     metrics_family(out, "mpsweep_mps_clients", "processes that are clients");
 *     metrics_value(out, "mpsweep_mps_clients", labels, count, 3);
 *     metrics_end(out);
 *
 * The values of a family follow it. (https://github.com/prometheus/OpenMetrics)
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct metrics_label {
    const char *name, *value; /* any name: what a label may not have becomes '_' */
};

void metrics_family(FILE *out, const char *name, const char *help);

/* Nothing where the value is NAN: it is not known. */
void metrics_value(FILE *out, const char *name, const struct metrics_label *labels, size_t count,
                   double value);

/* Ends the text: nothing follows. */
void metrics_end(FILE *out);
