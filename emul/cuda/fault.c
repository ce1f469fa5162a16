#include "emul/cuda/fault.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define HOLD_LOOK_NS (10 * NS_PER_MS)

#define ENTRY_NAME(field, symbol, version, need, parameters) #symbol,
static const char *const entry_names[ENTRY_COUNT] = {CUDA_DRIVER_SYMBOLS(ENTRY_NAME)};

static const struct {
    const char *name;
    enum fault_action action;
    bool takes_number;
} actions[] = {
    {"crash", FAULT_CRASH, false}, {"hang", FAULT_HANG, false},       {"exit", FAULT_EXIT, true},
    {"error", FAULT_ERROR, true},  {"corrupt", FAULT_CORRUPT, false}, {"slow", FAULT_SLOW, true},
    {"skip", FAULT_SKIP, false},   {"fatal", FAULT_FATAL, true},      {"hold", FAULT_HOLD, false},
};

/* Digits and nothing else up to the end of text. */
static bool parse_number(const char *text, int *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    long value = strtol(text, &end, 10);
    if (*end != '\0' || value > INT_MAX)
        return false;
    *number = (int)value;
    return true;
}

static bool parse_entry(const char *name, enum entry *entry)
{
    if (strcmp(name, "attach") == 0) {
        *entry = ENTRY_COUNT;
        return true;
    }
    for (int i = 0; i < ENTRY_COUNT; i++) {
        size_t length = strlen(entry_names[i]);
        if (length > 3 && strcmp(entry_names[i] + length - 3, "_v2") == 0)
            length -= 3;
        if (strlen(name) == length && strncmp(name, entry_names[i], length) == 0) {
            *entry = (enum entry)i;
            return true;
        }
    }
    return false;
}

static bool parse_nth(char *text, struct fault *fault)
{
    size_t length = strlen(text);
    int nth;
    if (length > 0 && text[length - 1] == '+') {
        fault->onwards = true;
        text[length - 1] = '\0';
    }
    if (!parse_number(text, &nth) || nth < 1)
        return false;
    fault->nth = (uint32_t)nth;
    return true;
}

static bool parse_action(char *text, struct fault *fault)
{
    char *number = strchr(text, ':');
    if (number != NULL)
        *number++ = '\0';
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(text, actions[i].name) == 0) {
            fault->action = actions[i].action;
            if (actions[i].takes_number)
                return number != NULL && parse_number(number, &fault->argument);
            return number == NULL;
        }
    return false;
}

/* Whether a call may bring home what went wrong on the GPU. */
static bool needs_gpu(enum entry entry)
{
    switch (entry) {
    case ENTRY_launch_kernel:
    case ENTRY_graph_launch:
    case ENTRY_memcpy_htod_async:
    case ENTRY_memcpy_dtoh_async:
    case ENTRY_memcpy_dtod_async:
    case ENTRY_stream_synchronize:
    case ENTRY_ctx_synchronize:
        return true;
    default:
        return false;
    }
}

/* Not every action has a meaning everywhere. */
static bool is_sensible(const struct fault *fault)
{
    if (fault->entry == ENTRY_COUNT || fault->action == FAULT_SKIP)
        return fault->entry == ENTRY_COUNT && fault->action == FAULT_SKIP;
    if (fault->action == FAULT_FATAL)
        return fault->argument > 0 && needs_gpu(fault->entry);
    if (fault->action == FAULT_CORRUPT)
        return fault->entry == ENTRY_memcpy_htod_async || fault->entry == ENTRY_memcpy_dtoh_async ||
               fault->entry == ENTRY_graph_launch || fault->entry == ENTRY_resource_split;
    return true;
}

/* Cuts item into its parts in place; NULL where a part is absent. */
static bool parse_item(char *item, const char **process, struct fault *fault)
{
    *fault = (struct fault){.nth = 1};
    char *action = strchr(item, '=');
    if (action == NULL)
        return false;
    *action++ = '\0';
    char *at = strchr(action, '@');
    if (at != NULL)
        *at++ = '\0';
    char *nth = strchr(item, '#');
    if (nth != NULL)
        *nth++ = '\0';
    int ignored;
    if (at != NULL && !parse_number(at, &ignored))
        return false;
    *process = at;
    return parse_entry(item, &fault->entry) && (nth == NULL || parse_nth(nth, fault)) &&
           parse_action(action, fault) && is_sensible(fault);
}

enum status fault_plan_parse(const char *text, const char *process, struct fault_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    while (text != NULL && *text != '\0') {
        char item[128];
        size_t length = strcspn(text, ",");
        const char *only;
        struct fault fault;
        if (length >= sizeof item)
            return status_set(STATUS_USAGE, "fault '%.40s...' is too long", text);
        memcpy(item, text, length);
        item[length] = '\0';
        if (!parse_item(item, &only, &fault))
            return status_set(STATUS_USAGE, "cannot understand the fault '%.*s'", (int)length,
                              text);
        bool ours = only == NULL || (process != NULL && strcmp(only, process) == 0);
        if (ours && plan->count == FAULT_MAX)
            return status_set(STATUS_USAGE, "more than %d faults", FAULT_MAX);
        if (ours)
            plan->faults[plan->count++] = fault;
        text += length;
        text += *text == ',';
    }
    return STATUS_OK;
}

bool fault_plan_skips_attach(const struct fault_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->faults[i].action == FAULT_SKIP)
            return true;
    return false;
}

static _Noreturn void crash(void)
{
    sigset_t set;
    signal(SIGSEGV, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGSEGV);
    abort();
}

static _Noreturn void hang(void)
{
    for (;;)
        pause();
}

void fault_hold(void)
{
    const char *path = getenv(FAULT_HOLD_VARIABLE);
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    close(fd);
    while (access(path, F_OK) == 0)
        clock_sleep_until(clock_now_ns() + HOLD_LOOK_NS);
}

struct fault_effect fault_plan_apply(struct fault_plan *plan, enum entry entry)
{
    struct fault_effect effect = {0};
    if (plan->count == 0)
        return effect;
    uint32_t call = atomic_fetch_add(&plan->calls[entry], 1) + 1;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct fault *fault = &plan->faults[i];
        if (fault->entry != entry || (fault->onwards ? call < fault->nth : call != fault->nth))
            continue;
        switch (fault->action) {
        case FAULT_CRASH:
            crash();
        case FAULT_HANG:
            hang();
        case FAULT_EXIT:
            _exit(fault->argument);
        case FAULT_ERROR:
        case FAULT_FATAL:
            effect.error = fault->argument;
            effect.fatal = fault->action == FAULT_FATAL;
            break;
        case FAULT_CORRUPT:
            effect.corrupt = true;
            break;
        case FAULT_SLOW:
            effect.slept_from_ns = clock_now_ns();
            effect.slept_until_ns = effect.slept_from_ns + (uint64_t)fault->argument * NS_PER_MS;
            clock_sleep_until(effect.slept_until_ns);
            break;
        case FAULT_HOLD:
            fault_hold();
            break;
        case FAULT_SKIP:
            break;
        }
    }
    return effect;
}
