/*
 * The record of a daemon that goes on after the command that started it: DIR/state, written whole
 * by rename. It names the guard and the daemon by number and start time, and the directory by
 * device and inode, so that nothing else can be taken for them.
 */
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/process.h"
#include "common/status.h"
#include "mps/control.h"

struct mps_state {
    struct process_identity guard, daemon;
    uint64_t directory_device, directory_inode;
    bool directory_was_there; /* the user's own, empty: it stays when the daemon has gone */
    char gpu[MPS_GPUS_TEXT];  /* UUIDs, with ',' between them; "": all */
    char started[32];         /* ISO 8601, UTC */
    char control_program[1024];
};

/* Writes DIR/state; directory is a descriptor of DIR, whose device and inode are filled in. */
enum status mps_state_write(int directory, const struct mps_state *state);

/* Reads DIR/state after checking DIR: it is not a link, belongs to this user, no other user may
 * enter, and it is the one that was recorded. STATUS_NOT_FOUND: no such record there. */
enum status mps_state_read(const char *path, struct mps_state *out);

/* Reads the text of a record, which need not end with NUL. STATUS_PROTOCOL: it is not a record, or
 * has another schema. Its content is not compared with any directory or process. */
enum status mps_state_parse(const char *text, size_t bytes, struct mps_state *out);
