/*
 * Two results files side by side: their points in pairs, the effects, and a verdict on each.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "files/results_read.h"
#include "statistics/effect.h"
#include "orchestrator/compare/match.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"

struct compare_row {
    const json_t *base, *change; /* borrowed */
    bool base_measured, change_measured;
    enum effect_verdict verdict; /* of the point; meaningless if neither is measured */

    /* Only where both are measured and the figures are positive. The ratio is NEW / BASE. */
    bool has_throughput, has_p99;
    struct effect throughput, p99;
    enum effect_verdict throughput_verdict, p99_verdict; /* a lower p99 is the better one */
    bool p99_has_interval;
    bool p99_counts;   /* in the point's verdict: at a rate that is fixed, latency is what varies */
    bool alone;        /* a figure that counts would be worse or better if it were the only one */
    double cpus_ratio; /* CPUs in use; NAN where one has none */
    double energy_ratio; /* joules per iteration; the same */
};

struct comparison {
    const char *base_path, *change_path;
    struct results base, change;
    struct compare_match match;
    struct compare_row *rows; /* of match.pairs */
    size_t count;
    double threshold; /* as a share: 0.02 */
    bool holm;
    bool one_file;       /* both are: no rounds would show more */
    json_t *differences; /* array of lines about the two headers */
    /* The settings of the first point, and which of them the others do not share. */
    char settings[SETTINGS_IDS][POINT_TEXT_BYTES];
    bool varies[SETTINGS_IDS];
    size_t counts[EFFECT_VERDICTS];
    size_t neither; /* rows without a number in either file */
    size_t few;     /* rows with too few rounds to be worse or better */
    size_t alone;   /* unsure rows that would be worse or better if they were the only one */
};

/*
 * Loads and compares. comparison_release() frees what out has.
 *
 * STATUS_USAGE: a broken file, nothing to compare, or numbers of an emulated GPU against those of a
 * real one.
 */
enum status comparison_make(const char *base_path, const char *change_path, double threshold,
                            bool holm, struct comparison *out);
void comparison_release(struct comparison *comparison);

/* "2 worse, 1 better, 30 same, 4 unsure; …". The caller frees it; NULL: no memory. */
char *comparison_summary(const struct comparison *comparison);

/* "pageable, 8 queues": the settings in which the points of the comparison differ. */
void comparison_settings(const struct comparison *comparison, const json_t *point, char *out,
                         size_t size);

/* The command that measures a file anew, in more rounds. The caller frees it; NULL: no sweep made
 * the file, its header lacks the options, or no memory. */
char *comparison_again(const char *path, const struct results *results, unsigned rounds);

/* Prints what to measure for a verdict on the unsure points, if there are any, or on all that have
 * too few rounds for one; nothing for a file beside itself. */
void comparison_print_next(FILE *out, const struct comparison *comparison);

/* What stands in the place of a ratio where there is none: "NEW failed: why". */
void comparison_remark(const struct compare_row *row, char *out, size_t size);

void comparison_print_table(FILE *out, const struct comparison *comparison);
void comparison_print_csv(FILE *out, const struct comparison *comparison);
void comparison_print_json(FILE *out, const struct comparison *comparison);

/* The picture of all ratios with their intervals. Statuses as of plot_end(). */
enum status comparison_plot(const struct comparison *comparison, const char *output);
