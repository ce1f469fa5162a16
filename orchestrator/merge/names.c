#include "orchestrator/merge/internal.h"

#include <stdio.h>

#include "common/json.h"
#include "common/paths.h"
#include "common/text.h"

const char *const merge_rank_words[MERGE_RANKS] = {
    [MERGE_INTERRUPTED] = "interrupted",
    [MERGE_FAILED] = "failed",
    [MERGE_INFEASIBLE] = "infeasible",
    [MERGE_UNCONVERGED] = "unconverged",
    [MERGE_OK] = "ok",
};

const char *merge_file_name(const struct merge *merge, size_t source)
{
    return path_file_name(merge->files[merge->sources[source].file].path);
}

const char *merge_node_name(const json_t *header)
{
    const char *node = text_at(header, "slurm_node");
    return *node ? node : text_at(header, "host");
}

const char *merge_host(const struct merge *merge, size_t source, char text[MERGE_HOST_TEXT])
{
    return text_shortened(merge_node_name(merge->sources[source].header), text, MERGE_HOST_TEXT);
}

const char *merge_source_name(const struct merge *merge, size_t source, char *text, size_t size)
{
    char host[MERGE_HOST_TEXT];
    snprintf(text, size, "%s on %s", merge_file_name(merge, source),
             merge_host(merge, source, host));
    return text;
}
