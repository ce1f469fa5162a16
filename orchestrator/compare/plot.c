/*
 * The ratios of a comparison as a forest plot: a row a point, its ratio with the 95% interval.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/compare/comparison.h"
#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/gnuplot.h"
#include "orchestrator/results/point.h"

#define ROWS_MAX 250
#define LABEL_BYTES 256

/* In the order of importance: what is left out first where there are too many rows comes last. */
static const enum effect_verdict importance[] = {EFFECT_WORSE, EFFECT_BETTER, EFFECT_UNSURE,
                                                 EFFECT_SAME};

static bool *choose_rows(const struct comparison *comparison, size_t *chosen)
{
    bool *drawn = calloc(comparison->count + 1, sizeof *drawn);
    *chosen = 0;
    for (size_t v = 0; drawn != NULL && v < EFFECT_VERDICTS; v++)
        for (size_t i = 0; i < comparison->count && *chosen < ROWS_MAX; i++) {
            const struct compare_row *row = &comparison->rows[i];
            if (row->verdict != importance[v] || (!row->base_measured && !row->change_measured))
                continue;
            drawn[i] = true;
            ++*chosen;
        }
    return drawn;
}

static bool has_cross(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->rows[i].base_measured != comparison->rows[i].change_measured)
            return true;
    return false;
}

static char *notes_text(const struct comparison *comparison, size_t chosen)
{
    struct text_stream out;
    size_t index;
    const json_t *line;
    if (!text_stream_open(&out))
        return NULL;
    char *summary = comparison_summary(comparison);
    fprintf(out.file, "BASE %s, NEW %s. ", comparison->base_path, comparison->change_path);
    json_array_foreach(comparison->differences, index, line)
    {
        fprintf(out.file, "%s%s", index > 0 ? "; " : "Beware: ", json_string_value(line));
    }
    fprintf(out.file,
            "%sBars: 95%% confidence intervals of the ratio of throughputs; grey: differences of "
            "up to %g%%, which do not matter. ",
            index > 0 ? ". " : "", comparison->threshold * 100);
    if (has_cross(comparison))
        fputs("A cross: a point without a number in one file. ", out.file);
    fprintf(out.file, "%s%s.",
            comparison->holm ? "Verdicts allow for the number of points (Holm). " : "",
            summary != NULL ? summary : "");
    size_t rows = comparison->count - comparison->neither;
    if (chosen < rows)
        fprintf(out.file, " Not drawn: %zu more.", rows - chosen);
    free(summary);
    return text_stream_close(&out);
}

static json_t *label_of(const struct comparison *comparison, const struct compare_row *row)
{
    char name[POINT_TEXT_BYTES], settings[LABEL_BYTES / 2], label[LABEL_BYTES];
    const char *bad =
        row->base_measured ? text_at(row->change, "status") : text_at(row->base, "status");
    point_name(row->base, name);
    comparison_settings(comparison, row->base, settings, sizeof settings);
    snprintf(label, sizeof label, "%s%s%s", name, settings[0] != '\0' ? ", " : "", settings);
    if (!row->base_measured || !row->change_measured)
        snprintf(label + strlen(label), sizeof label - strlen(label), " (%s %.20s)",
                 row->base_measured ? "NEW" : "BASE", bad);
    return json_string_nocheck(label);
}

/* Row number from the top, ratio, ends of its interval (the ratio itself where there is none), the
 * verdict, 1 if there is no ratio. */
static enum status write_rows(FILE *file, const struct comparison *comparison, const bool *drawn,
                              size_t chosen)
{
    double least = -log1p(comparison->threshold), most = -least;
    size_t number = 0;
    json_t *labels = json_array();
    for (size_t i = 0; i < comparison->count; i++)
        if (drawn[i])
            json_array_append_new(labels, label_of(comparison, &comparison->rows[i]));
    enum status status = plot_write_labels(file, labels, chosen);
    fputs("# row, ratio, low, high, verdict (0 worse, 1 better, 2 same, 3 unsure), 1: no number\n"
          "$rows << EOD\n",
          file);
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        const struct effect *effect = &row->throughput;
        if (!drawn[i])
            continue;
        double below = isfinite(effect->below) ? effect->below : 0;
        double above = isfinite(effect->above) ? effect->above : 0;
        fprintf(file, "%zu %.6g %.6g %.6g %d %d\n", ++number, exp(effect->log_ratio),
                exp(effect->log_ratio - below), exp(effect->log_ratio + above), (int)row->verdict,
                row->has_throughput ? 0 : 1);
        if (!row->has_throughput)
            continue;
        least = fmin(least, effect->log_ratio - below);
        most = fmax(most, effect->log_ratio + above);
    }
    fputs("EOD\n", file);
    /* What is farther away than a factor of a thousand is drawn at the edge. */
    fprintf(file, "threshold = %.6g\nratio_min = %.6g\nratio_max = %.6g\n", comparison->threshold,
            exp(fmax(least, log(1e-3))), exp(fmin(most, log(1e3))));
    return status;
}

enum status comparison_plot(const struct comparison *comparison, const char *output)
{
    struct text_stream data;
    size_t chosen = 0;
    enum status status = plot_check_output(output);
    if (status != STATUS_OK)
        return status;
    bool *drawn = choose_rows(comparison, &chosen);
    char *notes = drawn != NULL ? notes_text(comparison, chosen) : NULL;
    if (notes == NULL)
        status = status_set(STATUS_MEMORY, "out of memory for the data of a figure");
    else if (chosen == 0)
        status = status_set(STATUS_USAGE, "no point has a number in either file: nothing to draw");
    else
        status = plot_begin(&data);
    if (status == STATUS_OK) {
        status = plot_write_heading(data.file, "compare", "Throughput, NEW / BASE",
                                    comparison->change.header, notes);
        if (status == STATUS_OK)
            status = write_rows(data.file, comparison, drawn, chosen);
        status = plot_end(&data, status, "compare", output);
    }
    free(notes);
    free(drawn);
    return status;
}
