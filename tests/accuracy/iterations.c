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

#include "client/internal.h"
#include "common/clock.h"
#include "observer/watcher.h"

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

static uint64_t now_ns = NS_PER_S;

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

static struct shm shm;
static struct mpsweep handle;
static uint64_t begun_ns;

bool client_attach(void)
{
    return true;
}

const struct shm *client_shm(void)
{
    return &shm;
}

unsigned client_process(void)
{
    return 0;
}

bool client_is_in_window(const struct mpsweep *worker)
{
    return worker->recorder.in_window;
}

void client_fail_process(const char *text)
{
    (void)text;
}

struct mpsweep *mpsweep_open_abi(unsigned abi, int number)
{
    (void)abi;
    (void)number;
    outcome->found_ns = now_ns - begun_ns;
    return &handle;
}

int mpsweep_begin(struct mpsweep *worker)
{
    worker->recorder.in_window = true;
    return 1;
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

static unsigned draw(unsigned least, unsigned most)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return least + (unsigned)((state >> 33) % (most - least + 1));
}

static bool chance(unsigned percent)
{
    return draw(1, 100) <= percent;
}

/* As many are as likely to be small as large. */
static unsigned draw_scale(unsigned least, unsigned most)
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

static void pass(uint64_t ns)
{
    now_ns += ns * (100 - host.jitter + draw(0, 2 * host.jitter)) / 100;
}

static void take(enum call_kind kind, uint64_t bytes)
{
    const struct call call = {.kind = kind, .bytes = bytes};
    struct watcher *watcher = watcher_of_thread();
    pass(host.launch_ns);
    if (watcher)
        watcher_take(watcher, &call);
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

static void copy_in(uint64_t bytes)
{
    give_gpu(2000 + bytes / 25);
    take(CALL_COPY_IN, bytes);
    if (host.pageable)
        wait_all();
}

/* A result, which the program looks at. */
static void copy_out(uint64_t bytes)
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

static void launch(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        give_gpu(host.gpu_ns);
        take(CALL_LAUNCH, 0);
    }
}

static void tick(void)
{
    if (outcome->found_ns)
        outcome->own++;
}

/* -- families of programs ------------------------------------------------------------------------
 */

/* Drawn once for a program; what each means its family knows. */
static unsigned p[12];

/* Batches of one size: one or more inputs and results. */
static void draw_batches(void)
{
    p[0] = draw(1, 3);
    p[1] = draw_scale(256, 1 << 22);
    p[2] = draw_scale(1, 400);
    p[3] = draw(1, 3);
    p[4] = draw_scale(4, 1 << 16);
    p[5] = draw(0, 2); /* waits in the middle */
}

static void do_batches(unsigned number)
{
    (void)number;
    for (unsigned i = 0; i < p[0]; i++)
        copy_in(p[1] >> (3 * i));
    for (unsigned i = 0; i <= p[5]; i++) {
        launch(1 + p[2] / (p[5] + 1));
        if (i < p[5])
            copy_out(4);
    }
    for (unsigned i = 0; i < p[3]; i++)
        copy_out(p[4] >> (2 * i));
    tick();
}

/* Batches of any size, whose launches are the same, or more with the size. */
static void draw_sizes(void)
{
    p[0] = draw_scale(64, 1 << 16);
    p[1] = draw(2, 64);
    p[2] = draw_scale(4, 300);
    p[3] = chance(50) ? draw(1, 5) : 0;
    p[4] = draw_scale(4, 4096);
    p[5] = draw(1, 2);
}

static void do_sizes(unsigned number)
{
    (void)number;
    unsigned size = draw(1, p[1]);
    copy_in((uint64_t)size * p[0]);
    launch(p[2] + p[3] * size);
    for (unsigned i = 0; i < p[5]; i++)
        copy_out((uint64_t)size * p[4]);
    tick();
}

/* Texts: a prompt, and steps of which each gives a word. */
static void draw_texts(void)
{
    p[0] = draw(1, 3);
    p[1] = chance(50) ? draw_scale(80, 1 << 14) : 0; /* a prompt of any length, or else: */
    p[2] = draw_scale(256, 1 << 14);
    p[3] = draw(2, 30);
    p[4] = chance(70) ? draw(2, 40) : 0; /* any number of words */
    p[5] = draw_scale(1, 300);
    p[6] = chance(50) ? draw(1, 8) * 8 : 0; /* a position for each */
    p[7] = chance(40) ? draw_scale(65, 1 << 15) : 0;
    p[8] = chance(60);
}

static void do_texts(unsigned number)
{
    (void)number;
    for (unsigned i = 0; i < p[0]; i++)
        copy_in(p[1] ? 80 + draw(0, p[1]) : p[2]);
    launch(p[8] ? 2 * p[5] : p[5]);
    copy_out(8);
    unsigned words = p[3] + (p[4] ? draw(0, p[4]) : 0);
    for (unsigned i = 0; i < words; i++) {
        if (p[6])
            copy_in(p[6]);
        launch(p[5]);
        copy_out(8);
    }
    if (p[7]) {
        launch(5);
        copy_out(p[7]);
    }
    tick();
}

/* Training: steps, with a loss now and then, evaluations, checkpoints and epochs. */
static void draw_training(void)
{
    p[0] = draw_scale(1 << 10, 1 << 22);
    p[1] = chance(70) ? draw_scale(64, 4096) : 0; /* labels */
    p[2] = draw_scale(20, 600);
    p[3] = (unsigned[]){1, 1, 5, 10, 20, 50, 100}[draw(0, 6)]; /* steps for each loss */
    p[4] = chance(40) ? (unsigned[]){50, 100, 200, 500}[draw(0, 3)] : 0;
    p[5] = draw(5, 40);                      /* batches of an evaluation */
    p[6] = chance(50);                       /* each with a result */
    p[7] = chance(20) ? draw(200, 1000) : 0; /* steps for each checkpoint */
    p[8] = chance(40) ? draw(30, 300) : 0;   /* steps of an epoch */
    p[9] = chance(25);                       /* whether gradients are finite */
    p[10] = chance(50);                      /* the model before the labels */
    p[11] = draw(1, 2);
}

static void do_training(unsigned number)
{
    copy_in(p[0]);
    if (p[10])
        launch(p[2] / 4);
    if (p[1])
        copy_in(p[1]);
    launch(p[10] ? p[2] - p[2] / 4 : p[2]);
    if (p[9]) {
        copy_out(4);
        launch(p[2] / 5 + 1);
    }
    if (number % p[3] == p[3] - 1)
        for (unsigned i = 0; i < p[11]; i++)
            copy_out(4);
    tick();
    if (p[4] && number % p[4] == p[4] - 1) {
        for (unsigned i = 0; i < p[5]; i++) {
            copy_in(p[0]);
            launch(p[2] / 4);
            if (p[6])
                copy_out(4);
            tick();
        }
        if (!p[6])
            copy_out(8);
    }
    if (p[7] && number % p[7] == p[7] - 1)
        for (unsigned i = 0; i < 10; i++)
            copy_out(1 << 20);
    if (p[8] && number % p[8] == p[8] - 1)
        pass(300 * NS_PER_MS);
}

/* Gradients of several batches for a step. */
static void draw_accumulated(void)
{
    p[0] = draw_scale(1 << 10, 1 << 21);
    p[1] = draw(2, 8);
    p[2] = draw_scale(20, 300);
    p[3] = draw(0, 2);
    p[4] = (unsigned[]){1, 1, 10, 20}[draw(0, 3)];
    p[5] = chance(40) ? 512 : 0;
}

static void do_accumulated(unsigned number)
{
    for (unsigned i = 0; i < p[1]; i++) {
        copy_in(p[0]);
        if (p[5])
            copy_in(p[5]);
        launch(p[2]);
    }
    launch(p[2] / 3 + 5);
    if (number % p[4] == p[4] - 1)
        for (unsigned i = 0; i <= p[3]; i++)
            copy_out(4);
    tick();
}

/* Requests of two or three kinds, in any order. */
static void draw_kinds(void)
{
    for (unsigned i = 0; i < 3; i++) {
        p[i] = draw_scale(128, 1 << 20);
        p[3 + i] = draw_scale(5, 300);
        p[6 + i] = draw(1, 2);
    }
    p[9] = draw(2, 3);
    p[10] = draw(50, 95); /* percent of the first kind */
}

static void do_kinds(unsigned number)
{
    (void)number;
    unsigned kind = chance(p[10]) ? 0 : draw(1, p[9] - 1);
    copy_in(p[kind]);
    launch(p[3 + kind]);
    for (unsigned i = 0; i < p[6 + kind]; i++)
        copy_out(256);
    tick();
}

/* Words for all texts at work, as a graph; prompts now and then. */
static void draw_engine(void)
{
    p[0] = draw(8, 128);
    p[1] = draw_scale(20, 400);
    p[2] = draw(3, 30);
    p[3] = chance(50);
    p[4] = draw(1, 3);
}

static void do_engine(unsigned number)
{
    unsigned texts = draw(p[0] / 2, p[0]);
    (void)number;
    if (chance(100 / p[2])) {
        copy_in(draw(100, 4000) * 8);
        launch(p[1]);
        copy_out(8);
        tick();
    }
    for (unsigned i = 0; i < p[4]; i++)
        copy_in((uint64_t)texts * (i ? 4 : 8));
    if (p[3]) {
        give_gpu(50000);
        take(CALL_GRAPH, 0);
    } else {
        launch(p[1]);
    }
    copy_out((uint64_t)texts * 8);
    tick();
}

/* A request that waits as often as its data want it. */
static void draw_routes(void)
{
    p[0] = draw_scale(1 << 10, 1 << 18);
    p[1] = draw(2, 8);
    p[2] = draw(2, 12);
    p[3] = draw(3, 20);
    p[4] = draw_scale(4, 1 << 14);
}

static void do_routes(unsigned number)
{
    (void)number;
    copy_in(p[0]);
    for (unsigned layer = 0; layer < p[1]; layer++)
        for (unsigned i = draw(1, p[2]); i-- > 0;) {
            launch(p[3]);
            copy_out(8);
        }
    launch(4);
    copy_out(p[4]);
    tick();
}

/* An image: steps of which the host waits for none, or for each. */
static void draw_images(void)
{
    p[0] = chance(50) ? draw_scale(256, 1 << 16) : 0;
    p[1] = draw(4, 50);
    p[2] = draw_scale(10, 200);
    p[3] = chance(30);
    p[4] = draw_scale(1 << 12, 1 << 20);
}

static void do_images(unsigned number)
{
    (void)number;
    if (p[0])
        copy_in(p[0]);
    launch(p[2]);
    for (unsigned i = 0; i < p[1]; i++) {
        launch(p[2]);
        if (p[3])
            copy_out(4);
    }
    launch(p[2] / 2 + 1);
    copy_out(p[4]);
    tick();
}

/* Pictures of several cameras in turn, and a report each second. */
static void draw_cameras(void)
{
    p[0] = draw(2, 6);
    p[1] = draw_scale(1 << 14, 1 << 20);
    p[2] = draw_scale(5, 200);
    p[3] = chance(50);
    p[4] = draw(10, 4096);
}

static void do_cameras(unsigned number)
{
    static uint64_t reported_ns;
    copy_in(p[1] * (2 + number % p[0]) / 2);
    launch(p[2]);
    copy_out(p[4]);
    tick();
    if (!p[3] || now_ns < reported_ns + NS_PER_S)
        return;
    reported_ns = now_ns;
    launch(1);
    copy_out(16);
}

static const struct family {
    const char *name;
    void (*draw)(void);
    void (*iterate)(unsigned number);
} families[] = {
    {"batches", draw_batches, do_batches},
    {"sizes", draw_sizes, do_sizes},
    {"texts", draw_texts, do_texts},
    {"training", draw_training, do_training},
    {"accumulated", draw_accumulated, do_accumulated},
    {"kinds", draw_kinds, do_kinds},
    {"engine", draw_engine, do_engine},
    {"routes", draw_routes, do_routes},
    {"images", draw_images, do_images},
    {"cameras", draw_cameras, do_cameras},
};
#define FAMILIES (sizeof families / sizeof families[0])

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
                for (unsigned i = 0; i < 12; i++)
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
