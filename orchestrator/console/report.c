#include "orchestrator/console/report.h"

#include <stdio.h>

#include "common/text.h"
#include "orchestrator/console/color.h"

#define REPORT_LINE 8192

/* Texts quote files, programs and the command line: whatever those hold, they are only printed. */
static void print(const char *before, const char *text)
{
    char shown[REPORT_LINE];
    fprintf(stderr, "%s%s\n", before, text_displayed(text, shown, sizeof shown));
}

void report_notice(const char *text)
{
    print("mpsweep: ", text);
}

void report_line(const char *text)
{
    print("", text);
}

int report(enum status status)
{
    if (status == STATUS_OK)
        return EXIT_ALL_MEASURED;
    color_print_error(stderr, "mpsweep:");
    print(" ", status_text());
    return status == STATUS_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_BAD_SETUP;
}
