#include "orchestrator/merge/merge.h"

#include <signal.h>
#include <stdio.h>

#include "files/ending_signals.h"
#include "files/file_name.h"
#include "files/results_write.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/report.h"
#include "orchestrator/merge/internal.h"

/* Before the files are read, which may take an hour. A run that still writes to the file to be
 * replaced would then write to one without a name: the file's lock keeps both apart. */
static enum status claim_output(const char *output, bool force, struct results_writer *replaced)
{
    if (!force)
        return results_check_new(output, "--force to replace it, or another name");
    enum status status = results_claim(output, replaced);
    /* Whether anything else can be replaced is found out when it is. */
    return status == STATUS_BUSY ? status : STATUS_OK;
}

/* One that comes while the output is written ends it where that can be cleaned up. */
static void hold_signals(sigset_t *before)
{
    sigset_t set;
    ending_signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, before);
}

int merge_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    const char *output = options_text(options, OPTION_OUTPUT);
    bool force = options_switch(options, OPTION_MERGE_FORCE);
    struct merge merge = {0};
    struct results_writer replaced = RESULTS_WRITER_NONE;
    sigset_t before;
    enum status status = file_name_check(output, "results", ".jsonl");
    if (status == STATUS_OK)
        status = claim_output(output, force, &replaced);
    if (status == STATUS_OK)
        status = merge_read(&merge, invocation->operands, invocation->operand_count);
    if (status == STATUS_OK)
        status = merge_check(&merge, options_switch(options, OPTION_STRICT));
    if (status == STATUS_OK)
        status = merge_choose(&merge);
    if (status == STATUS_OK)
        status = merge_judge(&merge);
    if (status == STATUS_OK) {
        hold_signals(&before);
        status = merge_write(&merge, output, force);
    }
    bool prints = status == STATUS_OK && !options_switch(options, OPTION_QUIET);
    if (prints && columns_is_format(options_text(options, OPTION_MERGE_FORMAT)))
        merge_print(&merge, output);
    else if (prints)
        status = merge_print_json(&merge);
    int result = merge_is_whole(&merge) ? EXIT_ALL_MEASURED : EXIT_SOME_FAILED;
    if (status != STATUS_OK)
        result = report(status);
    results_close(&replaced);
    merge_release(&merge);
    return result;
}
