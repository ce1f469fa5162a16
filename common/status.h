/*
 * Status codes and the text of the last error.
 *
 * Every fallible function returns enum status. The function that first knows of an error records
 * its text with status_set(); callers hand the code up untouched. Only the command line prints it,
 * once. The text is kept per thread, so worker threads do not overwrite each other's.
 */
#pragma once

#define STATUS_TEXT_BYTES 1024 /* the longest text with its end */

enum status {
    STATUS_OK = 0,
    STATUS_USAGE,       /* bad input: option, job file, results file */
    STATUS_SYSTEM,      /* an operating system call failed */
    STATUS_MEMORY,      /* out of host memory */
    STATUS_TIMEOUT,     /* a deadline passed */
    STATUS_PROTOCOL,    /* the other side answered something that we do not understand */
    STATUS_NOT_FOUND,   /* a program, library, device or file is missing */
    STATUS_UNSUPPORTED, /* present, but it cannot do what is needed */
    STATUS_INFEASIBLE,  /* the driver refuses this layout: too many clients, queues, memory */
    STATUS_CUDA,        /* a CUDA call failed */
    STATUS_WORKER,      /* a worker crashed, hung or computed a wrong result */
    STATUS_INTERRUPTED, /* SIGINT, SIGTERM or SIGHUP */
    STATUS_BUSY,        /* another process holds it */
};

/* Records the text of an error for this thread and gives code, so that a caller can write
 * `return status_set(STATUS_USAGE, "unknown layout '%s'", name)`. Text: lower case, subject quoted,
 * no full stop, no newline; cut to fit STATUS_TEXT_BYTES. A macro, so that static analysis sees the
 * code. */
#define status_set(code, ...) (status_record(__VA_ARGS__), (code))

/* Puts text in front of the recorded one: context that only a caller knows. Gives code. */
#define status_prefix(code, ...) (status_record_before(__VA_ARGS__), (code))

/* What the two macros call. */
void status_record(const char *format, ...) __attribute__((format(printf, 1, 2)));
void status_record_before(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The text recorded last in this thread, "" if none. Valid until the next status_set() here. */
const char *status_text(void);

/* Keeps code and the recorded text while clean-up may record errors of its own:
 * `status_save(status, &saved); close_all(); return status_restore(&saved);` */
struct status_saved {
    enum status code;
    char text[STATUS_TEXT_BYTES];
};

void status_save(enum status code, struct status_saved *out);

/* Records the kept text again, and gives the kept code. */
enum status status_restore(const struct status_saved *saved);
