/*
 * One call of a program fails, as a library to preload: MPSWEEP_FAIL=CALL#NTH@PROGRAM, as in
 * malloc#12@mpsweep-guard. Only calls from the program's own code count, and fail: what a library
 * does without memory is its own affair. MPSWEEP_FAILED names a file that is made when the call has
 * failed, so that a test knows whether there were as many.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static char call[32];
static long nth;
static _Atomic long calls;
static uintptr_t code_from, code_to; /* of the program */
static const char *noted;

static int find_program(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            code_from = info->dlpi_addr + part->p_vaddr;
            code_to = code_from + part->p_memsz;
        }
    }
    return 1; /* the first one is the program */
}

__attribute__((constructor)) static void start(void)
{
    const char *wanted = getenv("MPSWEEP_FAIL");
    char program[64] = "";
    if (!wanted || sscanf(wanted, "%31[^#]#%ld@%63s", call, &nth, program) != 3 ||
        strcmp(program, program_invocation_short_name) != 0) {
        call[0] = '\0';
        return;
    }
    noted = getenv("MPSWEEP_FAILED");
    dl_iterate_phdr(find_program, NULL);
}

static int fails(const char *name, const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (at < code_from || at >= code_to || strcmp(name, call) != 0 ||
        atomic_fetch_add(&calls, 1) + 1 != nth)
        return 0;
    if (noted)
        syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, noted, O_CREAT | O_WRONLY, 0600));
    return 1;
}

/* A call that gives back `failed`, with that errno. */
#define FAILING(type, name, parameters, words, failed, error)                                      \
    EXPORT type name parameters;                                                                   \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        /* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */                            \
        static type(*real) parameters;                                                             \
        if (fails(#name, __builtin_return_address(0))) {                                           \
            errno = error;                                                                         \
            return failed;                                                                         \
        }                                                                                          \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        return real words;                                                                         \
    }

/* Memory goes straight to the C library: dlsym() itself needs some. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
#define FAILING_MEMORY(name, parameters, words)                                                    \
    EXPORT void *name parameters;                                                                  \
    EXPORT void *name parameters                                                                   \
    {                                                                                              \
        if (fails(#name, __builtin_return_address(0))) {                                           \
            errno = ENOMEM;                                                                        \
            return NULL;                                                                           \
        }                                                                                          \
        return __libc_##name words;                                                                \
    }
FAILING_MEMORY(malloc, (size_t size), (size))
FAILING_MEMORY(calloc, (size_t count, size_t size), (count, size))
FAILING_MEMORY(realloc, (void *memory, size_t size), (memory, size))

struct json_t;
FAILING(char *, strdup, (const char *text), (text), NULL, ENOMEM)
FAILING(struct json_t *, json_object, (void), (), NULL, ENOMEM)
FAILING(struct json_t *, json_array, (void), (), NULL, ENOMEM)
FAILING(char *, json_dumps, (const struct json_t *json, size_t flags), (json, flags), NULL, ENOMEM)
FAILING(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
FAILING(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL, ENOMEM)
FAILING(pid_t, fork, (void), (), -1, EAGAIN)
FAILING(int, pipe2, (int fds[2], int flags), (fds, flags), -1, EMFILE)
FAILING(int, socketpair, (int domain, int type, int protocol, int fds[2]),
        (domain, type, protocol, fds), -1, EMFILE)
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE)
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
FAILING(int, eventfd, (unsigned value, int flags), (value, flags), -1, EMFILE)
FAILING(int, signalfd, (int fd, const void *signals, int flags), (fd, signals, flags), -1, EMFILE)
FAILING(int, ftruncate, (int fd, off_t length), (fd, length), -1, ENOSPC)
FAILING(int, fsync, (int fd), (fd), -1, EIO)
FAILING(int, flock, (int fd, int operation), (fd, operation), -1, EIO)
FAILING(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), -1, ENOSPC)
FAILING(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), -1, EIO)
FAILING(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
FAILING(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), -1, ENOSPC)
FAILING(int, renameat2, (int at, const char *from, int to_at, const char *to, unsigned flags),
        (at, from, to_at, to, flags), -1, EIO)
FAILING(int, linkat, (int at, const char *from, int to_at, const char *to, int flags),
        (at, from, to_at, to, flags), -1, ENOSPC)
FAILING(void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
        (at, size, protection, flags, fd, offset), (void *)-1, ENOMEM)
FAILING(int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *),
         void *argument),
        (thread, attributes, body, argument), EAGAIN, EAGAIN)

/* Of libcurl, where the program has it: CURLM_OUT_OF_MEMORY. */
FAILING(int, curl_multi_add_handle, (void *multi, void *easy), (multi, easy), 3, 0)
FAILING(int, curl_multi_perform, (void *multi, int *running), (multi, running), 3, 0)
FAILING(int, curl_multi_poll, (void *multi, void *fds, unsigned count, int timeout_ms, int *ready),
        (multi, fds, count, timeout_ms, ready), 3, 0)

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...);
EXPORT int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    if (fails("open", __builtin_return_address(0))) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int at, const char *path, int flags, ...);
EXPORT int openat(int at, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    if (fails("openat", __builtin_return_address(0))) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, at, path, flags, mode);
}
