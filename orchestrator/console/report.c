#include "orchestrator/console/report.h"

#include <stdio.h>

int report(enum status status)
{
    if (status == STATUS_OK)
        return EXIT_ALL_MEASURED;
    fprintf(stderr, "mpsweep: %s\n", status_text());
    return status == STATUS_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_BAD_SETUP;
}
