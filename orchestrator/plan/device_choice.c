#include "orchestrator/plan/device_choice.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/text.h"

#define EMULATED "emulated"

/* nvidia-smi takes the beginning of a UUID, too; less than this could be meant for anything. */
#define LEAST_OF_UUID 8

static enum status add_word(const char *text, const char *word, size_t length,
                            struct device_choice *out)
{
    while (length > 0 && strchr(" \t", *word)) {
        word++;
        length--;
    }
    while (length > 0 && strchr(" \t", word[length - 1]))
        length--;
    if (length == 0)
        return status_set(STATUS_USAGE,
                          "device '%s' has an empty item: give numbers or UUIDs, as in 0,1,3",
                          text);
    if (strncasecmp(word, EMULATED, strlen(EMULATED)) == 0)
        return status_set(STATUS_USAGE,
                          "device '%s': emulated GPUs and real ones are not measured together; "
                          "several emulated ones are 'emulated:0,1'",
                          text);
    if (length == 3 && strncmp(word, "all", 3) == 0)
        return status_set(STATUS_USAGE, "device '%s': 'all' stands alone", text);
    if (out->count == DEVICE_LIST_MAX)
        return status_set(STATUS_USAGE, "device '%s' names more than %d GPUs", text,
                          DEVICE_LIST_MAX);
    if (length >= sizeof out->words[0])
        return status_set(STATUS_USAGE, "no device '%.*s': that is too long for a UUID",
                          (int)length, word);
    memcpy(out->words[out->count], word, length);
    out->words[out->count][length] = '\0';
    unsigned slips = UINT_MAX;
    if (text_is_meant(out->words[out->count], EMULATED, &slips) && slips > 0)
        return status_set(STATUS_USAGE,
                          "no device '%s': it takes a number, a UUID, 'all' or 'emulated'; did you "
                          "mean '%s'?",
                          out->words[out->count], EMULATED);
    for (unsigned i = 0; i < out->count; i++)
        if (strcasecmp(out->words[i], out->words[out->count]) == 0)
            return status_set(STATUS_USAGE, "device '%s' names GPU %s twice", text, out->words[i]);
    out->count++;
    return STATUS_OK;
}

enum status device_choice_parse(const char *text, struct device_choice *out)
{
    struct device_choice choice = {0};
    const char *at = text ? text : "";
    choice.emulated = strcmp(at, EMULATED) == 0 || strncmp(at, EMULATED ":", 9) == 0;
    if (choice.emulated)
        at += strlen(EMULATED);
    bool named = !choice.emulated ? *at != '\0' : *at == ':';
    if (choice.emulated && named)
        at++;
    choice.all = named && strcmp(at, "all") == 0;
    while (named && !choice.all) {
        size_t length = strcspn(at, ",");
        enum status status = add_word(text, at, length, &choice);
        if (status != STATUS_OK)
            return status;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    *out = choice;
    return STATUS_OK;
}

unsigned device_choice_count(const struct device_choice *choice)
{
    if (choice->all)
        return 0;
    return choice->count ? choice->count : 1;
}

/* A number, a UUID, or a UUID's beginning as nvidia-smi takes it. */
static enum status find_word(const struct device_list *list, const char *wanted, unsigned *out)
{
    char *end;
    unsigned long ordinal = strtoul(wanted, &end, 10);
    if (end != wanted && !*end) {
        if (ordinal < list->count) {
            *out = (unsigned)ordinal;
            return STATUS_OK;
        }
        if (ordinal < list->visible)
            return status_set(STATUS_USAGE,
                              "no device %s: of the %u that the driver shows the first %u can be "
                              "used; CUDA_VISIBLE_DEVICES makes it one of them",
                              wanted, list->visible, list->count);
        return status_set(STATUS_USAGE, "no device %s: there %s %u, numbered from 0", wanted,
                          list->count == 1 ? "is" : "are",
                          list->visible > list->count ? list->visible : list->count);
    }
    const unsigned none = list->count;
    unsigned found = none;
    for (unsigned i = 0; i < list->count; i++) {
        if (strlen(wanted) < LEAST_OF_UUID ||
            strncasecmp(list->devices[i].uuid, wanted, strlen(wanted)) != 0)
            continue;
        if (found != none)
            return status_set(STATUS_USAGE,
                              "device '%s' may be GPU %s or %s: give more of the UUID", wanted,
                              list->devices[found].uuid, list->devices[i].uuid);
        found = i;
    }
    if (found != none) {
        *out = found;
        return STATUS_OK;
    }
    return status_set(STATUS_USAGE,
                      "no device '%s': it takes a number, a UUID as 'nvidia-smi -L' prints it, "
                      "several of them as in 0,1, 'all', or 'emulated'; device 0 is %s",
                      wanted, list->devices[0].uuid);
}

enum status device_choice_find(const struct device_choice *choice, const struct device_list *list,
                               unsigned *out, unsigned *count)
{
    if (choice->all && list->visible > list->count)
        return status_set(
            STATUS_USAGE,
            "'all' would be %u GPUs, and a run takes %u at most: name them, as in 0,1",
            list->visible, list->count);
    if (choice->all || choice->count == 0) {
        *count = choice->all ? list->count : 1;
        for (unsigned i = 0; i < *count; i++)
            out[i] = i;
        return STATUS_OK;
    }
    for (unsigned i = 0; i < choice->count; i++) {
        enum status status = find_word(list, choice->words[i], &out[i]);
        if (status != STATUS_OK)
            return status;
        for (unsigned j = 0; j < i; j++)
            if (out[j] == out[i])
                return status_set(STATUS_USAGE, "device '%s' and device '%s' are the same GPU, %s",
                                  choice->words[j], choice->words[i], list->devices[out[i]].uuid);
    }
    *count = choice->count;
    return STATUS_OK;
}

enum status device_choice_check_single(const char *text, const char *what)
{
    struct device_choice choice;
    enum status status = device_choice_parse(text, &choice);
    if (status == STATUS_OK && device_choice_count(&choice) != 1)
        return status_set(STATUS_USAGE,
                          "%s is about one GPU, and device '%s' may be several: give "
                          "its number or its UUID, one after the other, as in --device %s0",
                          what, text, choice.emulated ? "emulated:" : "");
    return status;
}
