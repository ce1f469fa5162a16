#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "orchestrator/crew/crew.h"
#include "orchestrator/crew/ports.h"
#include "common/text.h"

/* A crew whose processes were never started, after an error. */
static struct crew made(void)
{
    const struct point point = {.processes = 2, .threads = 1};
    const struct shm_settings settings = {0};
    struct crew crew = CREW_EMPTY;
    assert_int_equal(crew_make(&crew, &point, 1, &settings), STATUS_OK);
    assert_int_equal(crew.pool.count, 2);
    return crew;
}

static void a_long_error_outlives_the_end_of_a_crew(void **state)
{
    (void)state;
    char text[STATUS_TEXT_BYTES];
    struct session session = {.signal_fd = -1, .machine_fd = -1};
    struct crew crew = made();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    enum status status = status_set(STATUS_WORKER, "%s", text);
    assert_int_equal(crew_dismiss_after(&crew, &session, 0, status), STATUS_WORKER);
    assert_string_equal(status_text(), text);
}

static void an_ended_crew_is_empty(void **state)
{
    (void)state;
    struct session session = {.signal_fd = -1, .machine_fd = -1};
    struct crew crew = made();
    int event_fd = crew.pool.event_fd;
    assert_int_equal(crew_dismiss(&crew, &session, 0), STATUS_OK);
    assert_int_equal(crew.pool.count, 0);
    assert_int_equal(close(event_fd), -1);
    assert_int_equal(crew_dismiss(&crew, &session, 0), STATUS_OK);
}

static void ports_end_at_the_last_one(void **state)
{
    (void)state;
    struct ports ports;
    assert_int_equal(ports_find(65535, 2, &ports), STATUS_NOT_FOUND);
    assert_string_equal(status_text(),
                        "no 2 free ports in a row from 65535 on: give another --port");
    assert_int_equal(ports.first, 0);
    ports_release(&ports);
}

/* Two runs start at the same time, and look from the same port on. */
static void ports_are_held_until_they_are_released(void **state)
{
    (void)state;
    struct ports first, second, third;
    assert_int_equal(ports_find(20000, 3, &first), STATUS_OK);
    assert_int_equal(ports_find(first.first, 2, &second), STATUS_OK);
    assert_true(second.first >= first.first + 3);
    assert_int_equal(ports_find(second.first, 2, &third), STATUS_OK);
    assert_true(third.first >= second.first + 2);
    ports_release(&first);
    ports_release(&second);
    ports_release(&third);
}

static void a_list_without_memory_keeps_its_words(void **state)
{
    (void)state;
    struct word_list words = {0};
    for (int i = 0; i < 100; i++)
        word_list_add(&words, "word %d", i);
    assert_false(words.failed);
    word_list_take(&words, NULL);
    assert_true(words.failed);
    assert_int_equal(words.count, 100);
    assert_string_equal(words.words[99], "word 99");
    assert_null(words.words[100]);
    word_list_release(&words);
    assert_false(words.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_error_outlives_the_end_of_a_crew),
        cmocka_unit_test(an_ended_crew_is_empty),
        cmocka_unit_test(ports_end_at_the_last_one),
        cmocka_unit_test(ports_are_held_until_they_are_released),
        cmocka_unit_test(a_list_without_memory_keeps_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
