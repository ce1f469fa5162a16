#include "orchestrator/merge/merge.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "orchestrator/console/report.h"
#include "orchestrator/merge/internal.h"

/* Better known before files of an hour's reading than after. */
static enum status check_output(const char *output, bool force)
{
    struct stat info;
    if (force || lstat(output, &info) != 0)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' exists: give --force to replace it, or another name",
                      output);
}

/* One that comes while the output is written ends it where that can be cleaned up. */
static void hold_signals(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, before);
}

int merge_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    const char *output = options_text(options, OPTION_OUTPUT);
    bool force = options_switch(options, OPTION_MERGE_FORCE);
    struct merge merge = {0};
    sigset_t before;
    enum status status = check_output(output, force);
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
    int result = merge_is_whole(&merge) ? EXIT_ALL_MEASURED : EXIT_SOME_FAILED;
    if (status != STATUS_OK)
        result = report(status);
    else if (!options_switch(options, OPTION_QUIET))
        merge_print(&merge, output);
    merge_release(&merge);
    return result;
}
