#include "orchestrator/compare/compare.h"

#include <string.h>

#include "files/file_name.h"
#include "orchestrator/compare/comparison.h"
#include "orchestrator/console/report.h"

int compare_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    struct comparison comparison;
    const char *picture = options_text(options, OPTION_OUTPUT);
    const char *format = options_text(options, OPTION_FORMAT);
    bool holm = strcmp(options_text(options, OPTION_ADJUST), "holm") == 0;
    double threshold = options_real(options, OPTION_THRESHOLD) / 100;
    enum status status = STATUS_OK;
    for (size_t i = 0; picture && i < invocation->operand_count && status == STATUS_OK; i++)
        status = file_name_refuse_input(picture, invocation->operands[i]);
    if (status == STATUS_OK)
        status = comparison_make(invocation->operands[0], invocation->operands[1], threshold, holm,
                                 &comparison);
    if (status != STATUS_OK)
        return report(status);
    bool worse = comparison.counts[EFFECT_WORSE] > 0;
    if (picture)
        status = comparison_plot(&comparison, picture);
    if (status == STATUS_OK && strcmp(format, "csv") == 0)
        comparison_print_csv(stdout, &comparison);
    else if (status == STATUS_OK && strcmp(format, "json") == 0)
        comparison_print_json(stdout, &comparison);
    else if (status == STATUS_OK)
        comparison_print_table(stdout, &comparison);
    comparison_release(&comparison);
    return status == STATUS_OK && worse ? EXIT_REGRESSION : report(status);
}
