#include "orchestrator/export/export.h"

#include <string.h>

#include "orchestrator/console/report.h"
#include "orchestrator/results/table.h"

static void print(const struct results *results, const char *format)
{
    if (strcmp(format, "openmetrics") == 0)
        export_print_openmetrics(stdout, results);
    else if (strcmp(format, "csv") == 0)
        table_print_csv(stdout, results->header, results->points);
    else if (strcmp(format, "json") == 0)
        table_print_json(stdout, results->header, results->calibrations, results->points,
                         results->tune, results->footer);
    else
        table_print(stdout, results->header, results->points);
}

int export_command(const struct invocation *invocation)
{
    const char *path = invocation->operands[0];
    struct results results;
    enum status status = results_load(path, NULL, &results);
    if (status != STATUS_OK)
        return report(status);
    results_make_displayable(&results);
    if (json_array_size(results.points) == 0)
        status = status_set(STATUS_USAGE, "'%s' holds no points to export", path);
    else
        print(&results, options_text(invocation->options, OPTION_EXPORT_FORMAT));
    results_release(&results);
    return report(status);
}
