/*
 * For tests of the emulated driver: each body runs in a child process that loads the library
 * afresh, since the library reads its environment once and faults may end the process.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "device/cuda_abi.h"

#define BUILT_PATH_BYTES 4096
#define CHECK_FAILED 99

/* cmocka's own checks would go on with the tests of the parent. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(CHECK_FAILED);                                                                   \
        }                                                                                          \
    } while (0)

#define CHECK_EQUAL(actual, expected)                                                              \
    do {                                                                                           \
        long long actual_ = (long long)(actual), expected_ = (long long)(expected);                \
        if (actual_ != expected_) {                                                                \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #actual, actual_, \
                    expected_);                                                                    \
            _exit(CHECK_FAILED);                                                                   \
        }                                                                                          \
    } while (0)

struct emul_driver {
#define EMUL_DRIVER_MEMBER(field, symbol, version, need, parameters) cuda_result(*field) parameters;
    CUDA_DRIVER_SYMBOLS(EMUL_DRIVER_MEMBER)
};

/* Path of a built program or library. */
void built_path(const char *name, char path[BUILT_PATH_BYTES]);

/* In a child: loads the library. */
void emul_driver_load(struct emul_driver *driver);

/* In a child: loads, initialises and makes a context. */
void emul_driver_start(struct emul_driver *driver);

/* Runs body in a child with the environment variable set (NULL: none) and returns what waitpid()
 * reports about it. Hung children are ended by SIGALRM after a minute. */
int run_child(void (*body)(void), const char *variable, const char *value);

/* The same, but returns at once with the child's process ID. */
pid_t start_child(void (*body)(void), const char *variable, const char *value);
