#include "job/workload_mix.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHT_MOST 1000

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static enum status parse_part(const char *part, size_t length, const struct workload *workloads,
                              size_t count, struct mix *mix)
{
    const char *colon = memchr(part, ':', length);
    size_t name_length = colon ? (size_t)(colon - part) : length;
    size_t index = 0;
    while (index < count && (strlen(workloads[index].name) != name_length ||
                             strncmp(workloads[index].name, part, name_length) != 0))
        index++;
    if (index == count)
        return STATUS_NOT_FOUND;
    uint64_t weight = 1;
    if (colon) {
        const char *text = colon + 1;
        size_t digits = strspn(text, "0123456789");
        weight = digits > 0 && digits < 6 ? strtoull(text, NULL, 10) : 0;
        if (text + digits != part + length || weight == 0 || weight > WEIGHT_MOST)
            return status_set(STATUS_USAGE, "'%.*s': a weight is a number from 1 to %d, as in %s:3",
                              (int)length, part, WEIGHT_MOST, workloads[index].name);
    }
    for (uint32_t i = 0; i < mix->count; i++)
        if (mix->workloads[i] == index)
            return status_set(STATUS_USAGE, "workload '%s' stands twice in a mix: give it a weight",
                              workloads[index].name);
    if (mix->count == MIX_MOST)
        return status_set(STATUS_USAGE, "a mix has at most %d workloads", MIX_MOST);
    mix->workloads[mix->count] = (uint32_t)index;
    mix->weights[mix->count++] = (uint32_t)weight;
    return STATUS_OK;
}

enum status mix_parse(const char *text, const struct workload *workloads, size_t count,
                      struct mix *out, const char **bad, size_t *bad_length)
{
    struct mix mix = {0};
    unsigned steps = 0;
    uint32_t divisor = 0;
    for (const char *part = text;; part++) {
        size_t length = strcspn(part, "+");
        enum status status = parse_part(part, length, workloads, count, &mix);
        if (status == STATUS_NOT_FOUND) {
            *bad = part;
            *bad_length = strcspn(part, "+:");
        }
        if (status != STATUS_OK)
            return status;
        part += length;
        if (!*part)
            break;
    }
    for (uint32_t i = 0; i < mix.count; i++) {
        steps += workloads[mix.workloads[i]].count;
        divisor = greatest_divisor(mix.weights[i], divisor);
    }
    if (steps > WORKLOAD_STEPS)
        return status_set(STATUS_USAGE, "the workloads of a mix have at most %d steps together",
                          WORKLOAD_STEPS);
    for (uint32_t i = 0; i < mix.count; i++)
        mix.weights[i] /= divisor;
    *out = mix;
    return STATUS_OK;
}

unsigned mix_next(struct mix_deal *deal, const uint32_t *weights, unsigned count)
{
    unsigned most = 0;
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        deal->has[i] += weights[i];
        sum += weights[i];
        if (deal->has[i] > deal->has[most])
            most = i;
    }
    deal->has[most] -= sum;
    return most;
}

unsigned mix_workers_needed(const uint32_t *weights, unsigned count)
{
    struct mix_deal deal = {{0}};
    bool has[MIX_MOST] = {false};
    unsigned left = count, workers = 0;
    for (; left > 0; workers++) {
        unsigned workload = mix_next(&deal, weights, count);
        left -= !has[workload];
        has[workload] = true;
    }
    return workers;
}
