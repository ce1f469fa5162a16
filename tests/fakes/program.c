/*
 * A program that mpsweep measures, and that misbehaves as MODE requests, in process 1 only (so that
 * others of the layout are well):
 *   program MODE
 * Where its threads have several streams, they poll them, and stream 1 is the one that misbehaves.
 * A pause is for ever; the test ends it. An iteration is a nap of NAP_MS milliseconds, of one
 * without; how late it ends is witnessed as a wait for the emulated GPU is (emul/model/lateness.h).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "emul/model/lateness.h"
#include "include/mpsweep/client.h"

static const char *mode = "";
static int process_number, nap_ms;

/* Layouts that this start has served. */
static _Atomic unsigned served;

static int is(const char *name)
{
    return process_number == 1 && strcmp(mode, name) == 0;
}

static int number(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

__attribute__((noreturn)) static void pause_for_ever(void)
{
    for (;;)
        pause();
}

static void nap(void)
{
    uint64_t began_ns = clock_now_ns(), until_ns = began_ns + (uint64_t)nap_ms * NS_PER_MS;
    clock_sleep_until(until_ns);
    lateness_note(began_ns, until_ns);
}

static void use_gpu(void)
{
    /* The functions of a driver, which no header declares here. */
    int (*init)(unsigned);
    int (*retain)(void **, int);
    void *context, *driver = dlopen(getenv("MPSWEEP_DRIVER"), RTLD_NOW);
    if (!driver)
        _exit(91);
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (init(0) != 0 || retain(&context, 0) != 0)
        _exit(92);
}

/* Starts a descendant without a waiting parent, in a session of its own. */
static void leave_grandchild(int stubborn)
{
    if (fork() != 0)
        return;
    if (fork() != 0)
        _exit(0);
    setsid();
    if (stubborn)
        signal(SIGTERM, SIG_IGN);
    pause_for_ever();
}

/* As what a shell starts: in its session, and it gets no signal at the end. */
static void leave_child(void)
{
    if (fork() != 0)
        return;
    signal(SIGTERM, SIG_IGN);
    pause_for_ever();
}

static void misbehave_within(struct mpsweep *worker, unsigned long done)
{
    if (served && is("crash-second"))
        raise(SIGKILL);
    if (done < 5)
        return;
    if (is("exit-running"))
        exit(4);
    if (is("crash-running"))
        raise(SIGKILL);
    if (is("hang"))
        pause_for_ever();
    /* Long after a warm-up of a few milliseconds. */
    if (is("stop") && done == 300)
        raise(SIGSTOP);
    if (is("wrong"))
        mpsweep_check(worker, 0, "answer 5 is not that of the reference");
}

static void go_on_for_ever(struct mpsweep *worker)
{
    for (;;) {
        mpsweep_begin(worker);
        nap();
        mpsweep_end(worker);
    }
}

/* After an iteration. Returns whether to go on. */
static int misbehave_between(int answer)
{
    if (is("outlived"))
        raise(SIGKILL);
    served += answer == MPSWEEP_LAYOUT_OVER;
    if (answer == MPSWEEP_LAYOUT_OVER && is("not-back"))
        pause_for_ever();
    return answer != MPSWEEP_LAYOUT_OVER || !is("leave");
}

/* Of three processes the last one crashes while it is held, when the first signals that the next
 * layout has begun, of which there is no end before. */
static void signal_crash(void)
{
    if (strcmp(mode, "crash-held") != 0 || process_number != 0 || served == 0)
        return;
    FILE *file = fopen("crash-now", "w");
    if (file)
        fclose(file);
    pause_for_ever();
}

static void *crash_when_signalled(void *argument)
{
    while (access("crash-now", F_OK) != 0)
        nap();
    raise(SIGKILL);
    return argument;
}

static int start_crash(void)
{
    pthread_t id;
    if (strcmp(mode, "crash-held") != 0 || process_number != 2)
        return 0;
    return pthread_create(&id, NULL, crash_when_signalled, NULL);
}

static void close_all(struct mpsweep **workers, int count)
{
    for (int i = 0; i < count; i++)
        mpsweep_close(workers[i]);
}

/* An iteration of each stream lasts a pass. */
static void *poll_streams(int thread, int streams)
{
    struct mpsweep *workers[256];
    int at_work[256] = {0}, answer = 1;
    unsigned long done = 0;
    int count = is("one-handle") ? 1 : streams;
    for (int i = 0; i < count; i++)
        workers[i] = mpsweep_open(thread * streams + i);
    for (int i = 0; i < count; i++) {
        mpsweep_ready(workers[i]);
        if (is("never-ready"))
            pause_for_ever();
    }
    if (is("one-handle"))
        mpsweep_begin(workers[0]);
    while (answer) {
        answer = 0;
        for (int i = 0; i < count; i++) {
            if (at_work[i] && !(i == 1 && is("stuck") && done > 5))
                mpsweep_end(workers[i]);
            else if (at_work[i])
                continue;
            at_work[i] = mpsweep_try_begin(workers[i]);
            answer |= at_work[i];
            at_work[i] = at_work[i] == MPSWEEP_GO_ON;
            if (i == 1 && at_work[i])
                misbehave_within(workers[i], done++);
        }
        nap();
    }
    if (is("stuck"))
        pause_for_ever();
    close_all(workers, count);
    return NULL;
}

static void *serve(void *argument)
{
    int thread = (int)(long)argument, streams = number("MPSWEEP_STREAMS", 1);
    if (streams > 1)
        return poll_streams(thread, streams);
    struct mpsweep *worker = mpsweep_open(is("twice") ? 0 : thread);
    unsigned long done = 0;
    if (is("never-ready"))
        pause_for_ever();
    mpsweep_ready(worker);
    if (is("never-tick"))
        pause_for_ever();
    if (is("close-early"))
        mpsweep_close(worker);
    if (is("close-early"))
        pause_for_ever();
    if (is("forked") && fork() < 0)
        exit(95);
    while (mpsweep_begin(worker)) {
        misbehave_within(worker, done++);
        signal_crash();
        nap();
        if (is("half"))
            continue;
        if (!misbehave_between(mpsweep_end_or_hold(worker)))
            break;
    }
    if (is("ignore-stop") || is("ignore-all"))
        go_on_for_ever(worker);
    if (is("idle-after-stop"))
        pause_for_ever();
    mpsweep_close(worker);
    return NULL;
}

static void misbehave_before(void)
{
    if (is("exit-0"))
        exit(0);
    if (is("exit-3")) {
        fputs("loading\n\n  the model is missing \xff\n\n", stderr);
        exit(3);
    }
    if (is("exit-unfinished")) {
        fputs("loading\rthe last line has no end", stderr);
        exit(3);
    }
    if (is("crash"))
        raise(SIGABRT);
    if (is("never-open"))
        pause_for_ever();
    if (is("ignore-all"))
        signal(SIGTERM, SIG_IGN);
    if (is("grandchild"))
        leave_grandchild(0);
    if (is("stubborn-grandchild"))
        leave_grandchild(1);
    if (is("child"))
        leave_child();
    if (is("garble"))
        for (int i = 0; i < 20000; i++)
            fprintf(i % 2 ? stdout : stderr, "garbage %d of a program that talks all the time\n",
                    i);
}

/* The one that serves is a child of the one that was started. */
static void serve_in_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        return;
    /* As shells do. */
    signal(SIGTERM, SIG_IGN);
    waitpid(child, &status, 0);
    if (is("outlived"))
        pause_for_ever();
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 90);
}

int main(int argc, char **argv)
{
    long threads = number("MPSWEEP_THREADS", 1);
    process_number = number("MPSWEEP_PROCESS", 1);
    nap_ms = number("NAP_MS", 1);
    if (argc > 1)
        mode = argv[1];
    misbehave_before();
    if (strcmp(mode, "in-child") == 0 || is("outlived"))
        serve_in_child();
    if (!is("no-gpu"))
        use_gpu();
    if (is("fewer"))
        threads--;
    if (is("more") || is("beyond"))
        threads++;
    pthread_t *ids = calloc((size_t)threads + 1, sizeof *ids);
    if (!ids || start_crash() != 0)
        return 93;
    for (long t = 0; t < threads; t++)
        if (pthread_create(&ids[t], NULL, serve,
                           (void *)(is("more") ? (long)MPSWEEP_NEXT_THREAD : t)) != 0)
            return 94;
    for (long t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
    free(ids);
    return is("status") ? 3 : 0;
}
