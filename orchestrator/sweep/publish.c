/* Results that get their name when they are finished, for readers that need all of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/paths.h"
#include "files/atomic_file.h"
#include "orchestrator/console/report.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/sweep/internal.h"

enum status sweep_final_name(const struct campaign *campaign, char **out)
{
    const char *name = options_text(campaign->options, OPTION_PUBLISH);
    const struct placeholders values = {.shard = campaign->shard.index};
    if (campaign->shard.count > 0) {
        enum status status = placeholders_check_file(name);
        if (status != STATUS_OK)
            return status;
    }
    *out = campaign->shard.count > 0 ? placeholders_fill(name, &values) : strdup(name);
    return *out ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

enum status sweep_check_publish(const struct campaign *campaign)
{
    char *name;
    struct stat taken;
    if (!options_text(campaign->options, OPTION_PUBLISH))
        return STATUS_OK;
    if (!campaign_output(campaign))
        return status_set(STATUS_USAGE, "--publish needs --output FILE, which it renames");
    enum status status = sweep_final_name(campaign, &name);
    if (status != STATUS_OK)
        return status;
    status = atomic_file_check_publish(campaign_output(campaign), name);
    if (status == STATUS_OK && lstat(name, &taken) == 0)
        status =
            status_set(STATUS_USAGE, "'%s', the name to publish, exists: give another name", name);
    free(name);
    return status;
}

/* When Slurm takes a node for dead that is not, another one may have put this run's file aside and
 * begun its own under the name. */
static enum status check_ours(const struct campaign *campaign)
{
    struct stat written, named;
    const char *path = campaign_output(campaign);
    if (campaign->writer.fd < 0 || fstat(campaign->writer.fd, &written) != 0 ||
        stat(path, &named) != 0 || same_file(&written, &named))
        return STATUS_OK;
    return status_set(
        STATUS_USAGE,
        "'%s' is no longer the file that this run wrote: another process moved it, so that it is "
        "not published",
        path);
}

enum status sweep_publish(struct campaign *campaign, int result)
{
    char *name;
    if (!options_text(campaign->options, OPTION_PUBLISH) ||
        (result != EXIT_ALL_MEASURED && result != EXIT_SOME_FAILED))
        return STATUS_OK;
    enum status status = check_ours(campaign);
    if (status == STATUS_OK)
        status = sweep_final_name(campaign, &name);
    if (status != STATUS_OK)
        return status;
    /* The file keeps its lock until it has its name: a run that is queued again must not
     * continue it in between. */
    status = atomic_file_publish(campaign_output(campaign), name);
    free(name);
    return status;
}
