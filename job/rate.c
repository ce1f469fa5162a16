#include "job/rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define LOWEST 0.01
#define HIGHEST 1e7
#define LONGEST_S 3600.0

static const struct {
    const char *name;
    uint32_t permille;
} percentiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p999", 999}};
#define PERCENTILES (sizeof percentiles / sizeof percentiles[0])

/* A plain decimal number, and nothing behind it. */
static bool parse_number(const char *text, double *out)
{
    char *end;
    /* strtod also takes unwanted forms: 0x1p3. */
    if (*text < '0' || *text > '9' || text[strspn(text, "0123456789.eE")])
        return false;
    *out = strtod(text, &end);
    return !*end && isfinite(*out);
}

static bool parse_goal(const char *text, struct rate_goal *out)
{
    for (size_t i = 0; i < PERCENTILES; i++) {
        size_t length = strlen(percentiles[i].name);
        double ns;
        if (strncmp(text, percentiles[i].name, length) != 0 || text[length] != '=')
            continue;
        if (!text_time_ns(text + length + 1, &ns) || ns < 1e3 || ns > LONGEST_S * 1e9)
            return false;
        *out = (struct rate_goal){.permille = percentiles[i].permille,
                                  .latency_ns = (uint64_t)llround(ns)};
        return true;
    }
    return false;
}

bool rate_parse(const char *text, struct rate *out)
{
    static const char search[] = "max-under-";
    struct rate rate = {0};
    double value;
    if (strcmp(text, "closed") == 0) {
        *out = rate;
        return true;
    }
    if (strncmp(text, search, sizeof search - 1) == 0) {
        if (!parse_goal(text + sizeof search - 1, &rate.goal))
            return false;
        *out = rate;
        return true;
    }
    if (!parse_number(text, &value) || value < LOWEST || value > HIGHEST)
        return false;
    rate.units = (uint64_t)llround(value * RATE_UNITS);
    *out = rate;
    return true;
}

const char *rate_text(uint64_t units, char *out, size_t size)
{
    snprintf(out, size, "%.10g", (double)units / RATE_UNITS);
    return out;
}

const char *rate_percentile_name(uint32_t permille)
{
    for (size_t i = 0; i < PERCENTILES; i++)
        if (percentiles[i].permille == permille)
            return percentiles[i].name;
    return "unknown";
}

uint32_t rate_permille(const char *name)
{
    for (size_t i = 0; i < PERCENTILES; i++)
        if (strcmp(percentiles[i].name, name) == 0)
            return percentiles[i].permille;
    return 0;
}

const char *rate_time_text(double ns, char *out, size_t size)
{
    if (ns >= 1e9)
        snprintf(out, size, "%.4g s", ns / 1e9);
    else if (ns >= 1e6)
        snprintf(out, size, "%.4g ms", ns / 1e6);
    else
        snprintf(out, size, "%.4g us", ns / 1e3);
    return out;
}
