#include "orchestrator/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/report.h"
#include "orchestrator/results/probe_record.h"
#include "orchestrator/results/table.h"

struct place {
    json_t *point; /* borrowed */
    json_int_t id;
    size_t measured; /* its place in the file */
};

static int by_id(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    if (one->id != other->id)
        return one->id < other->id ? -1 : 1;
    return one->measured < other->measured ? -1 : 1;
}

/* Points stand in the order in which they were measured, which is random: puts them in the plan's.
 */
static enum status sort(struct results *results)
{
    size_t count = json_array_size(results->points);
    struct place *places = calloc(count + 1, sizeof *places);
    json_t *sorted = json_array();
    if (!places || !sorted) {
        free(places);
        json_decref(sorted);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        json_t *point = json_array_get(results->points, i);
        places[i] = (struct place){point, integer_at(point, "id"), i};
    }
    qsort(places, count, sizeof *places, by_id);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, places[i].point);
    json_decref(results->points);
    results->points = sorted;
    free(places);
    return STATUS_OK;
}

/* As 'mpsweep probe' printed them. */
static enum status print_probes(const struct results *results, const char *path, const char *format)
{
    if (strcmp(format, "openmetrics") == 0)
        return status_set(STATUS_USAGE, "'%s' holds probes: there are metrics of points only",
                          path);
    if (strcmp(format, "csv") == 0)
        probe_print_csv(stdout, results->header, results->probes);
    else if (strcmp(format, "json") == 0)
        table_print_json(stdout, results->header, NULL, results->probes, NULL, results->footer);
    else
        table_print_heading(stdout, results->header, results->probes);
    for (size_t i = 0; i < json_array_size(results->probes) && columns_is_format(format); i++) {
        fputs(i > 0 ? "\n" : "", stdout);
        probe_print_record(stdout, json_array_get(results->probes, i));
    }
    return STATUS_OK;
}

static void print(const struct results *results, const char *format)
{
    if (strcmp(format, "openmetrics") == 0)
        export_print_openmetrics(stdout, results);
    else if (strcmp(format, "csv") == 0)
        table_print_csv(stdout, results->header, results->points);
    else if (strcmp(format, "json") == 0)
        table_print_json(stdout, results->header, results->calibrations, results->points,
                         results->tune, results->footer);
    else {
        char unfinished[TABLE_UNFINISHED];
        if (*table_unfinished(results, unfinished))
            puts(unfinished);
        table_print(stdout, results->header, results->points);
    }
}

int export_command(const struct invocation *invocation)
{
    const char *path = invocation->operands[0];
    const char *format = options_text(invocation->options, OPTION_EXPORT_FORMAT);
    struct results results;
    enum status status = results_load(path, NULL, &results);
    if (status != STATUS_OK)
        return report(status);
    results_make_displayable(&results);
    bool probes = json_array_size(results.points) == 0 && json_array_size(results.probes) > 0;
    if (probes)
        status = print_probes(&results, path, format);
    else if (json_array_size(results.points) == 0)
        status = status_set(STATUS_USAGE, "'%s' holds no points to export", path);
    if (status == STATUS_OK && !probes)
        status = sort(&results);
    if (status == STATUS_OK && !probes)
        print(&results, format);
    results_release(&results);
    return report(status);
}
