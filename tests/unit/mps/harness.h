/*
 * For tests of the MPS library: a place of the test's own in which nothing may be left, control
 * programs that follow a script, and controllers of the programs that were built.
 *
 * mps_begin and mps_end are cmocka's set-up and tear-down of a test. Each function ends the test
 * that calls it where it cannot do its work.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mps/controller.h"
#include "mps/directory.h"

/* The directory of the running test, which is also $TMPDIR; no other is looked at but /tmp and what
 * follows it. */
extern char mps_base[32];

int mps_begin(void **state);
/* Fails if anything is left in the base but the scripted program and its orders. */
int mps_end(void **state);

/* BASE/NAME; good until the eighth call after this one. */
const char *mps_path(const char *name);

/* -- files ------------------------------------------------------------------------------------- */

void mps_write_file(const char *path, const char *text);
bool mps_is_there(const char *path);
/* How many entries a directory has, besides "." and "..". */
size_t mps_entries(const char *path);
/* Waits until the process, which need not be a child, has ended. */
void mps_await_end(pid_t pid);

/* -- private directories ----------------------------------------------------------------------- */

/* In the base: an empty file, and a directory. */
void mps_touch(const char *name);
void mps_make_directory(const char *name, mode_t mode);

/* It is complete, no other user may enter, and no program gets its descriptors. */
void mps_assert_private(const struct mps_directory *directory);

/* As when its owner was killed. */
void mps_abandon(struct mps_directory *directory);

/* -- a scripted control program ---------------------------------------------------------------- */

/* What it does on one command: lines of sh, of which the output is the answer. */
struct mps_answer {
    const char *command; /* a pattern of sh's */
    const char *action;
};

/* Writes the program BASE/control, returns its path. As a daemon (-f) it runs daemon_action. Each
 * command is noted; without a row for it, it is answered by silence. The last row has no command.
 */
const char *mps_script(const char *daemon_action, const struct mps_answer *answers);

/* The commands it got since the last call, a line each; cut at 2047 bytes. */
const char *mps_orders(void);

/* -- controllers ------------------------------------------------------------------------------- */

/* With the control program at an absolute path, or one that was built; directory as in the options.
 */
struct mps_controller *mps_start_controller(const char *control, const char *directory);

#define MPS_EMULATED "mpsweep-emulated-mps-control"

/* Where an error is not expected. */
#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        enum status status_ = (call);                                                              \
        if (status_ != STATUS_OK)                                                                  \
            fail_msg("%s: status %d: %s", #call, (int)status_, status_text());                     \
    } while (0)

/* Where one is, with a part of its text. */
#define ASSERT_ERROR(call, code, part)                                                             \
    do {                                                                                           \
        enum status status_ = (call);                                                              \
        if (status_ != (code))                                                                     \
            fail_msg("%s: status %d, not %d: %s", #call, (int)status_, (int)(code),                \
                     status_ == STATUS_OK ? "" : status_text());                                   \
        if (!strstr(status_text(), part))                                                          \
            fail_msg("%s: '%s' does not contain '%s'", #call, status_text(), part);                \
    } while (0)
