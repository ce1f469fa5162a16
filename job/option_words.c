#include "job/option_words.h"

#include <limits.h>
#include <string.h>

#include "common/text.h"

static const struct option_alias aliases[] = {
    {"gpu", 'g', OPTION_MPS_GPU, NULL},       {"format", 'f', OPTION_EMIT_TARGET, NULL},
    {"target", 0, OPTION_TUNE_EMIT, NULL},    {NULL, 'f', OPTION_TRACE_FIGURE, NULL},
    {"json", 0, OPTION_SLURM_FORMAT, "json"},
};

/* Words that users try, and what they mean where the command has the option. */
static const struct {
    const char *word;
    const char *option; /* that the command must have */
    const char *value;  /* NULL: such as it is */
} meanings[] = {
    {"procs", "layout", "processes:N"},
    {"processes", "layout", "processes:N"},
    {"num-processes", "layout", "processes:N"},
    {"threads", "layout", "threads:N"},
    {"num-threads", "layout", "threads:N"},
    {"workers", "layout", "processes:N"},
    {"replicas", "layout", "processes:N"},
    {"hybrid", "layout", "hybrid:PxT"},
    {"gpu", "device", NULL},
    {"emulated", "device", "emulated"},
    {"gpus", "device", NULL},
    {"gpu-id", "device", NULL},
    {"time", "duration", NULL},
    {"seconds", "duration", NULL},
    {"runtime", "duration", NULL},
    {"file", "output", NULL},
    {"json", "format", "json"},
    {"csv", "format", "csv"},
    {"repeat", "rounds", NULL},
    {"repetitions", "rounds", NULL},
    {"runs", "rounds", NULL},
    {"trials", "rounds", NULL},
    {"concurrency", "streams", NULL},
    {"in-flight", "streams", NULL},
    {"qps", "rate", NULL},
    {"rps", "rate", NULL},
    {"load", "rate", NULL},
    {"p99", "max-p99", NULL},
    {"slo", "max-p99", NULL},
    {"latency", "max-p99", NULL},
    {"graphs", "launch", "graph"},
    {"cuda-graphs", "launch", "graph"},
    {"queues", "connections", NULL},
    {"pinned", "memory", "pinned"},
    {"pageable", "memory", "pageable"},
    {"numa", "bind", NULL},
    {"affinity", "bind", NULL},
    {"continue", "resume", NULL},
    {"silent", "quiet", NULL},
    {"type", "figure", NULL},
    {"kind", "figure", NULL},
};

const struct option_alias *option_alias_find(const char *name, char letter, unsigned command)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        const struct option_alias *alias = &aliases[i];
        bool named = name ? alias->name && strcmp(alias->name, name) == 0
                          : letter && alias->letter == letter;
        if (named && option_table[alias->id].commands & command)
            return alias;
    }
    return NULL;
}

bool option_meaning(const char *name, unsigned command, const char **option, const char **value)
{
    unsigned slips = UINT_MAX;
    const char *nearest = NULL, *meant = NULL;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (option_find(meanings[i].option, command) &&
            text_is_meant(name, meanings[i].word, &slips)) {
            nearest = meanings[i].option;
            meant = meanings[i].value;
        }
    /* Nearer than these: '--thread' is not the begin of '--threads-per-block'. */
    const char *own = option_nearest(name, command, &slips);
    if ((!own && !nearest) || option_nearest(name, ~0u, &slips))
        return false;
    *option = own ? own : nearest;
    *value = own ? NULL : meant;
    return true;
}
