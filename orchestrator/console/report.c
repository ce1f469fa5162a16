#include "orchestrator/console/report.h"

#include <stdio.h>

void report_notice(const char *text)
{
    fprintf(stderr, "mpsweep: %s\n", text);
}

void report_line(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

int report(enum status status)
{
    if (status == STATUS_OK)
        return EXIT_ALL_MEASURED;
    report_notice(status_text());
    return status == STATUS_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_BAD_SETUP;
}
