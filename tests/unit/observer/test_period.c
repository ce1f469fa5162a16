#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "observer/period.h"

static struct period period;
static uint64_t now_ns;

static int set_up(void **state)
{
    (void)state;
    period = (struct period){0};
    now_ns = 0;
    return 0;
}

/* A wait for launches, after which bytes came back. */
static enum period_state wait_for(uint32_t launches, uint64_t bytes_in, uint64_t bytes_out,
                                  uint64_t ns)
{
    now_ns += ns;
    const struct mark mark = {.at_ns = now_ns,
                              .launches = launches,
                              .copies_in = bytes_in > 0,
                              .bytes_in = bytes_in,
                              .copies_out = bytes_out > 0,
                              .bytes_out = bytes_out};
    return period_add(&period, &mark, false);
}

static void test_each_wait_is_an_iteration(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 400; i++)
        boundaries += wait_for(220, 1 << 20, 1 << 20, 3000000) == PERIOD_BOUNDARY;
    assert_int_equal(period.length, 1);
    assert_true(boundaries >= 50);
    struct mark iteration = period_iteration(&period);
    assert_int_equal(iteration.launches, 220);
    assert_int_equal(iteration.bytes_in, 1 << 20);
    assert_int_equal(iteration.at_ns, 3000000);
}

/* What is launched grows a little, as with the cache of a decoder. */
static void test_slow_growth_is_no_change(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (uint32_t i = 0; i < 300; i++)
        boundaries += wait_for(900 + i, 512, 8, 20000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 230);
}

/* A request: input, 12 steps, a large answer. */
static enum period_state request(unsigned *boundaries, unsigned *last)
{
    enum period_state state = PERIOD_UNKNOWN;
    for (unsigned i = 0; i < 13; i++) {
        state = wait_for(i == 0 ? 400 : 40, i == 0 ? 65536 : 0, i == 12 ? 32768 : 8, 1000000);
        if (state != PERIOD_BOUNDARY)
            continue;
        ++*boundaries;
        *last = i;
    }
    return state;
}

static void test_requests_of_several_waits(void **state)
{
    unsigned boundaries = 0, last = 99;
    (void)state;
    for (int i = 0; i < 90; i++)
        request(&boundaries, &last);
    assert_int_equal(period.length, 13);
    boundaries = 0;
    for (int i = 0; i < 10; i++)
        request(&boundaries, &last);
    assert_int_equal(boundaries, 10);
    /* The next request begins with its input. */
    assert_int_equal(last, 12);
    struct mark iteration = period_iteration(&period);
    assert_int_equal(iteration.launches, 400 + 12 * 40);
}

/* Weights are loaded, each tensor with a wait, and nothing is launched. */
static void test_loading_is_no_iteration(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(wait_for(0, 1 << 22, 0, 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 600; i++)
        boundaries += wait_for(100, 4096, 4096, 2000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 30);
}

/* The first iterations of a program take longer. */
static void test_a_warm_up_is_awaited(void **state)
{
    static const uint64_t ms[] = {900, 400, 200, 100, 60};
    (void)state;
    for (size_t i = 0; i < sizeof ms / sizeof ms[0]; i++)
        assert_int_equal(wait_for(100, 4096, 4096, ms[i] * 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    /* It is slow: two seconds show it, if not 64 waits. */
    for (int i = 0; i < 60; i++)
        boundaries += wait_for(100, 4096, 4096, 50000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 15);
}

/* One that never gets steady has iterations as well. */
static void test_uneven_iterations_count_in_the_end(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    uint32_t random = 1;
    for (unsigned i = 0; i < 500; i++) {
        random = random * 1664525 + 1013904223;
        boundaries += wait_for(100, 4096, 4096, 1000000 + random / 1000) == PERIOD_BOUNDARY;
    }
    assert_true(boundaries >= 30);
}

/* A library tries out its kernels, each with a wait, and then the program begins. */
static void test_a_short_repetition_is_no_iteration(void **state)
{
    (void)state;
    for (int i = 0; i < 1500; i++)
        assert_int_equal(wait_for(2, 0, 0, 500000), PERIOD_UNKNOWN);
    for (int i = 0; i < 300; i++)
        assert_int_equal(wait_for(40, 4096, 4096, 3000000), PERIOD_UNKNOWN);
}

/* Launches without any wait: of three kernels, one twice. */
static void test_launches_by_their_kernel(void **state)
{
    static const uint64_t kernels[] = {11, 22, 11, 33};
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 10000; i++) {
        const struct mark mark = {
            .at_ns = (uint64_t)i * 500000, .launches = 1, .what = kernels[i % 4]};
        boundaries += period_add(&period, &mark, false) == PERIOD_BOUNDARY;
    }
    assert_int_equal(period.length, 4);
    assert_true(boundaries >= 400);
}

static void test_nothing_repeats(void **state)
{
    uint32_t random = 12345;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        random = random * 1664525 + 1013904223;
        assert_int_equal(wait_for(1 + (random >> 16) % 5000, 0, (random >> 8) % 100000, 1000000),
                         PERIOD_UNKNOWN);
    }
}

static void test_a_period_is_lost(void **state)
{
    enum period_state last = PERIOD_UNKNOWN;
    (void)state;
    for (int i = 0; i < 400; i++)
        last = wait_for(220, 4096, 4096, 3000000);
    assert_int_equal(last, PERIOD_BOUNDARY);
    unsigned lost = 0;
    uint32_t launches = 2000;
    for (int i = 0; i < 40; i++)
        lost += wait_for(launches = launches * 3 / 2 % 9973 + 1, 0, 0, 1000000) == PERIOD_LOST;
    assert_true(lost >= 1);
    for (int i = 0; i < 500; i++)
        last = wait_for(50, 64, 64, 3000000);
    assert_int_equal(last, PERIOD_BOUNDARY);
}

static void test_one_odd_wait_among_many(void **state)
{
    unsigned lost = 0, boundaries = 0;
    (void)state;
    for (int i = 0; i < 700; i++) {
        enum period_state now = wait_for(i % 50 == 49 ? 1000 : 220, 4096, 4096, 3000000);
        lost += now == PERIOD_LOST;
        boundaries += now == PERIOD_BOUNDARY;
    }
    assert_int_equal(lost, 0);
    assert_true(boundaries >= 230);
}

/* A library that tries out its kernels takes no input; a program may not either. */
static void test_without_input_it_must_last(void **state)
{
    (void)state;
    for (int i = 0; i < 3900; i++)
        assert_int_equal(wait_for(2, 0, 4, 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 200; i++)
        boundaries += wait_for(2, 0, 4, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 90);
    /* An earlier process had such iterations: two launches, a copy out and a wait. */
    period_begin(&period, 4);
    boundaries = 0;
    for (int i = 0; i < 1300; i++)
        boundaries += wait_for(2, 0, 4, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 200);
}

/* What only copies may do so before its first launch, whatever it copies in. */
static void test_without_a_launch_it_must_last(void **state)
{
    (void)state;
    for (int i = 0; i < 3900; i++)
        assert_int_equal(wait_for(0, 1 << 20, 1 << 20, 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 200; i++)
        boundaries += wait_for(0, 1 << 20, 1 << 20, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 90);
}

/* A library tries out its kernels in bursts, between which it compiles. */
static void test_bursts_are_no_iterations(void **state)
{
    (void)state;
    for (int burst = 0; burst < 5; burst++)
        for (int i = 0; i < (burst == 3 ? 60 : 300); i++)
            assert_int_equal(
                wait_for(i % 6 == 0 ? 1 : 2, 0, i % 6 == 5 ? 8 : 0, i ? 100000 : 4100000000),
                PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 1300; i++)
        boundaries += wait_for(40, 4096, 4096, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 200);
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % below;
}

/* Batches of any size. */
static void test_each_request_is_another(void **state)
{
    uint32_t random = 7;
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 3900; i++) {
        uint32_t size = 1 + draw(&random, 100);
        assert_int_equal(wait_for(10 * size, 1024 * size, 4 * size, 1000000), PERIOD_UNKNOWN);
    }
    for (int i = 0; i < 200; i++) {
        uint32_t size = 1 + draw(&random, 100);
        boundaries += wait_for(10 * size, 1024 * size, 4 * size, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(boundaries >= 90);
    assert_true(period.varies);
    assert_int_equal(period.length, 1);
    assert_true(period.match < 0.9);
    struct mark iteration = period_iteration(&period);
    assert_in_range(iteration.launches, 400, 600);
    assert_int_equal(iteration.copies_in, 1);
    assert_int_equal(iteration.at_ns, 1000000);
}

/* Words of a text: each step takes its number in and gives a word out, and a text begins with its
 * prompt. */
static void test_texts_of_any_length(void **state)
{
    uint32_t random = 3;
    unsigned boundaries = 0, texts = 0;
    (void)state;
    for (int i = 0; i < 800; i++) {
        texts += period.varies;
        boundaries += wait_for(80, 400 + draw(&random, 4000), 8, 3000000) == PERIOD_BOUNDARY;
        for (uint32_t word = 0, words = 4 + draw(&random, 16); word < words; word++)
            boundaries += wait_for(40, 8, 8, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(texts > 200);
    assert_in_range(boundaries, texts, texts + 1);
    assert_in_range(period.length, 11, 14);
}

/* Inputs of a start end nothing: the program takes none. */
static void test_inputs_that_stop(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 8; i++)
        wait_for(1 + draw(&random, 5000), 65536, 0, 1000000);
    for (int i = 0; i < 6000; i++)
        assert_int_equal(wait_for(1 + draw(&random, 5000), 0, 8, 1000000), PERIOD_UNKNOWN);
    for (int i = 0; i < 6000; i++)
        boundaries += wait_for(100, 0, 8, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries > 1000);
    assert_false(period.varies);
}

/* Pictures of 1.5 s: an input, and unlike steps with a small one. */
static void test_slow_pictures(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 40; i++)
        for (uint32_t step = 0; step < 20; step++)
            boundaries += wait_for(40 + 30 * step, step ? 8 : 8192, 8, 75000000) == PERIOD_BOUNDARY;
    assert_int_equal(period.length, 20);
    assert_in_range(boundaries, 30, 38);
}

/* A slow program is as regular where an earlier process had its iterations. */
static void test_known_and_slow(void **state)
{
    (void)state;
    period_begin(&period, 102);
    for (int i = 0; i < 40; i++)
        wait_for(100, 4096, 0, 280000000);
    assert_int_equal(period.length, 1);
    assert_false(period.varies);
}

/* One whose requests vary is found sooner then. */
static void test_known_and_unlike(void **state)
{
    uint32_t random = 7;
    unsigned boundaries = 0;
    (void)state;
    period_begin(&period, 510);
    for (int i = 0; i < 2000; i++) {
        uint32_t size = 1 + draw(&random, 100);
        boundaries += wait_for(10 * size, 1024 * size, 0, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(period.varies);
    assert_true(boundaries > 900);
}

/* A server of texts whose inputs have any length: as many steps each. */
static void test_inputs_of_any_length(void **state)
{
    unsigned boundaries = 0, random = 1;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        random = random * 1664525 + 1013904223;
        boundaries += wait_for(17, 20 + (random >> 16) % 380, 8, 400000) == PERIOD_BOUNDARY;
        for (int step = 0; step < 16; step++)
            boundaries += wait_for(1, 0, 8, 100000) == PERIOD_BOUNDARY;
    }
    assert_int_equal(period.length, 17);
    assert_false(period.varies);
    assert_true(boundaries > 1200);
}

/* Of cameras in turn, each with frames of its own size. */
static void test_inputs_of_several_sizes_in_turn(void **state)
{
    const uint64_t bytes[] = {1 << 20, 1 << 22, 1 << 24};
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 3000; i++)
        boundaries += wait_for(5, bytes[i % 3], 4096, 3000000) == PERIOD_BOUNDARY;
    assert_true(period.varies);
    assert_int_equal(period.length, 1);
    assert_true(boundaries > 1500);
    assert_int_equal(period_iteration(&period).launches, 5);
}

/* Two models of a request: other work, with an input each. */
static void test_stages_of_a_request(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 3000; i++)
        boundaries +=
            wait_for(i % 2 ? 40 : 60, i % 2 ? 4096 : 1 << 20, 512, 3000000) == PERIOD_BOUNDARY;
    assert_false(period.varies);
    assert_int_equal(period.length, 2);
    assert_true(boundaries > 1000);
}

/* A step of training waits for its batch, and for whether its gradients are finite; each tenth
 * step looks at the loss as well. The wait for the next batch has nothing to wait for then. */
static unsigned train(unsigned steps, unsigned looks_each)
{
    unsigned boundaries = 0;
    bool looked = false;
    for (unsigned i = 1; i <= steps; i++) {
        if (!looked)
            boundaries += wait_for(15, 1 << 20, 0, 1000000) == PERIOD_BOUNDARY;
        boundaries += wait_for(60, (looked ? 1 << 20 : 0) + 2048, 4, 2000000) == PERIOD_BOUNDARY;
        looked = i % looks_each == 0;
        if (looked)
            boundaries += wait_for(15, 0, 4, 1000000) == PERIOD_BOUNDARY;
    }
    return boundaries;
}

static void test_a_report_now_and_then(void **state)
{
    (void)state;
    for (unsigned each = 5; each <= 40; each += 5) {
        set_up(state);
        train(2000, each);
        assert_in_range(train(200, each), 198, 202);
        struct mark iteration = period_iteration(&period);
        assert_in_range(iteration.launches, 73, 77);
        assert_int_equal(period.length, 2);
    }
}

struct part {
    unsigned times;
    uint32_t launches;
    uint64_t bytes_in, bytes_out;
};

/* Boundaries of N requests of these parts, after as many again. */
static unsigned serve(const struct part *parts, size_t count, unsigned requests)
{
    unsigned boundaries = 0;
    for (unsigned i = 0; i < 2 * requests; i++)
        for (size_t p = 0; p < count; p++)
            for (unsigned k = 0; k < parts[p].times; k++) {
                enum period_state now =
                    wait_for(parts[p].launches, parts[p].bytes_in, parts[p].bytes_out, 1000000);
                boundaries += i >= requests && now == PERIOD_BOUNDARY;
            }
    return boundaries;
}

/* Parts of a request are not iterations of their own, even where all have inputs of one size. */
static void test_parts_of_a_request(void **state)
{
    static const struct part prompt[] = {{1, 400, 768, 8}, {12, 40, 512, 8}};
    static const struct part tiles[] = {{4, 60, 1 << 20, 0}, {5, 10, 0, 8}};
    static const struct part picture[] = {{20, 300, 128, 0}, {1, 100, 0, 1 << 20}};
    static const struct part words[] = {
        {1, 420, 6000, 8}, {11, 330, 4096, 8}, {1, 330, 4096, 4096}};
    static const struct part accumulated[] = {{4, 150, 1 << 20, 0}, {1, 60, 0, 4}};
    (void)state;
    assert_in_range(serve(prompt, 2, 200), 199, 201);
    set_up(state);
    assert_in_range(serve(tiles, 2, 300), 299, 301);
    set_up(state);
    assert_in_range(serve(picture, 2, 200), 199, 201);
    set_up(state);
    assert_in_range(serve(words, 3, 200), 199, 201);
    set_up(state);
    assert_in_range(serve(accumulated, 2, 500), 499, 501);
}

/* A picture is one, with a wait for each of its many steps. */
static void test_steps_of_a_request(void **state)
{
    (void)state;
    for (unsigned steps = 12; steps <= 120; steps += 9) {
        const struct part picture[] = {{1, 20, 16384, 0}, {steps - 2, 20, 8, 0}, {1, 20, 8, 65536}};
        set_up(state);
        assert_in_range(serve(picture, 3, 300), 299, 301);
        assert_int_equal(period.length, steps);
    }
}

/* Another thread launches, up to two batches ahead: a wait may have none of them, one or two. */
static void test_waits_for_another_thread(void **state)
{
    unsigned lost = 0, boundaries = 0;
    (void)state;
    for (unsigned i = 0; i < 3000; i++)
        wait_for(16, 32768, 32768, 1000000);
    assert_int_equal(period.length, 1);
    for (unsigned i = 0; i < 1000; i++) {
        unsigned batches = 1 + i % 2;
        const struct mark mark = {.at_ns = now_ns += 1000000,
                                  .launches = 16 * batches,
                                  .copies_in = batches,
                                  .bytes_in = 32768ull * batches,
                                  .copies_out = 1,
                                  .bytes_out = 32768};
        enum period_state now = period_add(&period, &mark, false);
        lost += now == PERIOD_LOST;
        boundaries += now == PERIOD_BOUNDARY;
    }
    assert_int_equal(lost, 0);
    assert_int_equal(boundaries, 1000);
}

/* Inputs that are not of the largest any more: what ended iterations ends none. */
static void test_inputs_become_smaller(void **state)
{
    unsigned lost = 0, boundaries = 0;
    (void)state;
    train(1500, 10);
    assert_true(period.varies);
    for (unsigned i = 0; i < 4000; i++) {
        enum period_state now = wait_for(75, 300000, i % 10 ? 0 : 4, 3000000);
        lost += now == PERIOD_LOST;
        boundaries += now == PERIOD_BOUNDARY;
    }
    assert_int_equal(lost, 1);
    assert_true(boundaries > 3000);
}

/* Texts of any length, a long prompt and a short one by turns. */
static void test_prompts_by_turns(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0, requests = 0;
    (void)state;
    for (int i = 0; i < 900; i++) {
        requests += period.varies;
        boundaries += wait_for(60, i % 2 ? 4096 : 512, 8, 1000000) == PERIOD_BOUNDARY;
        for (uint32_t word = 0, words = 10 + draw(&random, 11); word < words; word++)
            boundaries += wait_for(40, 0, 8, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(requests > 400);
    assert_in_range(boundaries, requests, requests + 1);
}

/* A picture for the encoder, and the first word for the decoder, which then gives any number. */
static void test_two_inputs_of_a_request(void **state)
{
    uint32_t random = 11;
    unsigned boundaries = 0, requests = 0;
    (void)state;
    /* A start has larger ones. */
    wait_for(1, 1 << 28, 0, 100000000);
    for (int i = 0; i < 800; i++) {
        requests += period.varies;
        boundaries += wait_for(60, 300000, 0, 1000000) == PERIOD_BOUNDARY;
        boundaries += wait_for(40, 1024, 0, 1000000) == PERIOD_BOUNDARY;
        for (uint32_t word = 0, words = 10 + draw(&random, 11); word < words; word++)
            boundaries += wait_for(40, 0, 2, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(period.varies && requests > 400);
    assert_in_range(boundaries, requests, requests + 1);
    assert_in_range(period.length, 15, 19);
}

/* What is reported is not the odd iteration, even where that was the last. */
static void test_the_usual_iteration(void **state)
{
    (void)state;
    for (int i = 0; i < 33 * 100; i++) {
        bool updates = i % 33 == 32;
        wait_for(updates ? 108 : 4, updates ? 270000 : 4096, updates ? 4 : 128, 1000000);
    }
    assert_int_equal(period.length, 1);
    assert_int_equal(period_iteration(&period).launches, 4);
}

static void test_every_mark(void **state)
{
    const struct mark mark = {.launches = 1};
    (void)state;
    assert_int_equal(period_add(&period, &mark, true), PERIOD_UNKNOWN);
    assert_int_equal(period_add(&period, &mark, true), PERIOD_UNKNOWN);
    for (int i = 0; i < 5; i++)
        assert_int_equal(period_add(&period, &mark, true), PERIOD_BOUNDARY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_wait_is_an_iteration, set_up),
        cmocka_unit_test_setup(test_slow_growth_is_no_change, set_up),
        cmocka_unit_test_setup(test_requests_of_several_waits, set_up),
        cmocka_unit_test_setup(test_loading_is_no_iteration, set_up),
        cmocka_unit_test_setup(test_a_warm_up_is_awaited, set_up),
        cmocka_unit_test_setup(test_uneven_iterations_count_in_the_end, set_up),
        cmocka_unit_test_setup(test_a_short_repetition_is_no_iteration, set_up),
        cmocka_unit_test_setup(test_launches_by_their_kernel, set_up),
        cmocka_unit_test_setup(test_nothing_repeats, set_up),
        cmocka_unit_test_setup(test_a_period_is_lost, set_up),
        cmocka_unit_test_setup(test_one_odd_wait_among_many, set_up),
        cmocka_unit_test_setup(test_without_input_it_must_last, set_up),
        cmocka_unit_test_setup(test_without_a_launch_it_must_last, set_up),
        cmocka_unit_test_setup(test_bursts_are_no_iterations, set_up),
        cmocka_unit_test_setup(test_each_request_is_another, set_up),
        cmocka_unit_test_setup(test_texts_of_any_length, set_up),
        cmocka_unit_test_setup(test_inputs_that_stop, set_up),
        cmocka_unit_test_setup(test_slow_pictures, set_up),
        cmocka_unit_test_setup(test_known_and_slow, set_up),
        cmocka_unit_test_setup(test_known_and_unlike, set_up),
        cmocka_unit_test_setup(test_inputs_of_any_length, set_up),
        cmocka_unit_test_setup(test_inputs_of_several_sizes_in_turn, set_up),
        cmocka_unit_test_setup(test_stages_of_a_request, set_up),
        cmocka_unit_test_setup(test_a_report_now_and_then, set_up),
        cmocka_unit_test_setup(test_parts_of_a_request, set_up),
        cmocka_unit_test_setup(test_steps_of_a_request, set_up),
        cmocka_unit_test_setup(test_waits_for_another_thread, set_up),
        cmocka_unit_test_setup(test_inputs_become_smaller, set_up),
        cmocka_unit_test_setup(test_prompts_by_turns, set_up),
        cmocka_unit_test_setup(test_two_inputs_of_a_request, set_up),
        cmocka_unit_test_setup(test_the_usual_iteration, set_up),
        cmocka_unit_test_setup(test_every_mark, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
