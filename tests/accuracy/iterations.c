/*
 * How often the observer finds the iterations of programs that it has not seen: it draws programs
 * of several families, with a clock that is simulated, and compares the iterations counted with the
 * program's own.
 *
 * iterations FIRST COUNT [FAMILY]
 *
 * Of COUNT programs, of the seeds from FIRST on, each that is not right has a line; then each
 * family has one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "observer/watcher.h"
#include "tests/accuracy/families.h"
#include "tests/unit/observer/client.h"

/* Counted right are between this and its inverse, times the program's own. */
#define RIGHT 0.8
/* How long the observer may look for iterations, and count them. */
#define LOOKS_NS (40 * NS_PER_S)
#define COUNTS_NS (8 * NS_PER_S)

/* -- a clock and a client ------------------------------------------------------------------------
 */

/* What a program's process reports. */
static struct outcome {
    uint64_t found_ns, own, counted; /* since the iterations were found */
    bool failed;                     /* they were lost */
} * outcome;

uint64_t now_ns = NS_PER_S;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    /* Who waits at the end gets there. */
    now_ns += outcome->failed ? NS_PER_MS : 0;
    *out = (struct timespec){.tv_sec = (time_t)(now_ns / NS_PER_S),
                             .tv_nsec = (long)(now_ns % NS_PER_S)};
    return 0;
}

static uint64_t begun_ns;

struct mpsweep *client_open_next(void)
{
    outcome->found_ns = now_ns - begun_ns;
    return &handle;
}

int mpsweep_end(struct mpsweep *worker)
{
    (void)worker;
    outcome->counted++;
    return 1;
}

void mpsweep_fail(struct mpsweep *worker, const char *text)
{
    (void)worker;
    (void)text;
    outcome->failed = true;
}

/* -- what programs do ----------------------------------------------------------------------------
 */

static uint64_t state;

unsigned draw(unsigned least, unsigned most)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return least + (unsigned)((state >> 33) % (most - least + 1));
}

bool chance(unsigned percent)
{
    return draw(1, 100) <= percent;
}

unsigned draw_scale(unsigned least, unsigned most)
{
    double low = log(least), high = log(most);
    return (unsigned)lround(exp(low + (high - low) * draw(0, 10000) / 10000));
}

static struct {
    unsigned launch_ns, gpu_ns, jitter; /* a launch on the host and on the GPU; percent */
    bool pageable;                      /* each copy in is waited for */
    bool copy_waits;                    /* a copy out needs no wait of its own */
} host;

static uint64_t gpu_ns; /* when the GPU has done what it was given */

void pass(uint64_t ns)
{
    now_ns += ns * (100 - host.jitter + draw(0, 2 * host.jitter)) / 100;
}

static void make(const struct call *call)
{
    struct watcher *watcher = watcher_of_thread();
    pass(host.launch_ns);
    if (watcher)
        watcher_take(watcher, call);
}

static void take(enum call_kind kind, uint64_t bytes)
{
    make(&(struct call){.kind = kind, .bytes = bytes});
}

static void wait_for_gpu(void)
{
    if (gpu_ns > now_ns)
        now_ns = gpu_ns;
}

static void give_gpu(uint64_t ns)
{
    gpu_ns = (gpu_ns > now_ns ? gpu_ns : now_ns) +
             ns * (100 - host.jitter + draw(0, 2 * host.jitter)) / 100;
}

static void wait_all(void)
{
    wait_for_gpu();
    take(CALL_WAIT, 0);
}

void copy_in(uint64_t bytes)
{
    give_gpu(2000 + bytes / 25);
    take(CALL_COPY_IN, bytes);
    if (host.pageable)
        wait_all();
}

void copy_out(uint64_t bytes)
{
    give_gpu(2000 + bytes / 25);
    if (host.copy_waits) {
        wait_for_gpu();
        take(CALL_COPY_OUT_WAIT, bytes);
        return;
    }
    take(CALL_COPY_OUT, bytes);
    wait_all();
}

void launch_of(unsigned model, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        give_gpu(host.gpu_ns);
        make(&(struct call){.kind = CALL_LAUNCH, .what = model ? 16 * model + i % 16 : 0});
    }
}

void launch(unsigned count)
{
    launch_of(0, count);
}

void launch_graph(unsigned ns)
{
    give_gpu(ns);
    take(CALL_GRAPH, 0);
}

void tick(void)
{
    if (outcome->found_ns)
        outcome->own++;
}

/* -- runs ----------------------------------------------------------------------------------------
 */

/* Weights, code, and a warm-up. */
static void start(void)
{
    unsigned tensors = draw(0, 300), rounds = draw(0, 20), work = draw_scale(5, 300);
    for (unsigned i = 0; i < tensors; i++)
        copy_in(draw_scale(1 << 10, 1 << 22));
    for (unsigned i = 0; i < rounds; i++) {
        take(CALL_LOAD, 0);
        pass(20 * NS_PER_MS);
        launch(work);
        wait_all();
    }
    pass(draw(0, 3) * NS_PER_S / 2);
}

static void run(unsigned seed, const struct family *family)
{
    const struct tick marks = {.kind = TICK_AUTO};
    state = seed * 2654435761U + 12345;
    for (unsigned i = 0; i < 8; i++)
        draw(0, 1);
    host.launch_ns = draw_scale(1500, 12000);
    host.gpu_ns = draw_scale(1500, 60000);
    host.jitter = draw_scale(2, 40);
    host.pageable = chance(50);
    host.copy_waits = chance(20);
    family->draw();
    begun_ns = now_ns;
    if (!watcher_open(&marks, 0, 0))
        exit(1);
    start();
    unsigned i = 0;
    while (now_ns < begun_ns + (outcome->found_ns ? outcome->found_ns + COUNTS_NS : LOOKS_NS) &&
           !outcome->failed)
        family->iterate(i++);
}

static const char *judge(void)
{
    double ratio = outcome->own ? (double)outcome->counted / (double)outcome->own : 0;
    if (!outcome->found_ns)
        return "none";
    if (outcome->failed)
        return "lost";
    return ratio >= RIGHT && ratio <= 1 / RIGHT ? "right" : "wrong";
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const struct shm_settings settings = {0};
    unsigned first = (unsigned)atoi(argv[1]), count = (unsigned)atoi(argv[2]);
    unsigned seen[FAMILIES][4] = {{0}};
    static const char *const verdicts[] = {"right", "wrong", "none", "lost"};
    outcome =
        mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned seed = first; seed < first + count; seed++) {
        const struct family *family = &families[seed % FAMILIES];
        if (argc > 3 && strcmp(argv[3], family->name) != 0)
            continue;
        static char words[SHM_TEXT_BYTES];
        *outcome = (struct outcome){0};
        if (shm_create(&settings, 1, 1, &shm) != STATUS_OK)
            return 1;
        fflush(stdout);
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            run(seed, family);
            if (strcmp(judge(), "right") != 0) {
                printf("%-12s %6u %s: %llu counted, %llu own, found after %.1f s;", family->name,
                       seed, judge(), (unsigned long long)outcome->counted,
                       (unsigned long long)outcome->own, (double)outcome->found_ns / NS_PER_S);
                shm_text_read(&shm_process_at(&shm, 0)->observer.words, words);
                printf(" %s\n    pageable %d, parameters", words, host.pageable);
                for (unsigned i = 0; i < PARAMETERS; i++)
                    printf(" %u", p[i]);
                printf("\n");
                fflush(stdout);
            }
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status != 0)
            fprintf(stderr, "seed %u: status %d\n", seed, status);
        for (unsigned i = 0; i < 4; i++)
            seen[family - families][i] += strcmp(judge(), verdicts[i]) == 0;
        shm_release(&shm);
    }
    for (unsigned i = 0; i < FAMILIES; i++)
        printf("%-12s %5u right %4u wrong %4u none %4u lost\n", families[i].name, seen[i][0],
               seen[i][1], seen[i][2], seen[i][3]);
    return 0;
}
