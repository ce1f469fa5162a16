/*
 * The GPUs of a run, in the order in which the user named them. Every GPU goes by its number in
 * this order, from 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/plan/device_choice.h"

struct gpu_set {
    unsigned count;
    unsigned numbers[DEVICE_LIST_MAX]; /* of each, as --device takes it: its place in the list */
    struct device_list list;           /* all that the driver shows */
};

/* Chooses from gpus->list. STATUS_UNSUPPORTED: mpsweep cannot use one of them; otherwise as
 * device_choice_find(). */
enum status gpu_set_choose(struct gpu_set *gpus, const struct device_choice *choice);

/* GPU number gpu of the run, less than gpus->count. */
const struct device_info *gpu_at(const struct gpu_set *gpus, unsigned gpu);

/* The first GPU of the driver beside GPU 0; NULL if there is none. */
const struct device_info *gpu_beside(const struct gpu_set *gpus);

/* "GPU 1"; "GPU 1 = device 3" where --device has another number for it. Returns text. */
#define GPU_NAME_TEXT 48
const char *gpu_name(const struct gpu_set *gpus, unsigned gpu, char text[GPU_NAME_TEXT]);

/* Whether the GPUs of the run are of more than one model; then text lists them. */
bool gpu_models_differ(const struct gpu_set *gpus, char *text, size_t size);
