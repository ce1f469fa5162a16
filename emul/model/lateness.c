#include "emul/model/lateness.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct lateness *lateness;
static _Thread_local uint64_t last_end_ns;

/* Reading how long the thread waited for a CPU takes microseconds, which is too long for each wait.
 */
#define WATCH_NS (5 * NS_PER_MS)
static _Thread_local struct thread_time watched;

/* A test that reads the file reports that it is missing. */
static void open_file(void)
{
    const char *folder = getenv(EMUL_LATENESS_VARIABLE);
    char path[4096];
    if (folder == NULL || *folder == '\0')
        return;
    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (ftruncate(fd, sizeof *lateness) == 0) {
        void *memory = mmap(NULL, sizeof *lateness, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED)
            lateness = memory;
    }
    close(fd);
}

static void watch(uint64_t now_ns)
{
    struct thread_time before = watched;
    if (now_ns - before.wall_ns < WATCH_NS)
        return;
    thread_time_read(&watched);
    if (before.wall_ns == 0)
        return;
    atomic_fetch_add(&lateness->watched_ns, watched.wall_ns - before.wall_ns);
    atomic_fetch_add(&lateness->unserved_ns, watched.delay_ns - before.delay_ns);
}

void lateness_note(uint64_t began_ns, uint64_t when_ns)
{
    pthread_once(&once, open_file);
    if (lateness == NULL)
        return;
    uint64_t now_ns = clock_now_ns();
    uint64_t planned_end_ns = when_ns > began_ns ? when_ns : began_ns;
    uint64_t late_ns = now_ns > planned_end_ns ? now_ns - planned_end_ns : 0;
    uint64_t planned_ns = planned_end_ns - began_ns;
    uint64_t longest_ns = atomic_load(&lateness->longest_ns);
    atomic_fetch_add(&lateness->waits, 1);
    atomic_fetch_add(&lateness->planned_ns, planned_ns);
    atomic_fetch_add(&lateness->late_ns, late_ns);
    atomic_fetch_add(&lateness->capped_ns, late_ns < planned_ns ? late_ns : planned_ns);
    while (late_ns > longest_ns &&
           !atomic_compare_exchange_weak(&lateness->longest_ns, &longest_ns, late_ns))
        ;
    if (last_end_ns != 0)
        atomic_fetch_add(&lateness->between_ns, began_ns - last_end_ns);
    watch(now_ns);
    last_end_ns = clock_now_ns();
}
