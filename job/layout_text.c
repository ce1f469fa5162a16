#include "job/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

static const struct {
    const char *name;
    bool mps;
    bool two_counts; /* PxT rather than N */
} layouts[LAYOUT_KINDS] = {
    [LAYOUT_THREADS] = {"threads", false, false},
    [LAYOUT_PROCESSES] = {"processes", false, false},
    [LAYOUT_PROCESSES_MPS] = {"processes+mps", true, false},
    [LAYOUT_THREADS_MPS] = {"threads+mps", true, false},
    [LAYOUT_HYBRID] = {"hybrid", true, true},
    [LAYOUT_HYBRID_TIMESLICED] = {"hybrid-timesliced", false, true},
};

const char *layout_name(enum layout_kind kind)
{
    return kind < LAYOUT_KINDS ? layouts[kind].name : "unknown";
}

bool layout_over_mps(enum layout_kind kind)
{
    return kind < LAYOUT_KINDS && layouts[kind].mps;
}

enum layout_kind layout_of(unsigned processes, unsigned threads, bool over_mps)
{
    if (processes == 1)
        return over_mps ? LAYOUT_THREADS_MPS : LAYOUT_THREADS;
    if (threads == 1)
        return over_mps ? LAYOUT_PROCESSES_MPS : LAYOUT_PROCESSES;
    return over_mps ? LAYOUT_HYBRID : LAYOUT_HYBRID_TIMESLICED;
}

const char *layout_text(enum layout_kind kind, unsigned processes, unsigned threads,
                        char out[LAYOUT_TEXT_BYTES])
{
    if (kind < LAYOUT_KINDS && layouts[kind].two_counts)
        snprintf(out, LAYOUT_TEXT_BYTES, "%s:%ux%u", layout_name(kind), processes, threads);
    else
        snprintf(out, LAYOUT_TEXT_BYTES, "%s:%u", layout_name(kind), processes * threads);
    return out;
}

/* What users call a layout. */
static const struct {
    const char *word;
    enum layout_kind kind;
} meanings[] = {{"mps", LAYOUT_PROCESSES_MPS},
                {"procs", LAYOUT_PROCESSES},
                {"mps+processes", LAYOUT_PROCESSES_MPS},
                {"mps+threads", LAYOUT_THREADS_MPS},
                {"mixed", LAYOUT_HYBRID}};

/* The name that is meant, or the nearest one; NULL: none. */
static const char *meant_layout(const char *name)
{
    const char *nearest = NULL;
    unsigned slips = UINT_MAX;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i].word, name) == 0)
            return layouts[meanings[i].kind].name;
    for (int i = 0; i < LAYOUT_KINDS; i++)
        if (text_is_meant(name, layouts[i].name, &slips))
            nearest = layouts[i].name;
    return nearest;
}

/* Reports an unknown layout, which counts may follow as in 'threads=8', 'mps8' or 'hybrid=8x2'. */
static enum status unknown_layout(const char *text)
{
    char name[LAYOUT_TEXT_BYTES];
    size_t length = strcspn(text, "=0123456789");
    const char *counts = text + length + (text[length] == '=');
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    const char *meant = meant_layout(name);
    if (counts[strspn(counts, "0123456789x")])
        counts = "";
    if (meant)
        return status_set(STATUS_USAGE, "unknown layout '%s'; did you mean '%s%s%s'?", text, meant,
                          *counts ? ":" : "", counts);
    return status_set(STATUS_USAGE,
                      "unknown layout '%s': it is one of threads, processes, processes+mps, "
                      "threads+mps, hybrid, hybrid-timesliced",
                      text);
}

static enum status find_layout(const char *name, enum layout_kind *out)
{
    for (int i = 0; i < LAYOUT_KINDS; i++) {
        if (strcmp(layouts[i].name, name) == 0) {
            *out = (enum layout_kind)i;
            return STATUS_OK;
        }
    }
    return unknown_layout(name);
}

/* A count of 1 to LAYOUT_MOST_WORKERS; moves *text behind it. */
static bool take_count(const char **text, unsigned *out)
{
    unsigned value = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (unsigned)(*at - '0');
        if (value > LAYOUT_MOST_WORKERS)
            return false;
    }
    if (at == *text || value == 0)
        return false;
    *text = at;
    *out = value;
    return true;
}

static enum status add_layout(struct option_value *out, enum layout_kind kind, unsigned processes,
                              unsigned threads)
{
    char text[LAYOUT_TEXT_BYTES];
    struct option_item item = {.layout = kind, .processes = processes, .threads = threads};
    return option_value_add(out, &item, layout_text(kind, processes, threads, text));
}

static enum status add_counts(struct option_value *out, enum layout_kind kind, const char *text)
{
    const char *at = text;
    unsigned first, last;
    if (!take_count(&at, &first))
        goto bad;
    last = first;
    if (layouts[kind].two_counts) {
        if (*at++ != 'x' || !take_count(&at, &last) || *at)
            goto bad;
        if (first * last > LAYOUT_MOST_WORKERS)
            goto bad;
        return add_layout(out, kind, first, last);
    }
    if (*at == '-') {
        at++;
        if (!take_count(&at, &last))
            goto bad;
    }
    if (*at || first > last)
        goto bad;
    bool processes = kind == LAYOUT_PROCESSES || kind == LAYOUT_PROCESSES_MPS;
    for (unsigned n = first; n <= last; n++) {
        enum status status = add_layout(out, kind, processes ? n : 1, processes ? 1 : n);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
bad:
    return status_set(STATUS_USAGE,
                      "'%s' is not a count of layout '%s': it takes %s, up to %d workers", text,
                      layouts[kind].name,
                      layouts[kind].two_counts ? "PxT, as in 8x2" : "N or a range, as in 1-16",
                      LAYOUT_MOST_WORKERS);
}

enum status layout_parse(const char *text, enum layout_kind kind, struct option_value *out)
{
    char *copy = strdup(text);
    if (!copy)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    char *rest = copy;
    while (status == STATUS_OK && rest) {
        char *item = strsep(&rest, ", \t");
        if (!*item && (rest || out->count > 0))
            continue; /* "a, b": a comma and a space; "a,": more on the next line */
        char *colon = strchr(item, ':');
        char *counts = item;
        if (colon || kind == LAYOUT_KINDS) {
            if (colon)
                *colon = '\0';
            counts = colon ? colon + 1 : NULL;
            status = find_layout(item, &kind);
            if (status == STATUS_OK && (!counts || !*counts))
                status = status_set(STATUS_USAGE, "layout '%s' has no worker counts: write %s:%s",
                                    item, item, layouts[kind].two_counts ? "8x2" : "1-16");
        }
        if (status == STATUS_OK)
            status = add_counts(out, kind, counts);
    }
    free(copy);
    return status;
}
