/*
 * A plug-in that misbehaves as its options request: words separated by blanks,
 *
 *     WHERE:WHAT[#N][@P][&S]   at the N-th call (default: every one) in process P (default: any)
 *                              for stream S of its thread (default: any)
 *     WHERE  describe init iterate completed check fini
 *     WHAT   error (with a reason), silent (without), oom (out of GPU memory), crash, hang, exit,
 *            log, and for init only leak-device, leak-host (64 MiB and 32 MiB an instance)
 *     graph threads streams   it is graph-safe, thread-safe, stream-safe
 *     more=N          completed enqueues the copy out N times more
 *     name=TEXT       of describe; bits=N: further capabilities
 *
 * FAULTY_AT_LOAD in the environment: crash, hang, exit or print when the file is loaded.
 * FAULTY_LOG: a file that gets a line for each call but iterate and check.
 *
 * Its work is a copy to the GPU and back, through the driver that mpsweep uses.
 */
#include <fcntl.h>
#include "include/mpsweep/workload.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 4096
#define LEAK_DEVICE (64u << 20)
#define LEAK_HOST (32u << 20)

struct instance {
    const struct mpsweep_worker *worker;
    unsigned calls[3]; /* of iterate, check and completed */
    int more;          /* times that the iteration goes on */
    int (*alloc)(unsigned long long *memory, size_t bytes);
    int (*release)(unsigned long long memory);
    int (*copy_in)(unsigned long long to, const void *from, size_t bytes, void *stream);
    int (*copy_out)(void *to, unsigned long long from, size_t bytes, void *stream);
    unsigned long long on_gpu;
    char in[BYTES], out[BYTES];
};

static void note(const char *what)
{
    const char *path = getenv("FAULTY_LOG");
    char line[64];
    if (!path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int length = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), what);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

static void do_it(const char *what)
{
    if (strcmp(what, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else if (strcmp(what, "exit") == 0) {
        exit(0);
    } else if (strcmp(what, "hang") == 0) {
        for (;;)
            pause();
    }
}

__attribute__((constructor)) static void at_load(void)
{
    const char *what = getenv("FAULTY_AT_LOAD");
    if (what && strcmp(what, "print") == 0) {
        puts("a plug-in that prints");
        fflush(stdout);
    } else if (what) {
        do_it(what);
    }
}

/* Whether a word has no number behind that letter, or this one. */
static int is_meant(const char *word, char letter, unsigned number)
{
    const char *at = strchr(word, letter);
    return !at || (unsigned)atoi(at + 1) == number;
}

/* What the options want at this call, or "". */
static const char *wanted(const char *options, const char *where, unsigned call, unsigned process,
                          unsigned stream, char what[32])
{
    char text[512];
    char *rest = NULL;
    snprintf(text, sizeof text, "%s", options);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t length = strlen(where);
        if (strncmp(word, where, length) != 0 || word[length] != ':')
            continue;
        if (!is_meant(word, '#', call) || !is_meant(word, '@', process) ||
            !is_meant(word, '&', stream))
            continue;
        snprintf(what, 32, "%.*s", (int)strcspn(word + length + 1, "#@&"), word + length + 1);
        return what;
    }
    return "";
}

static int has_word(const char *options, const char *word)
{
    const char *at = strstr(options, word);
    return at && (at == options || at[-1] == ' ');
}

/* Returns what a callback returns, after doing what the options request. */
static int misbehave(const struct mpsweep_worker *worker, const char *where, unsigned call)
{
    char text[32];
    const char *what = wanted(worker->options, where, call, worker->process, worker->index, text);
    do_it(what);
    if (strcmp(what, "log") == 0)
        worker->host->log(worker, "in %s", where);
    if (strcmp(what, "error") == 0)
        return worker->host->fail(worker, 0, "asked to fail in %s %d", where, 42);
    if (strcmp(what, "oom") == 0)
        return worker->host->fail(worker, 2, "asked to have no memory in %s", where);
    return strcmp(what, "silent") == 0 ? 7 : 0;
}

static int describe(const char *options, struct mpsweep_description *out)
{
    static char name[256];
    char text[32];
    const char *what = wanted(options, "describe", 1, 0, 0, text);
    const char *given = strstr(options, "name=");
    note("describe");
    do_it(what);
    snprintf(name, sizeof name, "%s", given ? given + 5 : "faulty");
    out->name = name;
    out->version = "0.1";
    out->capabilities = MPSWEEP_WORKLOAD_CHECKS;
    if (has_word(options, "graph"))
        out->capabilities |= MPSWEEP_WORKLOAD_GRAPH_SAFE;
    if (has_word(options, "threads"))
        out->capabilities |= MPSWEEP_WORKLOAD_THREAD_SAFE;
    if (has_word(options, "streams"))
        out->capabilities |= MPSWEEP_WORKLOAD_STREAM_SAFE;
    if (strstr(options, "bits="))
        out->capabilities |= (unsigned)atoi(strstr(options, "bits=") + 5);
    if (strcmp(what, "error") == 0)
        out->error = "asked to refuse its options";
    return strcmp(what, "error") == 0 || strcmp(what, "silent") == 0 ? 7 : 0;
}

static int find(struct instance *mine, void *function, const char *name)
{
    void *symbol = mine->worker->host->cuda_symbol(mine->worker, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol ? 0 : mine->worker->host->fail(mine->worker, 0, "no %s", name);
}

static int leak(struct instance *mine)
{
    char text[32];
    const char *what =
        wanted(mine->worker->options, "init", 1, mine->worker->process, mine->worker->index, text);
    unsigned long long lost;
    if (strcmp(what, "leak-device") == 0 && mine->alloc(&lost, LEAK_DEVICE) != 0)
        return mine->worker->host->fail(mine->worker, 0, "cannot leak");
    if (strcmp(what, "leak-host") == 0) {
        /* Not by malloc: what else looks for leaks would end the process. */
        void *memory =
            mmap(NULL, LEAK_HOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 1;
        /* In few pages: an init that takes long is not repeated to make sure of its leak. */
        madvise(memory, LEAK_HOST, MADV_HUGEPAGE);
        memset(memory, 1, LEAK_HOST);
    }
    return 0;
}

static int init(const struct mpsweep_worker *worker, void **instance)
{
    struct instance *mine = calloc(1, sizeof *mine);
    note("init");
    if (!mine)
        return 1;
    mine->worker = worker;
    if (misbehave(worker, "init", 1) || find(mine, &mine->alloc, "cuMemAlloc_v2") ||
        find(mine, &mine->release, "cuMemFree_v2") ||
        find(mine, &mine->copy_in, "cuMemcpyHtoDAsync_v2") ||
        find(mine, &mine->copy_out, "cuMemcpyDtoHAsync_v2") || leak(mine) ||
        mine->alloc(&mine->on_gpu, BYTES) != 0) {
        free(mine);
        return 7;
    }
    memset(mine->in, 5 + (int)worker->index, BYTES);
    *instance = mine;
    return 0;
}

static int more_of(const char *options)
{
    const char *at = strstr(options, "more=");
    return at ? atoi(at + 5) : 0;
}

static int copy_out(struct instance *mine)
{
    memset(mine->out, 0, BYTES);
    return mine->copy_out(mine->out, mine->on_gpu, BYTES, mine->worker->stream);
}

static int iterate(void *instance)
{
    struct instance *mine = instance;
    int result = misbehave(mine->worker, "iterate", ++mine->calls[0]);
    mine->more = more_of(mine->worker->options);
    if (result != 0)
        return result;
    return mine->copy_in(mine->on_gpu, mine->in, BYTES, mine->worker->stream) || copy_out(mine);
}

static int completed(void *instance, int *more)
{
    struct instance *mine = instance;
    int result = misbehave(mine->worker, "completed", ++mine->calls[2]);
    if (result == 0 && memcmp(mine->in, mine->out, BYTES) != 0)
        result = mine->worker->host->fail(mine->worker, 0, "completed before it had");
    *more = mine->more-- > 0;
    return result == 0 && *more ? copy_out(mine) : result;
}

static int check(void *instance)
{
    struct instance *mine = instance;
    int result = misbehave(mine->worker, "check", ++mine->calls[1]);
    if (result == 0 && memcmp(mine->in, mine->out, BYTES) != 0)
        result = mine->worker->host->fail(mine->worker, 0, "what went in did not come out");
    if (result == 0 && mine->more >= 0)
        result = mine->worker->host->fail(mine->worker, 0, "checked before it was completed");
    memset(mine->out, 0, BYTES);
    return result;
}

static void fini(void *instance)
{
    struct instance *mine = instance;
    note("fini");
    misbehave(mine->worker, "fini", 1);
    mine->release(mine->on_gpu);
    free(mine);
}

const struct mpsweep_workload mpsweep_workload = {
    MPSWEEP_WORKLOAD_ABI,
    sizeof(struct mpsweep_workload),
    describe,
    init,
    iterate,
    check,
    fini,
    completed,
};
