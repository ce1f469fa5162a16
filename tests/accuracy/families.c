#include "tests/accuracy/families.h"

#include "common/clock.h"

unsigned p[PARAMETERS];

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

/* Batches of any size, whose launches are the same, or more with the size; a library may have other
 * kernels for larger ones. */
static void draw_sizes(void)
{
    p[0] = draw_scale(64, 1 << 16);
    p[1] = draw(2, 64);
    p[2] = draw_scale(4, 300);
    p[3] = chance(50) ? draw(1, 5) : 0;
    p[4] = draw_scale(4, 4096);
    p[5] = draw(1, 2);
    p[6] = draw(0, 6);
}

static void do_sizes(unsigned number)
{
    (void)number;
    unsigned size = draw(1, p[1]);
    copy_in((uint64_t)size * p[0]);
    launch_of(p[6] ? 1 + p[6] * size / (p[1] + 1) : 0, p[2] + p[3] * size);
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
        launch_graph(50000);
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

/* A question, documents that are compared with it, and an answer of any number of words. */
static void draw_questions(void)
{
    p[0] = draw_scale(30, 120);
    p[1] = draw_scale(30, 200);
    p[2] = draw(4, 40);
    p[3] = draw(0, 5);
    p[4] = chance(50); /* a position for each word */
    p[5] = chance(50); /* the host looks at what stands for the question */
}

static void do_questions(unsigned number)
{
    (void)number;
    copy_in(draw(5, 60) * 8);
    copy_in(draw(5, 60) * 8);
    launch_of(1, p[0]);
    if (p[5])
        copy_out(3072);
    launch_of(2, 3);
    copy_out(80);
    for (unsigned i = 0; i < p[3]; i++) {
        copy_in(draw(50, 500) * 8);
        launch_of(3, p[0]);
        copy_out(4);
    }
    copy_in(draw(200, 3000) * 8);
    launch_of(4, p[1]);
    copy_out(8);
    for (unsigned words = draw(3, 3 + p[2]); words > 0; words--) {
        if (p[4])
            copy_in(8);
        launch_of(4, p[1]);
        copy_out(8);
    }
    tick();
}

/* Steps of molecules: positions in, forces out; lists of neighbours and energies now and then. */
static void draw_molecules(void)
{
    p[0] = draw_scale(1 << 14, 1 << 20);
    p[1] = draw(3, 20);
    p[2] = draw(10, 100);
    p[3] = draw(10, 100);
}

static void do_molecules(unsigned number)
{
    if (number % p[2] == 0) {
        copy_in((uint64_t)p[0] * draw(8, 12) / 4);
        copy_in(p[0] / 2);
        launch_of(2, 4);
    }
    copy_in(p[0]);
    launch_of(1, p[1]);
    bool energies = number % p[3] == 0;
    if (energies)
        launch_of(3, 2);
    copy_out(p[0] + (energies ? 640 : 0));
    tick();
}

/* Rounds of a solver until it converges, each with a wait or two for a number, and then the next
 * step of time. */
static void draw_solvers(void)
{
    p[0] = draw(5, 60);
    p[1] = draw(1, 2);
    p[2] = draw(3, 12);
    p[3] = draw(5, 40);
}

static void do_solvers(unsigned number)
{
    (void)number;
    launch_of(1, p[3]);
    copy_out(8);
    for (unsigned rounds = draw(p[0] / 2 + 1, p[0] * 3 / 2 + 1); rounds > 0; rounds--) {
        for (unsigned i = 0; i < p[1]; i++) {
            launch_of(2 + i, p[2]);
            copy_out(8);
        }
        tick();
    }
}

const struct family families[FAMILIES] = {
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
    {"questions", draw_questions, do_questions},
    {"molecules", draw_molecules, do_molecules},
    {"solvers", draw_solvers, do_solvers},
};
