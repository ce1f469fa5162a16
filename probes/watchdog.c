#include "probes/watchdog.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

struct probe_watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t at_ns; /* 0: not armed */
    bool fired, quit;
    void (*release)(void *argument);
    void *argument;
    struct probe_watchdog *next;
};

/* All that live. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct probe_watchdog *list;

void probe_watchdogs_release(void)
{
    pthread_mutex_lock(&list_lock);
    for (struct probe_watchdog *each = list; each; each = each->next)
        each->release(each->argument);
    pthread_mutex_unlock(&list_lock);
}

static void *watch(void *argument)
{
    struct probe_watchdog *watchdog = argument;
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->quit) {
        if (watchdog->at_ns == 0) {
            pthread_cond_wait(&watchdog->changed, &watchdog->lock);
        } else if (clock_now_ns() >= watchdog->at_ns) {
            watchdog->at_ns = 0;
            watchdog->fired = true;
            watchdog->release(watchdog->argument);
        } else {
            const struct timespec until = clock_timespec(watchdog->at_ns);
            pthread_cond_timedwait(&watchdog->changed, &watchdog->lock, &until);
        }
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

enum status probe_watchdog_new(void (*release)(void *argument), void *argument,
                               struct probe_watchdog **out)
{
    pthread_condattr_t attributes;
    struct probe_watchdog *watchdog = calloc(1, sizeof *watchdog);
    if (!watchdog)
        return status_set(STATUS_MEMORY, "out of memory for a watchdog");
    watchdog->release = release;
    watchdog->argument = argument;
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watchdog->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    int error = pthread_create(&watchdog->thread, NULL, watch, watchdog);
    if (error) {
        free(watchdog);
        return status_set(STATUS_SYSTEM, "cannot start a watchdog: %s", strerror(error));
    }
    pthread_mutex_lock(&list_lock);
    watchdog->next = list;
    list = watchdog;
    pthread_mutex_unlock(&list_lock);
    *out = watchdog;
    return STATUS_OK;
}

void probe_watchdog_arm(struct probe_watchdog *watchdog, uint64_t at_ns)
{
    pthread_mutex_lock(&watchdog->lock);
    watchdog->at_ns = at_ns;
    watchdog->fired = false;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->lock);
}

bool probe_watchdog_disarm(struct probe_watchdog *watchdog)
{
    pthread_mutex_lock(&watchdog->lock);
    watchdog->at_ns = 0;
    bool fired = watchdog->fired;
    pthread_mutex_unlock(&watchdog->lock);
    return fired;
}

void probe_watchdog_free(struct probe_watchdog *watchdog)
{
    if (!watchdog)
        return;
    pthread_mutex_lock(&list_lock);
    struct probe_watchdog **at = &list;
    while (*at != watchdog)
        at = &(*at)->next;
    *at = watchdog->next;
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_lock(&watchdog->lock);
    watchdog->quit = true;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->lock);
    free(watchdog);
}
