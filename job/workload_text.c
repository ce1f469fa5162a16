#include "job/workload_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define GIB (UINT64_C(1) << 30)
#define SIZE_MOST (1024 * GIB)
#define COUNT_MOST 100000
#define CYCLES_MOST UINT64_C(1000000000000)
#define HOST_NS_LEAST UINT64_C(1000)

/* A warp: what a kernel is without a word about its grid. */
#define DEFAULT_BLOCKS 1
#define DEFAULT_THREADS 32

#define WORDS_MOST 16
#define BLANKS " \t\r\n"

enum operand { OPERAND_NONE, OPERAND_SIZE, OPERAND_TIME, OPERAND_TURNS, OPERAND_TIMES };

static const struct word {
    const char *name;
    uint32_t kind; /* a kernel's is found out from its keys */
    enum operand operand;
    const char *example;
} words[] = {
    {"copy-in", STEP_COPY_IN, OPERAND_SIZE, "copy-in 4M"},
    {"copy-out", STEP_COPY_OUT, OPERAND_SIZE, "copy-out 1M"},
    {"device-copy", STEP_DEVICE_COPY, OPERAND_SIZE, "device-copy 8M"},
    {"kernel", STEP_COMPUTE, OPERAND_NONE, "kernel blocks=64 threads=256 duration=15us"},
    {"synchronize", STEP_SYNCHRONIZE, OPERAND_NONE, "synchronize"},
    {"think", STEP_THINK, OPERAND_TIME, "think 200us"},
    {"busy", STEP_BUSY, OPERAND_TIME, "busy 200us"},
    {"work", STEP_WORK, OPERAND_TURNS, "work 200000"},
    {"repeat", STEP_REPEAT, OPERAND_TIMES, "repeat 12"},
    {"end", STEP_END, OPERAND_NONE, "end"},
};
#define WORDS (sizeof words / sizeof words[0])
#define WORD_NAMES                                                                                 \
    "copy-in, copy-out, device-copy, kernel, synchronize, think, busy, work, repeat, end"

enum key {
    KEY_BLOCKS,
    KEY_THREADS,
    KEY_SHARED,
    KEY_COUNT,
    KEY_DURATION,
    KEY_CYCLES,
    KEY_BYTES,
    KEY_BOUND
};
#define KEYS 8
#define NO_KEY KEYS

static const struct {
    const char *name, *takes;
} keys[KEYS] = {
    [KEY_BLOCKS] = {"blocks", "a number from 1 to 1000000"},
    [KEY_THREADS] = {"threads", "a number from 1 to 1024"},
    [KEY_SHARED] = {"shared", "a size from 16 bytes to 227K, as in 48K"},
    [KEY_COUNT] = {"count", "a number from 1 to 100000"},
    [KEY_DURATION] = {"duration", "a time from 1us to 1s, as in 15us"},
    [KEY_CYCLES] = {"cycles", "a number from 1 to 1000000000000"},
    [KEY_BYTES] = {"bytes", "a size from 16 bytes to 1024G, as in 32M"},
    [KEY_BOUND] = {"bound", "compute, cache or memory"},
};

/* The values of the keys of a step. */
struct given {
    bool is[KEYS];
    uint64_t number[KEYS];
};

enum status workload_begin(const char *name, struct workload *out)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length = strlen(name);
    if (length == 0)
        return status_set(STATUS_USAGE, "a workload needs a name: [workload NAME]");
    if (length >= WORKLOAD_NAME_BYTES || name[strspn(name, allowed)])
        return status_set(
            STATUS_USAGE,
            "'%.64s' is not a name for a workload: it takes up to %d letters, digits, "
            "'-' and '_'",
            name, WORKLOAD_NAME_BYTES - 1);
    if (strcmp(name, "builtin") == 0 || strcmp(name, "delay") == 0)
        return status_set(STATUS_USAGE, "workload '%s' is built in: give yours another name", name);
    *out = (struct workload){0};
    memcpy(out->name, name, length + 1);
    return STATUS_OK;
}

static bool parse_whole(const char *text, size_t length, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits != length || digits > 18)
        return false;
    *out = strtoull(text, NULL, 10);
    return true;
}

static bool parse_number(const char *text, uint64_t most, uint64_t *out)
{
    uint64_t number;
    if (!parse_whole(text, strlen(text), &number) || number == 0 || number > most)
        return false;
    *out = number;
    return true;
}

/* Its multiple is for the caller to check: that is another mistake. */
static bool parse_size(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    unsigned shift;
    uint64_t number;
    if (!text_size_shift(text + digits, &shift) || shift > 30 ||
        !parse_whole(text, digits, &number) || number == 0 || number > SIZE_MOST >> shift)
        return false;
    *out = number << shift;
    return true;
}

static bool parse_time(const char *text, uint64_t least_ns, uint64_t most_ns, uint64_t *out)
{
    double ns;
    if (!text_time_ns(text, &ns) || ns + 0.5 < (double)least_ns ||
        ns + 0.5 >= (double)most_ns + 1.0)
        return false;
    *out = (uint64_t)(ns + 0.5);
    return true;
}

/* Reports a value that was refused, by what is wrong with its form, if that is known. */
static enum status bad_value(const char *text, const char *name, enum operand kind,
                             const char *takes)
{
    char fault[96];
    if (kind == OPERAND_SIZE && *text_size_fault(text, fault, sizeof fault))
        return status_set(STATUS_USAGE, "'%.64s' is not a value of %s: %s", text, name, fault);
    if (kind == OPERAND_TIME && *text && !text[strspn(text, "0123456789.")])
        return status_set(STATUS_USAGE, "'%.64s' has no unit: %s takes %s", text, name, takes);
    return status_set(STATUS_USAGE, "'%.64s' is not a value of %s: it takes %s", text, name, takes);
}

static enum status check_multiple(const char *text, uint64_t bytes)
{
    if (bytes % WORKLOAD_SIZE_MULTIPLE == 0)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' is not a multiple of %d bytes", text,
                      WORKLOAD_SIZE_MULTIPLE);
}

/* What users call a step. */
static const char *const meanings[][2] = {
    {"sync", "synchronize"}, {"wait", "synchronize"}, {"sleep", "think"}, {"h2d", "copy-in"},
    {"d2h", "copy-out"},     {"d2d", "device-copy"},  {"spin", "busy"},   {"launch", "kernel"},
    {"compute", "work"},     {"loop", "repeat"},
};

static enum status unknown_step(const char *name)
{
    const char *nearest = NULL;
    unsigned slips = UINT_MAX;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (text_is_meant(name, meanings[i][0], &slips))
            nearest = meanings[i][1];
    for (size_t i = 0; i < WORDS; i++)
        if (text_is_meant(name, words[i].name, &slips))
            nearest = words[i].name;
    if (nearest)
        return status_set(STATUS_USAGE, "unknown step '%.64s'; did you mean '%s'?", name, nearest);
    return status_set(STATUS_USAGE, "unknown step '%.64s'; there are " WORD_NAMES, name);
}

static enum status unknown_key(const char *name, const struct word *word)
{
    const char *nearest = NULL;
    unsigned slips = UINT_MAX;
    for (size_t i = 0; i < KEYS; i++)
        if (text_is_meant(name, keys[i].name, &slips))
            nearest = keys[i].name;
    return status_set(STATUS_USAGE, "unknown key '%.64s' of %s%s%s%s", name, word->name,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
}

static bool takes_key(const struct word *word, enum key key)
{
    if (word->kind == STEP_COMPUTE)
        return true;
    return key == KEY_COUNT && word->operand == OPERAND_SIZE;
}

static const struct {
    const char *name;
    enum step_kind kind;
} bounds[] = {{"compute", STEP_COMPUTE}, {"cache", STEP_CACHE}, {"memory", STEP_MEMORY}};
#define BOUNDS (sizeof bounds / sizeof bounds[0])

static bool parse_bound(const char *value, uint64_t *kind)
{
    for (size_t i = 0; i < BOUNDS; i++)
        if (strcmp(bounds[i].name, value) == 0) {
            *kind = bounds[i].kind;
            return true;
        }
    return false;
}

const char *workload_bound_name(uint32_t kind)
{
    for (size_t i = 0; i < BOUNDS; i++)
        if (bounds[i].kind == kind)
            return bounds[i].name;
    return "";
}

static enum status parse_key(const struct word *word, char *text, struct given *given)
{
    char *value = strchr(text, '=');
    if (value)
        *value++ = '\0';
    enum key key = 0;
    while (key < KEYS && strcmp(keys[key].name, text) != 0)
        key++;
    if (key == NO_KEY && !value)
        return status_set(STATUS_USAGE,
                          "'%.64s' after '%s' is not a key=value; an example: step = %s", text,
                          word->name, word->example);
    if (key == NO_KEY)
        return unknown_key(text, word);
    if (!takes_key(word, key))
        return status_set(STATUS_USAGE, "a step '%s' takes no %s", word->name, text);
    if (!value || !*value)
        return status_set(STATUS_USAGE, "'%s' needs a value: %s", text, keys[key].takes);
    if (given->is[key])
        return status_set(STATUS_USAGE, "'%s' is given twice in one step", text);
    given->is[key] = true;
    uint64_t *number = &given->number[key];
    static const uint64_t most[KEYS] = {
        [KEY_BLOCKS] = WORKLOAD_BLOCKS_MOST,
        [KEY_THREADS] = WORKLOAD_THREADS_MOST,
        [KEY_COUNT] = COUNT_MOST,
        [KEY_CYCLES] = CYCLES_MOST,
    };
    bool valid;
    enum operand kind = OPERAND_NONE;
    if (key == KEY_BOUND) {
        valid = parse_bound(value, number);
    } else if (key == KEY_DURATION) {
        kind = OPERAND_TIME;
        valid = parse_time(value, WORKLOAD_KERNEL_NS_LEAST, WORKLOAD_KERNEL_NS_MOST, number);
    } else if (key == KEY_BYTES || key == KEY_SHARED) {
        kind = OPERAND_SIZE;
        valid = parse_size(value, number) && (key == KEY_BYTES || *number <= WORKLOAD_SHARED_MOST);
        if (valid)
            return check_multiple(value, *number);
    } else {
        valid = parse_number(value, most[key], number);
    }
    return valid ? STATUS_OK : bad_value(value, text, kind, keys[key].takes);
}

static enum status make_kernel(const struct given *given, struct workload_step *step)
{
    unsigned lengths = given->is[KEY_DURATION] + given->is[KEY_CYCLES] + given->is[KEY_BYTES];
    if (lengths != 1)
        return status_set(STATUS_USAGE, "a kernel takes %s of duration=, cycles= and bytes=",
                          lengths ? "only one" : "one");
    if (given->is[KEY_CYCLES] && given->is[KEY_BOUND])
        return status_set(STATUS_USAGE, "a kernel of cycles= is bound by the clock: leave bound= "
                                        "out");
    if (given->is[KEY_BYTES] && given->is[KEY_BOUND] && given->number[KEY_BOUND] != STEP_MEMORY)
        return status_set(
            STATUS_USAGE,
            "a kernel of bytes= is bound by memory: give duration= for one of bound=%s",
            workload_bound_name((uint32_t)given->number[KEY_BOUND]));
    step->blocks = given->is[KEY_BLOCKS] ? (uint32_t)given->number[KEY_BLOCKS] : DEFAULT_BLOCKS;
    step->threads = given->is[KEY_THREADS] ? (uint32_t)given->number[KEY_THREADS] : DEFAULT_THREADS;
    step->shared = (uint32_t)given->number[KEY_SHARED];
    step->kind = given->is[KEY_CYCLES]  ? STEP_CYCLES
                 : given->is[KEY_BYTES] ? STEP_MEMORY
                 : given->is[KEY_BOUND] ? (uint32_t)given->number[KEY_BOUND]
                                        : STEP_COMPUTE;
    if (given->is[KEY_DURATION])
        step->asked_ns = given->number[KEY_DURATION];
    else
        step->amount = given->number[given->is[KEY_CYCLES] ? KEY_CYCLES : KEY_BYTES];
    return STATUS_OK;
}

static enum status parse_operand(const struct word *word, const char *text,
                                 struct workload_step *step)
{
    static const char *const names[] = {
        [OPERAND_SIZE] = "size",
        [OPERAND_TIME] = "time",
        [OPERAND_TURNS] = "number",
        [OPERAND_TIMES] = "number",
    };
    static const char *const takes[] = {
        [OPERAND_TIME] = "a time from 1us to 10s, as in 200us",
        [OPERAND_TURNS] = "a number of turns, of about a nanosecond, from 1 to 10000000000",
        [OPERAND_TIMES] = "a number from 1 to 100000",
    };
    bool size = word->operand == OPERAND_SIZE, valid;
    if (!text || strchr(text, '='))
        return status_set(STATUS_USAGE, "'%s' needs a %s: step = %s", word->name,
                          names[word->operand], word->example);
    if (word->operand == OPERAND_TURNS || word->operand == OPERAND_TIMES)
        valid = parse_number(
            text, word->operand == OPERAND_TIMES ? COUNT_MOST : WORKLOAD_TURNS_MOST, &step->amount);
    else
        valid = size ? parse_size(text, &step->amount)
                     : parse_time(text, HOST_NS_LEAST, WORKLOAD_HOST_NS_MOST, &step->amount);
    if (!valid)
        return bad_value(text, word->name, word->operand,
                         size ? keys[KEY_BYTES].takes : takes[word->operand]);
    return size ? check_multiple(text, step->amount) : STATUS_OK;
}

/* Cuts a text into its words in place; a comment ends it. */
static enum status split(char *text, char *out[WORDS_MOST], unsigned *count)
{
    *count = 0;
    for (char *rest = text, *word; (word = strtok_r(rest, BLANKS, &rest)) && *word != '#';) {
        if (*count == WORDS_MOST)
            return status_set(STATUS_USAGE, "a step has at most %d words", WORDS_MOST);
        out[(*count)++] = word;
    }
    return STATUS_OK;
}

static enum status parse_step(char *const *text, unsigned count, struct workload_step *out)
{
    struct workload_step step = {.count = 1};
    struct given given = {0};
    const struct word *word = words;
    while (word < words + WORDS && strcmp(word->name, text[0]) != 0)
        word++;
    if (word == words + WORDS)
        return unknown_step(text[0]);
    enum status status = STATUS_OK;
    unsigned at = 1;
    step.kind = word->kind;
    if (word->operand != OPERAND_NONE)
        status = parse_operand(word, count > at ? text[at] : NULL, &step), at++;
    for (; at < count && status == STATUS_OK; at++)
        status = parse_key(word, text[at], &given);
    if (status == STATUS_OK && word->kind == STEP_COMPUTE)
        status = make_kernel(&given, &step);
    if (status != STATUS_OK)
        return status;
    if (given.is[KEY_COUNT])
        step.count = (uint32_t)given.number[KEY_COUNT];
    *out = step;
    return STATUS_OK;
}

/* Whether a mark fits behind the steps that are there. */
static enum status check_mark(const struct workload *workload, const struct workload_step *mark)
{
    unsigned depth = 0;
    for (unsigned i = 0; i < workload->count; i++) {
        depth += workload->steps[i].kind == STEP_REPEAT;
        depth -= workload->steps[i].kind == STEP_END;
    }
    if (mark->kind == STEP_REPEAT && depth == WORKLOAD_DEPTH)
        return status_set(STATUS_USAGE, "a 'repeat' stands in at most %d others",
                          WORKLOAD_DEPTH - 1);
    if (mark->kind == STEP_END && depth == 0)
        return status_set(STATUS_USAGE, "an 'end' without a 'repeat' before it");
    if (mark->kind == STEP_END && workload->steps[workload->count - 1].kind == STEP_REPEAT)
        return status_set(STATUS_USAGE, "a 'repeat' without steps before its 'end'");
    return STATUS_OK;
}

enum status workload_add_step(struct workload *workload, const char *text)
{
    struct workload_step *step = &workload->steps[workload->count];
    char *parts[WORDS_MOST];
    unsigned count;
    if (workload->count == WORKLOAD_STEPS)
        return status_set(STATUS_USAGE,
                          "a workload has at most %d steps: count=N repeats one, and a 'repeat' "
                          "several",
                          WORKLOAD_STEPS);
    char *copy = strdup(text);
    if (!copy)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = split(copy, parts, &count);
    if (status == STATUS_OK && count == 0)
        status = status_set(STATUS_USAGE, "a step needs a word: " WORD_NAMES);
    if (status == STATUS_OK)
        status = parse_step(parts, count, step);
    free(copy);
    if (status == STATUS_OK && workload_step_is_mark(step))
        status = check_mark(workload, step);
    if (status == STATUS_OK)
        workload->count++;
    return status;
}

enum status workload_set_check(struct workload *workload, const char *text)
{
    size_t length = strcspn(text, BLANKS "#");
    const char *rest = text + length + strspn(text + length, BLANKS);
    bool yes = length == 3 && strncmp(text, "yes", 3) == 0;
    bool no = length == 2 && strncmp(text, "no", 2) == 0;
    if ((!yes && !no) || (*rest && *rest != '#'))
        return status_set(STATUS_USAGE, "'%.64s' is not a value of check: it takes yes or no",
                          text);
    workload->check = yes ? WORKLOAD_CHECK_YES : WORKLOAD_CHECK_NO;
    return STATUS_OK;
}

enum status workload_end(const struct workload *workload)
{
    bool has_work = false;
    unsigned depth = 0;
    uint64_t unrolled = 0, calls = 0, times[WORKLOAD_DEPTH + 1] = {1};
    for (unsigned i = 0; i < workload->count; i++) {
        const struct workload_step *step = &workload->steps[i];
        has_work |= !workload_step_is_host(step);
        if (step->kind == STEP_REPEAT) {
            times[depth + 1] = times[depth] * step->amount;
            /* Of more, the rest makes no difference, and might be too much for a number. */
            if (times[++depth] > WORKLOAD_UNROLLED_MOST)
                times[depth] = WORKLOAD_UNROLLED_MOST + 1;
        } else if (step->kind == STEP_END) {
            depth--;
        } else {
            unrolled += times[depth];
            calls += times[depth] * step->count;
        }
    }
    if (workload->count == 0)
        return status_set(STATUS_USAGE, "workload '%s' has no steps: step = %s", workload->name,
                          words[0].example);
    if (!has_work)
        return status_set(STATUS_USAGE,
                          "workload '%s' leaves the GPU without work: give it a copy or a kernel",
                          workload->name);
    if (depth > 0)
        return status_set(STATUS_USAGE, "workload '%s' has a 'repeat' without an 'end'",
                          workload->name);
    if (unrolled > WORKLOAD_UNROLLED_MOST)
        return status_set(STATUS_USAGE,
                          "an iteration of workload '%s' goes through more than %d steps, all "
                          "repeats unrolled",
                          workload->name, WORKLOAD_UNROLLED_MOST);
    if (calls > WORKLOAD_CALLS_MOST)
        return status_set(STATUS_USAGE,
                          "an iteration of workload '%s' has more than %d kernels and copies, all "
                          "counts and repeats together",
                          workload->name, WORKLOAD_CALLS_MOST);
    if (workload->check == WORKLOAD_CHECK_YES &&
        !workload_can_check(workload->steps, workload->count))
        return status_set(STATUS_USAGE,
                          "workload '%s' has nothing to check: that takes a copy-in and, after it, "
                          "a copy-out",
                          workload->name);
    return STATUS_OK;
}

static const char *size_text(uint64_t bytes, char out[32])
{
    static const char units[] = "GMK";
    for (unsigned i = 0; i < 3; i++) {
        unsigned shift = 30 - 10 * i;
        if (bytes >> shift && bytes % (UINT64_C(1) << shift) == 0) {
            snprintf(out, 32, "%llu%c", (unsigned long long)(bytes >> shift), units[i]);
            return out;
        }
    }
    snprintf(out, 32, "%llu", (unsigned long long)bytes);
    return out;
}

static const char *time_text(uint64_t ns, char out[32])
{
    if (ns >= 1000000)
        snprintf(out, 32, "%.10gms", (double)ns / 1e6);
    else
        snprintf(out, 32, "%.10gus", (double)ns / 1e3);
    return out;
}

const char *workload_step_text(const struct workload_step *step, char out[WORKLOAD_STEP_TEXT])
{
    struct text text = {.at = out, .size = WORKLOAD_STEP_TEXT};
    char number[32];
    const struct word *word = words;
    if (workload_step_is_kernel(step)) {
        text_append(&text, "kernel blocks=%u threads=%u", step->blocks, step->threads);
        if (step->shared)
            text_append(&text, " shared=%s", size_text(step->shared, number));
        if (step->asked_ns)
            text_append(&text, " duration=%s", time_text(step->asked_ns, number));
        else if (step->kind == STEP_CYCLES)
            text_append(&text, " cycles=%llu", (unsigned long long)step->amount);
        else
            text_append(&text, " bytes=%s", size_text(step->amount, number));
        if (step->asked_ns && step->kind != STEP_COMPUTE)
            text_append(&text, " bound=%s", workload_bound_name(step->kind));
    } else {
        while (word < words + WORDS - 1 && word->kind != step->kind)
            word++;
        text_append(&text, "%s", word->name);
        if (word->operand == OPERAND_SIZE)
            text_append(&text, " %s", size_text(step->amount, number));
        if (word->operand == OPERAND_TIME)
            text_append(&text, " %s", time_text(step->amount, number));
        if (word->operand == OPERAND_TURNS || word->operand == OPERAND_TIMES)
            text_append(&text, " %llu", (unsigned long long)step->amount);
    }
    if (step->count > 1)
        text_append(&text, " count=%u", step->count);
    return out;
}
