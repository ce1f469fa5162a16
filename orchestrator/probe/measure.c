#include <stdlib.h>
#include <string.h>

#include "common/random.h"
#include "orchestrator/probe/internal.h"

unsigned probe_rounds(const struct probing *probing, const struct probe *probe)
{
    int64_t given = options_integer(probing->options, OPTION_PROBE_ROUNDS);
    return given ? (unsigned)given : probe->rounds;
}

/* Whether a name is one of the list, which has commas between. */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
            return true;
    return false;
}

enum status probe_check_arms(const char *list, const struct probe_outcome *outcomes, size_t count)
{
    char names[1024] = "", word[64];
    struct text text = {.at = names, .size = sizeof names};
    if (!list)
        return STATUS_OK;
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        bool known = length == 3 && strncmp(at, "all", 3) == 0;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        for (size_t p = 0; p < count; p++)
            known |= length < sizeof word && probe_arm_find(outcomes[p].probe, word) != NULL;
        if (!known) {
            for (size_t p = 0; p < count; p++)
                for (size_t a = 0; a < outcomes[p].probe->arm_count; a++)
                    text_append(&text, "%s%s", *names ? ", " : "", outcomes[p].arms[a].arm->name);
            return status_set(STATUS_USAGE, "there is no arm '%s': it is one of all, %s", word,
                              names);
        }
        at += length;
        if (!*at)
            return STATUS_OK;
    }
}

void probe_choose_arms(const char *list, struct probe_outcome *outcome)
{
    const struct probe *probe = outcome->probe;
    bool all = list && is_listed(list, "all");
    for (size_t i = 0; i < probe->arm_count; i++) {
        const struct probe_arm *arm = &probe->arms[i];
        if (list ? !all && !is_listed(list, arm->name) : arm->flags & PROBE_ARM_EXTRA)
            continue;
        outcome->arms[i].chosen = true;
        if (arm->control)
            probe_outcome_arm(outcome, arm->control)->chosen = true;
    }
}

/* The chosen arms of a round in random order, so that drift favours none; those over MPS together,
 * before or behind the others, since between them the daemon would come and go. */
static size_t order_arms(const struct probe_outcome *outcome, uint64_t seed, size_t *order)
{
    const struct probe *probe = outcome->probe;
    uint64_t random = seed;
    bool mps_first = random_next(&random) & 1;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t begin = count;
        for (size_t i = 0; i < probe->arm_count; i++) {
            bool mps = probe->arms[i].flags & PROBE_ARM_OVER_MPS;
            if (outcome->arms[i].chosen && mps == (mps_first == (pass == 0)))
                order[count++] = i;
        }
        for (size_t i = count; i > begin + 1; i--) {
            size_t other = begin + random_next(&random) % (i - begin);
            size_t kept = order[i - 1];
            order[i - 1] = order[other];
            order[other] = kept;
        }
    }
    return count;
}

static uint64_t seed_of(const struct probing *probing, const struct probe *probe, unsigned round)
{
    uint64_t seed = (uint64_t)options_integer(probing->options, OPTION_PROBE_SEED);
    for (const char *c = probe->name; *c; c++)
        seed = seed * 31 + (unsigned char)*c;
    return seed * PROBE_ROUNDS + round;
}

enum status probe_measure(struct probing *probing, struct probe_outcome *outcome)
{
    const struct probe *probe = outcome->probe;
    unsigned rounds = probe_rounds(probing, probe);
    enum status status = STATUS_OK;
    char what[PROGRESS_SUBJECT];
    size_t *order = calloc(probe->arm_count, sizeof *order);
    if (!order)
        return status_set(STATUS_MEMORY, "out of memory");
    for (unsigned round = 0; round < rounds && status == STATUS_OK; round++) {
        size_t count = order_arms(outcome, seed_of(probing, probe, round), order);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            struct probe_arm_data *data = &outcome->arms[order[i]];
            snprintf(what, sizeof what, "%s %s, round %u of %u", probe->name, data->arm->name,
                     round + 1, rounds);
            progress_begin(&probing->progress, what);
            progress_end(&probing->progress, NULL);
            /* What has failed once gives no number, and need not be tried again. */
            if (data->status == STATUS_OK)
                status = probe_arm_measure(probing, probe, data, round);
        }
    }
    free(order);
    return status;
}
