#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/merge/internal.h"

/* Longer lists are in the records. */
#define NAMES_MOST 4
#define VALUE_MOST 48
#define ROWS_MOST 40

static void print_value(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    char shown[VALUE_MOST + 1];
    if (!text)
        return;
    if (strcmp(text, "null") == 0)
        printf("none");
    else if (json_is_string(value))
        printf("'%s'", text_shortened(json_string_value(value), shown, sizeof shown));
    else
        printf("%s", text_shortened(text, shown, sizeof shown));
    free(text);
}

static void print_sources(const struct merge *merge, const json_t *sources)
{
    size_t count = json_array_size(sources);
    fputs(" in ", stdout);
    for (size_t i = 0; i < count && i < NAMES_MOST; i++)
        printf("%s%s", i ? ", " : "",
               merge_file_name(merge, (size_t)json_integer_value(json_array_get(sources, i))));
    if (count > NAMES_MOST)
        printf(" and %zu more", count - NAMES_MOST);
}

/* The value that most files have needs no list of them. */
static void print_difference(const struct merge *merge, const json_t *difference)
{
    const json_t *values = json_object_get(difference, "values");
    size_t most = 0;
    char what[160];
    for (size_t i = 0; i < json_array_size(values); i++) {
        const json_t *sources = json_object_get(json_array_get(values, i), "sources");
        if (json_array_size(sources) > most)
            most = json_array_size(sources);
    }
    printf("differs: %s:", text_shortened(text_at(difference, "what"), what, sizeof what));
    if (json_array_size(values) > 2 * NAMES_MOST) {
        printf(" %zu values\n", json_array_size(values));
        return;
    }
    for (size_t i = 0; i < json_array_size(values); i++) {
        const json_t *value = json_array_get(values, i);
        const json_t *sources = json_object_get(value, "sources");
        fputs(i ? "; " : " ", stdout);
        print_value(json_object_get(value, "value"));
        if (json_array_size(sources) == most && most > NAMES_MOST)
            printf(" in %zu files", most);
        else
            print_sources(merge, sources);
    }
    putchar('\n');
}

static void print_missing(const struct merge *merge)
{
    for (size_t i = 0; i < json_array_size(merge->missing); i++) {
        const json_t *row = json_array_get(merge->missing, i);
        const char *file = text_at(row, "file"), *shards = text_at(row, "shards");
        const char *nodes = text_at(row, "nodes"), *points = text_at(row, "points");
        fputs("missing: ", stdout);
        if (*nodes)
            printf("no results file for nodes %.200s", nodes);
        else
            printf("point%s %.200s: ", strpbrk(points, ",-") ? "s" : "", points);
        if (*file)
            printf("'%s': %s", file, text_at(row, "why"));
        else if (!*nodes)
            printf("%s%s",
                   *shards ? "no results file for shard " : "not assigned to any input file",
                   shards);
        putchar('\n');
    }
    for (size_t i = 0; i < merge->file_count; i++)
        if (merge->files[i].torn)
            printf("cut: '%s' ends within a line: its %zu whole line%s used\n",
                   merge->files[i].path, merge->files[i].lines,
                   merge->files[i].lines == 1 ? " is" : "s are");
}

static void print_points(const struct merge *merge)
{
    size_t sum = 0;
    for (int i = 0; i < MERGE_RANKS; i++)
        sum += merge->counts[i];
    printf("%zu file%s, %zu GPU%s: %zu of %zu point%s", merge->file_count,
           merge->file_count == 1 ? "" : "s", merge->gpu_count, merge->gpu_count == 1 ? "" : "s",
           sum, merge->plan, merge->plan == 1 ? "" : "s");
    const char *separator = " (";
    for (int i = MERGE_RANKS; i-- > 0;) {
        if (merge->counts[i] == 0)
            continue;
        printf("%s%zu %s", separator, merge->counts[i], merge_rank_words[i]);
        separator = ", ";
    }
    puts(sum ? ")" : "");
}

static void print_factors(const struct merge *merge)
{
    const struct gpus_model *model = &merge->gpus;
    struct columns table = {0};
    size_t shown = 0;
    columns_add(&table, "GPU", COLUMNS_LEFT);
    columns_add(&table, "host", COLUMNS_LEFT);
    columns_add(&table, "factor", COLUMNS_RIGHT);
    columns_add(&table, "95%", COLUMNS_LEFT);
    columns_add(&table, "measurements", COLUMNS_RIGHT);
    for (size_t i = 0; i < model->count; i++) {
        const struct gpus_factor *gpu = &model->gpus[i];
        size_t source = 0;
        char uuid[43], host[MERGE_HOST_TEXT];
        if (gpu->observations == 0 || (model->count > ROWS_MOST && !gpu->differs))
            continue;
        while (merge->sources[source].gpu != i)
            source++;
        const json_t *header = merge->sources[source].header;
        columns_cell(
            &table, "%s",
            text_shortened(text_at(json_object_get(header, "gpu"), "uuid"), uuid, sizeof uuid));
        columns_cell(&table, "%s", merge_host(merge, source, host));
        columns_cell(&table, "%.4f", gpu->factor);
        if (isfinite(gpu->high))
            columns_cell(&table, "%.4f to %.4f", gpu->low, gpu->high);
        else
            columns_cell(&table, "not known");
        columns_cell(&table, "%zu", gpu->observations);
        columns_end_row_with(&table, "%s",
                             !gpu->differs       ? ""
                             : gpu->factor < 1.0 ? "slower"
                                                 : "faster");
        shown++;
    }
    putchar('\n');
    columns_print(stdout, &table, 0);
    if (shown < model->compared)
        printf("and %zu that do not differ\n", model->compared - shown);
}

static void print_gpus(const struct merge *merge)
{
    const struct gpus_model *model = &merge->gpus;
    if (merge->gpu_count < 2)
        return;
    if (model->compared == 0) {
        puts("GPUs: no point was measured on more than one, so that their differences are "
             "unknown: measure with --reference K");
        return;
    }
    printf("GPUs: %s by more than %g%%, by %zu point%s for reference",
           model->differ ? "they differ" : "none surely differs", MERGE_GPUS_MATTERS * 100,
           merge->reference_points, merge->reference_points == 1 ? "" : "s");
    if (isfinite(model->scatter_rel))
        printf(" (one measurement scatters by %.2g%%)", model->scatter_rel * 100);
    putchar('\n');
    if (model->within_runs_only)
        puts("      the intervals know only how a measurement scatters in itself, and not from run "
             "to run:\n      --reference 3 or --rounds 3 would show it");
    if (model->compared < model->count)
        printf("      %zu of %zu %s no such point, and %s not compared\n",
               model->count - model->compared, model->count,
               model->count - model->compared == 1 ? "has" : "have",
               model->count - model->compared == 1 ? "is" : "are");
    if (model->differ)
        puts("      points are as each GPU measured them; nothing is scaled");
    print_factors(merge);
}

void merge_print(const struct merge *merge, const char *output)
{
    print_points(merge);
    print_missing(merge);
    if (merge->duplicates && *merge->duplicates)
        printf("twice: points %.200s: the better record is kept, or else the first\n",
               merge->duplicates);
    for (size_t i = 0; i < json_array_size(merge->differs); i++)
        print_difference(merge, json_array_get(merge->differs, i));
    if (merge->fleet)
        merge_print_fleet(merge);
    else
        print_gpus(merge);
    printf("\n%s\n", output);
}

static enum status print_finding(void *out, json_t *record)
{
    if (!record)
        return status_set(STATUS_MEMORY, "out of memory for a record");
    json_dumpf(record, out, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(record);
    fputc('\n', out);
    return STATUS_OK;
}

enum status merge_print_json(const struct merge *merge)
{
    return merge_each_finding(merge, print_finding, stdout);
}
