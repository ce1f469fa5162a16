/* What an iteration is where requests vary, or have parts that look like iterations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/observer/marks.h"

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
    assert_true(period.kind >= PERIOD_INPUTS);
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
        texts += period.kind >= PERIOD_INPUTS;
        boundaries += wait_for(80, 400 + draw(&random, 4000), 8, 3000000) == PERIOD_BOUNDARY;
        for (uint32_t word = 0, words = 4 + draw(&random, 16); word < words; word++)
            boundaries += wait_for(40, 8, 8, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(texts > 200);
    assert_in_range(boundaries, texts, texts + 1);
    assert_in_range(period.length, 11, 14);
}

/* Longer ones: most marks are words, and like the one before. */
static void test_longer_texts_of_any_length(void **state)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        uint32_t random = seed;
        set_up(state);
        while (period.length == 0) {
            wait_for(40, 128 + draw(&random, 1600), 8, 250000);
            for (uint32_t word = 0, words = 5 + draw(&random, 40); word < words; word++)
                wait_for(12, 8, 8, 250000);
        }
        assert_true(period.kind >= PERIOD_INPUTS);
    }
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
    assert_false(period.kind >= PERIOD_INPUTS);
}

/* A query of a few bytes and documents of any, with other work each. */
static void test_stages_of_any_size(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        boundaries += wait_for(12, 3072, 3072, 2000000) == PERIOD_BOUNDARY;
        uint32_t documents = 1 + draw(&random, 50);
        boundaries += wait_for(24, 4000 * documents, 4 * documents, 1000000) == PERIOD_BOUNDARY;
    }
    assert_false(period.kind >= PERIOD_INPUTS);
    assert_int_equal(period.length, 2);
    assert_in_range(boundaries, 600, 700);
    assert_int_equal(period_iteration(&period).launches, 36);
    assert_in_range(period_iteration(&period).bytes_in, 90000, 120000);
    assert_int_equal(period_iteration(&period).at_ns, 3000000);
}

/* Requests of one size, and four smaller ones in a row now and then. */
static void test_a_few_others_now_and_then(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 2000; i++)
        boundaries += wait_for(i % 104 < 100 ? 30 : 10, 65536, 4096, 1000000) == PERIOD_BOUNDARY;
    assert_false(period.kind >= PERIOD_INPUTS);
    assert_int_equal(period.length, 1);
    assert_true(boundaries >= 800);
}

/* Batches of five sizes, each for six tenths of a second, before those of any size are served. */
static void test_a_warm_up_of_sizes(void **state)
{
    uint32_t random = 7;
    (void)state;
    for (uint32_t size = 1; size <= 16; size *= 2)
        for (int i = 0; i < 600; i++)
            assert_int_equal(wait_for(20, 4096 * size, 256 * size, 1000000), PERIOD_UNKNOWN);
    for (int i = 0; i < 6000; i++) {
        uint32_t size = 1 + draw(&random, 16);
        wait_for(20, 4096 * size, 256 * size, 4000000);
    }
    assert_true(period.kind >= PERIOD_INPUTS);
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
    assert_true(period.kind >= PERIOD_INPUTS);
    assert_true(boundaries > 900);
}

/* Texts of as many words, the first ones slow ones. Returns how many iterations there are in each
 * once any is known. */
static double write_texts(uint32_t *random, unsigned texts)
{
    unsigned boundaries = 0, requests = 0;
    for (unsigned text = 0; text < texts; text++) {
        uint32_t prompt = 8 * (8 + draw(random, 57));
        requests += period.length > 0;
        for (unsigned word = 0; word < 64; word++) {
            uint64_t ns = (text < 3 ? 25000000 : 2000000) + draw(random, 2000000);
            boundaries += wait_for(70 + (word == 0), word ? 0 : prompt, 8, ns) == PERIOD_BOUNDARY;
            boundaries += wait_for(72, 0, 1, ns) == PERIOD_BOUNDARY;
        }
    }
    return requests ? (double)boundaries / requests : 0;
}

/* Texts that take seconds at first are taken for words, unless an earlier process has shown them.
 */
static void test_words_where_texts_are_known(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        uint32_t random = seed;
        set_up(state);
        assert_true(write_texts(&random, 60) > 2);
        random = seed;
        set_up(state);
        period_begin(&period, 64 * 142 + 1 + 65 + 128);
        double iterations = write_texts(&random, 60);
        assert_true(iterations > 0.9 && iterations < 1.1);
    }
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
    assert_false(period.kind >= PERIOD_INPUTS);
    assert_true(boundaries > 1200);
}

/* Of cameras in turn, each with frames of its own size; and a report now and then. */
static void test_inputs_of_several_sizes_in_turn(void **state)
{
    const uint64_t bytes[] = {1 << 20, 1 << 22, 1 << 24};
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        boundaries += wait_for(5, bytes[i % 3], 4096, 3000000) == PERIOD_BOUNDARY;
        if (i % 100 == 99)
            wait_for(1, 0, 16, 100000);
    }
    assert_true(period_is_mean(&period));
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
    assert_false(period.kind >= PERIOD_INPUTS);
    assert_int_equal(period.length, 2);
    assert_true(boundaries > 1000);
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
    /* The last one of a step with the optimizer: hardly more than the others have. */
    static const struct part added[] = {{7, 76, 1 << 20, 0}, {1, 110, 1 << 20, 0}};
    static const struct part fused[] = {{3, 86, 1 << 20, 0}, {1, 89, 1 << 20, 0}};
    static const struct part steps[] = {{37, 35, 0, 4}, {1, 18, 0, 66857}};
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
    set_up(state);
    assert_in_range(serve(added, 2, 500), 499, 501);
    set_up(state);
    assert_in_range(serve(fused, 2, 500), 499, 501);
    set_up(state);
    assert_in_range(serve(steps, 2, 300), 299, 301);
}

/* Many words, each with its position, for a prompt of some more bytes; quick ones and slow ones. */
static void test_words_of_texts(void **state)
{
    for (uint64_t ns = 100000; ns <= 40000000; ns *= 20) {
        uint32_t random = 5;
        unsigned boundaries = 0, requests = 0;
        set_up(state);
        for (int i = 0; i < 2000; i++) {
            requests += period.length > 0;
            boundaries += wait_for(8, 961, 8, ns) == PERIOD_BOUNDARY;
            for (uint32_t word = 0, words = 25 + draw(&random, 15); word < words; word++)
                boundaries += wait_for(4, 40, 8, ns) == PERIOD_BOUNDARY;
        }
        assert_true(requests > 500);
        assert_in_range(boundaries, requests, requests + 1);
    }
}

/* Steps without an input behind those of a start, slow enough for all to be remembered. */
static void test_inputs_of_a_start(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 5; i++)
        wait_for(3, 1 << 20, 0, 20000000);
    for (int i = 0; i < 100; i++)
        boundaries += wait_for(200, 0, 8, 100000000) == PERIOD_BOUNDARY;
    assert_true(boundaries > 20);
}

/* Few words, for a prompt of any length: two or more requests may be alike by chance. */
static void test_prompts_of_any_length(void **state)
{
    for (uint32_t seed = 1; seed <= 50; seed++) {
        uint32_t random = seed;
        unsigned boundaries = 0, requests = 0;
        set_up(state);
        for (int i = 0; i < 4000; i++) {
            requests += period.length > 0;
            boundaries += wait_for(91, 80 + draw(&random, 912), 8, 400000) == PERIOD_BOUNDARY;
            for (int word = 0; word < 7; word++)
                boundaries += wait_for(91, 64, 8, 400000) == PERIOD_BOUNDARY;
        }
        assert_true(requests > 500);
        assert_in_range(boundaries, requests, requests + 1);
    }
}

/* Steps that wait for each of their two inputs; each hundred an evaluation, whose batches have one
 * input and a result. */
static void test_evaluations(void **state)
{
    unsigned boundaries = 0, iterations = 0;
    (void)state;
    for (unsigned i = 1; i <= 6000; i++) {
        iterations += period.length > 0;
        boundaries += wait_for(66, 1 << 20, 0, 1000000) == PERIOD_BOUNDARY;
        boundaries += wait_for(22, 1024, 0, 500000) == PERIOD_BOUNDARY;
        for (unsigned k = 0; i % 100 == 0 && k < 30; k++) {
            iterations += period.length > 0;
            boundaries += wait_for(22, 1 << 20, 4, 500000) == PERIOD_BOUNDARY;
        }
    }
    assert_true(iterations > 3000);
    assert_in_range(boundaries, iterations * 85 / 100, iterations + 2);
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

/* Texts of any length, a long prompt and a short one by turns. */
static void test_prompts_by_turns(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0, requests = 0;
    (void)state;
    for (int i = 0; i < 900; i++) {
        requests += period.kind >= PERIOD_INPUTS;
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
        requests += period.kind >= PERIOD_INPUTS;
        boundaries += wait_for(60, 300000, 0, 1000000) == PERIOD_BOUNDARY;
        boundaries += wait_for(40, 1024, 0, 1000000) == PERIOD_BOUNDARY;
        for (uint32_t word = 0, words = 10 + draw(&random, 11); word < words; word++)
            boundaries += wait_for(40, 0, 2, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(period.kind >= PERIOD_INPUTS && requests > 400);
    assert_in_range(boundaries, requests, requests + 1);
    assert_in_range(period.length, 15, 19);
}

/* A question, documents that are compared with it, a prompt with them, and words: requests with
 * that many documents, or any number up to it. */
static void answer_questions(uint32_t least, uint32_t most)
{
    uint32_t random = 7;
    unsigned boundaries = 0, requests = 0;
    for (int i = 0; i < 1500; i++) {
        requests += period.length > 0;
        uint32_t documents = least + draw(&random, most - least + 1);
        uint32_t words = 3 + draw(&random, 20);
        boundaries +=
            wait_for_kernel(1, 60, 100 + draw(&random, 400), 80, 2000000) == PERIOD_BOUNDARY;
        while (documents-- > 0)
            boundaries +=
                wait_for_kernel(2, 60, 400 + draw(&random, 3600), 4, 2000000) == PERIOD_BOUNDARY;
        boundaries +=
            wait_for_kernel(3, 150, 5000 + draw(&random, 20000), 8, 2000000) == PERIOD_BOUNDARY;
        while (words-- > 0)
            boundaries += wait_for_kernel(3, 150, 0, 8, 2000000) == PERIOD_BOUNDARY;
    }
    assert_true(requests > 400);
    assert_in_range(boundaries, requests, requests + 1);
}

static void test_documents_of_a_question(void **state)
{
    (void)state;
    answer_questions(3, 3);
    set_up(state);
    answer_questions(1, 9);
}

/* Requests of three models in any order are one each, whichever comes seldom. */
static void test_requests_of_several_models(void **state)
{
    static const uint32_t launches[] = {20, 70, 200};
    uint32_t random = 3;
    unsigned boundaries = 0, requests = 0;
    (void)state;
    for (int i = 0; i < 6000; i++) {
        uint32_t drawn = draw(&random, 100), model = drawn < 75 ? 0 : drawn < 90 ? 1 : 2;
        requests += period.length > 0;
        boundaries += wait_for_kernel(1 + model, launches[model], 1024 << (4 * model), 256,
                                      2000000) == PERIOD_BOUNDARY;
    }
    assert_true(requests > 3000);
    assert_in_range(boundaries, requests, requests + 1);
    assert_int_equal(period_doubt(&period), TICK_KINDS);
}

/* Steps of molecules: positions in, forces out, and each twenty steps lists of neighbours. */
static void test_lists_now_and_then(void **state)
{
    unsigned boundaries = 0, steps = 0;
    (void)state;
    for (unsigned i = 0; i < 6000; i++) {
        bool lists = i % 20 == 0;
        steps += period.length > 0;
        boundaries += wait_for(lists ? 21 : 17, lists ? 3000000 : 600000, i % 23 ? 600000 : 600640,
                               1000000) == PERIOD_BOUNDARY;
    }
    assert_true(steps > 3000);
    assert_in_range(boundaries, steps, steps + 1);
    assert_int_equal(period_doubt(&period), TICK_SURE);
}

/* The same where the host waits for the lists, and has energies at steps of their own. */
static void test_lists_that_are_waited_for(void **state)
{
    unsigned boundaries = 0, steps = 0;
    (void)state;
    for (unsigned i = 0; i < 12000; i++) {
        bool lists = i % 45 == 0, energies = i % 44 == 0;
        steps += period.length > 0;
        boundaries += lists && wait_for(4, 90000, 0, 100000) == PERIOD_BOUNDARY;
        boundaries += wait_for(energies ? 6 : 4, lists ? 0 : 21748, energies ? 22388 : 21748,
                               300000) == PERIOD_BOUNDARY;
    }
    assert_true(steps > 3000);
    assert_in_range(boundaries, steps, steps + steps / 40);
}

/* Scores of what is in a cache, or is copied in first, with kernels for that before a graph. */
static void test_graphs_behind_kernels_or_none(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0, requests = 0;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        bool missed = draw(&random, 100) < 60;
        requests += period.length > 0;
        boundaries += wait_for_kernel(1, 9, 8000, 8, 1000000) == PERIOD_BOUNDARY;
        now_ns += 1000000;
        const struct mark scores = {.at_ns = now_ns,
                                    .kernel = missed ? 2 : 0,
                                    .launches = missed ? 2 : 0,
                                    .graphs = 1,
                                    .copies_in = missed,
                                    .bytes_in = missed ? 20000 : 0,
                                    .copies_out = 1,
                                    .bytes_out = 300};
        boundaries += period_add(&period, &scores, false) == PERIOD_BOUNDARY;
    }
    assert_true(requests > 1000);
    assert_in_range(boundaries, requests, requests + 1);
}

/* Words of which each has larger inputs, too: those behind a prompt are like each other. */
static void test_prompts_with_most_of_the_bytes(void **state)
{
    uint32_t random = 5;
    (void)state;
    for (int i = 0; i < 300; i++) {
        wait_for(80, 100000, 8, 1000000);
        for (uint32_t word = 0, words = 40 + draw(&random, 80); word < words; word++)
            wait_for(75, 112, 84, 1000000);
    }
    assert_true(period.length > 0);
    assert_int_equal(period_doubt(&period), TICK_KINDS);
}

/* Chunks of a sound, one behind the other, and words without an input at the end of a sentence. */
static void test_words_behind_many_inputs(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0, chunks = 0;
    (void)state;
    for (int i = 0; i < 600; i++) {
        for (uint32_t chunk = 0, most = 20 + draw(&random, 20); chunk < most; chunk++) {
            chunks += period.length > 0;
            boundaries += wait_for(13, 10000, 4, 1000000) == PERIOD_BOUNDARY;
        }
        for (uint32_t word = 0, words = 6 + draw(&random, 8); word < words; word++)
            boundaries += wait_for(12, 0, 8, 1000000) == PERIOD_BOUNDARY;
    }
    assert_true(chunks > 3000);
    assert_in_range(boundaries, chunks - 1, chunks + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_request_is_another, set_up),
        cmocka_unit_test_setup(test_texts_of_any_length, set_up),
        cmocka_unit_test_setup(test_longer_texts_of_any_length, set_up),
        cmocka_unit_test_setup(test_inputs_that_stop, set_up),
        cmocka_unit_test_setup(test_stages_of_any_size, set_up),
        cmocka_unit_test_setup(test_a_few_others_now_and_then, set_up),
        cmocka_unit_test_setup(test_a_warm_up_of_sizes, set_up),
        cmocka_unit_test_setup(test_slow_pictures, set_up),
        cmocka_unit_test_setup(test_known_and_unlike, set_up),
        cmocka_unit_test_setup(test_words_where_texts_are_known, set_up),
        cmocka_unit_test_setup(test_inputs_of_any_length, set_up),
        cmocka_unit_test_setup(test_inputs_of_several_sizes_in_turn, set_up),
        cmocka_unit_test_setup(test_stages_of_a_request, set_up),
        cmocka_unit_test_setup(test_parts_of_a_request, set_up),
        cmocka_unit_test_setup(test_words_of_texts, set_up),
        cmocka_unit_test_setup(test_inputs_of_a_start, set_up),
        cmocka_unit_test_setup(test_prompts_of_any_length, set_up),
        cmocka_unit_test_setup(test_evaluations, set_up),
        cmocka_unit_test_setup(test_steps_of_a_request, set_up),
        cmocka_unit_test_setup(test_prompts_by_turns, set_up),
        cmocka_unit_test_setup(test_two_inputs_of_a_request, set_up),
        cmocka_unit_test_setup(test_documents_of_a_question, set_up),
        cmocka_unit_test_setup(test_requests_of_several_models, set_up),
        cmocka_unit_test_setup(test_lists_now_and_then, set_up),
        cmocka_unit_test_setup(test_lists_that_are_waited_for, set_up),
        cmocka_unit_test_setup(test_graphs_behind_kernels_or_none, set_up),
        cmocka_unit_test_setup(test_prompts_with_most_of_the_bytes, set_up),
        cmocka_unit_test_setup(test_words_behind_many_inputs, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
