/*
 * What NVTX loads into a program that is observed with --tick nvtx:NAME, because
 * NVTX_INJECTION64_PATH names this library: at the program's first call of NVTX,
 * InitializeInjectionNvtx2() puts our functions for ranges in the place of those that do nothing.
 *
 * The declarations are those of nvtx3/nvtxDetail/nvtxTypes.h and nvToolsExt.h, version 3.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "observer/watcher.h"
#include "wire/program.h"

#define EXPORT __attribute__((visibility("default")))

/* Numbers of tables and of the functions in them. */
enum { TABLE_OF_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { CORE_PUSH_EX = 8, CORE_PUSH = 9, CORE_POP = 11 };
enum { DOMAIN_PUSH_EX = 4, DOMAIN_POP = 5, DOMAIN_REGISTER_STRING = 10 };

enum { MESSAGE_ASCII = 1, MESSAGE_REGISTERED = 3 };
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message; /* of MESSAGE_REGISTERED what register_string() has returned */
};

typedef void (*function)(void);
struct callbacks {
    size_t bytes;
    int (*get_table)(int module, function ***table, unsigned *count);
};

static struct tick tick;
static _Thread_local struct {
    int depth;          /* ranges that the thread is in */
    int counted;        /* the one that counts, and those within it, of its domain; 0: none does */
    const void *domain; /* whose range counts: each has ranges of its own; NULL: that of no name */
} ranges;

static int push_in(const void *domain, const char *name)
{
    struct watcher *watcher;
    ranges.depth++;
    if (ranges.counted) {
        ranges.counted += ranges.domain == domain;
    } else if (name && strcmp(name, tick.name) == 0 && (watcher = watcher_of_thread())) {
        ranges.counted = 1;
        ranges.domain = domain;
        watcher_push(watcher);
    }
    return ranges.depth - 1;
}

static int pop_of_domain(void *domain)
{
    struct watcher *watcher;
    if (ranges.depth == 0)
        return -1;
    if (ranges.counted && ranges.domain == domain && --ranges.counted == 0 &&
        (watcher = watcher_of_thread()))
        watcher_pop(watcher);
    return --ranges.depth;
}

static int push_of_domain(void *domain, const struct attributes *attributes)
{
    bool text = attributes->message_type == MESSAGE_ASCII ||
                attributes->message_type == MESSAGE_REGISTERED;
    return push_in(domain, text ? attributes->message : NULL);
}

static int push(const char *name)
{
    return push_in(NULL, name);
}

static int push_attributes(const struct attributes *attributes)
{
    return push_of_domain(NULL, attributes);
}

static int pop(void)
{
    return pop_of_domain(NULL);
}

/* Stands for the text from then on, and is never given back. */
static const char *register_string(void *domain, const char *text)
{
    (void)domain;
    return strdup(text);
}

static void set(function **table, unsigned count, unsigned number, function ours)
{
    if (number < count && table[number])
        *table[number] = ours;
}

/* NVTX's own signature. 1: it went well. */
EXPORT int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t number));
int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t number))
{
    const char *text = getenv(OBSERVER_TICK_VARIABLE);
    const struct callbacks *callbacks = get_export_table(TABLE_OF_CALLBACKS);
    function **table = NULL;
    unsigned count = 0;
    if (!text || !tick_parse(text, &tick) || tick.kind != TICK_NVTX || !watcher_open(&tick, 0, 0) ||
        !callbacks || callbacks->bytes < sizeof *callbacks)
        return 1;
    if (callbacks->get_table(MODULE_CORE, &table, &count)) {
        set(table, count, CORE_PUSH, (function)push);
        set(table, count, CORE_PUSH_EX, (function)push_attributes);
        set(table, count, CORE_POP, (function)pop);
    }
    if (callbacks->get_table(MODULE_CORE2, &table, &count)) {
        set(table, count, DOMAIN_PUSH_EX, (function)push_of_domain);
        set(table, count, DOMAIN_POP, (function)pop_of_domain);
        set(table, count, DOMAIN_REGISTER_STRING, (function)register_string);
    }
    return 1;
}
