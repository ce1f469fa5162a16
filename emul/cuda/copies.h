/*
 * Moving the bytes of copies, and which copies are under way in this process: what other threads'
 * calls find in their way.
 *
 * A pageable copy is under way while its call lasts. A pinned one is from its issue until its end,
 * and belongs to the thread that issued it.
 */
#pragma once

#include "emul/cuda/process.h"

/* Moves the bytes now, after checking the device's side. */
cuda_result copy_run(const struct copy_call *copy, bool corrupt);

/* A pageable copy in its call; its memory is the caller's until it has ended. */
struct copy_under_way {
    uint64_t number; /* they are counted */
    bool to_host;
    bool holds_launches;
    struct copy_under_way *next;
};

void copies_begin(struct copy_under_way *copy, enum model_direction direction);
void copies_end(struct copy_under_way *copy);

/* A pinned copy that ends then. */
void copies_note_pinned(enum model_direction direction, uint64_t end_ns);

/* Has all launches of the process wait until the copy lets them go on, or has ended. */
void copies_hold_launches(struct copy_under_way *copy);
void copies_free_launches(struct copy_under_way *copy);
void copies_wait_launch(void);

/* What another thread copies to the host just now. */
enum copies_beside { COPIES_NONE, COPIES_PINNED, COPIES_PAGEABLE };
enum copies_beside copies_beside(void);

/* Waits for the end of all copies that other threads have under way now. */
void copies_wait_others(void);
