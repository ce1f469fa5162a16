/*
 * What probes found: a row for each arm, under a heading with the verdict.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/plot/series.h"
#include "orchestrator/results/point.h"

enum kind { NOT_MEASURED, CONTROL, OBSERVED, NOT_OBSERVED, INCONCLUSIVE };

/* One without a verdict is a control, or has one that was not measured. */
static enum kind kind_of(const json_t *arm)
{
    const char *verdict = text_at(arm, "verdict");
    if (!(number_at(arm, "median_us") > 0))
        return NOT_MEASURED;
    return strcmp(verdict, "observed") == 0       ? OBSERVED
           : strcmp(verdict, "not observed") == 0 ? NOT_OBSERVED
           : *text_at(arm, "control")             ? INCONCLUSIVE
                                                  : CONTROL;
}

/* A row number counts headings, too; there are more rows than a picture holds only in files that
 * were made by hand. */
static size_t count_rows(const json_t *probes)
{
    size_t count = 0, index;
    const json_t *probe;
    json_array_foreach(probes, index, probe)
    {
        count += 1 + json_array_size(json_object_get(probe, "arms"));
    }
    return count;
}

static enum status write_labels(FILE *file, const json_t *probes)
{
    size_t row = 0, p, a, count = count_rows(probes);
    const json_t *probe, *arm;
    json_t *labels = json_array();
    fprintf(file, "array headings[%zu]\n", count);
    json_array_foreach(probes, p, probe)
    {
        char heading[256];
        const char *metric = text_at(json_object_get(probe, "effect"), "metric");
        snprintf(heading, sizeof heading, "%s: %s%s%s", text_at(probe, "probe"),
                 text_at(probe, "verdict"), *metric ? " · " : "", metric);
        json_array_append_new(labels, json_string(""));
        plot_write_item(file, "headings", ++row, heading);
        json_array_foreach(json_object_get(probe, "arms"), a, arm)
        {
            plot_write_item(file, "headings", ++row, "");
            json_array_append_new(labels, json_string_nocheck(text_at(arm, "arm")));
        }
    }
    return plot_write_labels(file, labels, count);
}

/* Row, median, its interval, 99th percentile, kind; and the span of them all. */
static void write_arms(FILE *file, const json_t *probes, double *least, double *most)
{
    size_t row = 0, p, a;
    const json_t *probe, *arm;
    fputs("# row, median, low, high, 99th percentile (µs), kind\n$arms << EOD\n", file);
    json_array_foreach(probes, p, probe)
    {
        row++;
        json_array_foreach(json_object_get(probe, "arms"), a, arm)
        {
            double median = number_at(arm, "median_us"), p99 = number_at(arm, "p99_us");
            double low = number_in(arm, "ci95_us", 0), high = number_in(arm, "ci95_us", 1);
            row++;
            if (kind_of(arm) == NOT_MEASURED)
                continue;
            low = low > 0 ? low : median;
            high = high > 0 ? high : median;
            p99 = p99 > 0 ? p99 : median;
            fprintf(file, "%zu %.6g %.6g %.6g %.6g %d\n", row, median, low, high, p99,
                    kind_of(arm));
            *least = fmin(*least, low);
            *most = fmax(*most, fmax(high, p99));
        }
    }
    fputs("EOD\n", file);
}

enum status plot_probe_write(const struct results *results, const char *path, FILE *file)
{
    double least = INFINITY, most = 0;
    size_t rows = count_rows(results->probes);
    if (json_array_size(results->probes) == 0)
        return status_set(STATUS_USAGE, "'%s' holds no result of 'mpsweep probe'", path);
    if (rows > PLOT_ROWS_MAX)
        return status_set(STATUS_USAGE, "'%s' has %zu arms of probes; a picture holds %d", path,
                          rows, PLOT_ROWS_MAX);
    enum status status = plot_write_heading(
        file, "probe", "What delays what: each arm of the probes", results->header,
        "Dot: median of the fresh processes' medians, with its 95% interval; bar: 99th percentile. "
        "Colours are verdicts against the arm's control.");
    if (status != STATUS_OK)
        return status;
    status = write_labels(file, results->probes);
    if (status != STATUS_OK)
        return status;
    write_arms(file, results->probes, &least, &most);
    if (most <= 0)
        return status_set(STATUS_USAGE, "no arm of a probe in '%s' was measured", path);
    fprintf(file, "us_min = %.6g\nus_max = %.6g\n", least, most);
    return STATUS_OK;
}
