/*
 * The GPUs of a run, as --device names them: numbers, UUIDs or their beginnings, "all", or the same
 * of the emulated machine. Pure functions; no driver is asked here.
 */
#pragma once

#include <stdbool.h>

#include "device/device.h"

struct device_choice {
    bool emulated;  /* GPUs of the emulated machine */
    bool all;       /* of it or of the real one */
    unsigned count; /* words; 0 with all, and where nothing is named: the first GPU */
    char words[DEVICE_LIST_MAX][64];
};

/* text: the option's value; NULL or "": nothing is named. STATUS_USAGE: an empty item, one that
 * has two meanings, or emulated GPUs beside real ones. */
enum status device_choice_parse(const char *text, struct device_choice *out);

/* How many GPUs that will be, without asking a driver; 0 where only it knows. */
unsigned device_choice_count(const struct device_choice *choice);

/* Finds the GPUs of the list that are meant: their places in it, in the order in which they are
 * named; out has room for DEVICE_LIST_MAX. STATUS_USAGE: no device has that name, or more than
 * one, or one is named twice. */
enum status device_choice_find(const struct device_choice *choice, const struct device_list *list,
                               unsigned *out, unsigned *count);

/* For what is about one GPU: STATUS_USAGE if the text names several, with what is about one at the
 * beginning of the error ("a trace"). */
enum status device_choice_check_single(const char *text, const char *what);
