/* What requests send: files with one body, or with one a line, and which server sends which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "job/bodies.h"
#include "tests/unit/scratch.h"

static enum status read_bytes(const char *bytes, size_t count, bool lines, struct bodies *out)
{
    scratch_write(bytes, count);
    return bodies_read(scratch_path, lines, out);
}

static void check_body(const struct body *body, const char *bytes, size_t count)
{
    assert_int_equal(body->count, count);
    assert_memory_equal(body->bytes, bytes, count);
}

static void a_line_is_a_body_without_its_end(void **state)
{
    (void)state;
    static const char text[] = "{\"x\": 1}\r\n y \n\0z\nlast";
    struct bodies bodies;
    assert_int_equal(read_bytes(text, sizeof text - 1, true, &bodies), STATUS_OK);
    assert_int_equal(bodies.count, 4);
    check_body(&bodies.each[0], "{\"x\": 1}", 8);
    check_body(&bodies.each[1], " y ", 3);
    check_body(&bodies.each[2], "\0z", 2);
    check_body(&bodies.each[3], "last", 4);
    bodies_release(&bodies);
    assert_int_equal(read_bytes(text, 10, true, &bodies), STATUS_OK);
    assert_int_equal(bodies.count, 1);
    bodies_release(&bodies);
}

static void a_whole_file_is_one_body(void **state)
{
    (void)state;
    struct bodies bodies;
    assert_int_equal(read_bytes("a\r\n\nb\0\n", 7, false, &bodies), STATUS_OK);
    assert_int_equal(bodies.count, 1);
    check_body(&bodies.each[0], "a\r\n\nb\0\n", 7);
    bodies_release(&bodies);
    assert_int_equal(read_bytes("", 0, false, &bodies), STATUS_OK);
    assert_int_equal(bodies.count, 1);
    check_body(&bodies.each[0], "", 0);
    bodies_release(&bodies);
}

static void check_refused(const char *text, const char *words)
{
    struct bodies bodies;
    assert_int_equal(read_bytes(text, strlen(text), true, &bodies), STATUS_USAGE);
    assert_non_null(strstr(status_text(), words));
}

static void what_is_no_body_is_refused(void **state)
{
    (void)state;
    struct bodies bodies;
    check_refused("", "are empty: write one a line");
    check_refused("\n", ":1: the line is blank: delete it");
    check_refused("a\n \t\r\nb\n", ":2: the line is blank");
    check_refused("a\n\n", ":2: the line is blank");
    assert_int_equal(bodies_read("/nowhere/else", true, &bodies), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "cannot read the bodies '/nowhere/else'"));
    check_refused("", "are empty");
    assert_int_equal(truncate(scratch_path, BODY_MOST_BYTES + 1), 0);
    assert_int_equal(bodies_read(scratch_path, false, &bodies), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "is not a file of at most 16 MiB"));
    assert_int_equal(bodies_read(scratch_path, true, &bodies), STATUS_USAGE);
    assert_non_null(strstr(status_text(), ":1: the body is longer than 16 MiB"));
    assert_int_equal(truncate(scratch_path, (long)BODIES_MOST_BYTES + 1), 0);
    assert_int_equal(bodies_read(scratch_path, true, &bodies), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "is not a file of at most 256 MiB"));
}

#define MOST 12

static size_t next(const struct bodies *bodies, unsigned server, unsigned servers, uint64_t *place)
{
    return (size_t)(bodies_next(bodies, server, servers, place) - bodies->each);
}

/* The servers send by turns, as often as it takes to send all `count` times. */
static void check_servers(size_t count, unsigned servers)
{
    struct body each[MOST] = {{0}};
    const struct bodies bodies = {.each = each, .count = count};
    uint64_t places[MOST] = {0};
    size_t last[MOST][MOST];
    for (size_t turn = 0; turn < count * 2; turn++)
        for (unsigned server = 0; server < servers; server++) {
            size_t sent = next(&bodies, server, servers, &places[server]);
            last[server][turn % count] = sent;
            /* The first cycle is the file's order. */
            if (turn * servers + server < count)
                assert_int_equal(sent, turn * servers + server);
            /* Each server has sent all of them before it sends one again. */
            for (size_t i = 0; i < turn % count; i++)
                assert_int_not_equal(last[server][i], sent);
            /* And no two send the same one at a time. */
            for (unsigned other = 0; other < server && servers <= count; other++)
                assert_int_not_equal(last[other][turn % count], sent);
        }
}

static void servers_take_bodies_in_turn(void **state)
{
    (void)state;
    for (size_t count = 1; count <= MOST; count++)
        for (unsigned servers = 1; servers <= MOST; servers++)
            check_servers(count, servers);
}

static void fewer_servers_go_on(void **state)
{
    (void)state;
    struct body each[MOST] = {{0}};
    const struct bodies bodies = {.each = each, .count = MOST};
    uint64_t places[3] = {0};
    for (unsigned server = 0; server < 3; server++)
        assert_int_equal(next(&bodies, server, 3, &places[server]), server);
    assert_int_equal(next(&bodies, 0, 3, &places[0]), 3);
    assert_int_equal(next(&bodies, 0, 2, &places[0]), 4);
    assert_int_equal(next(&bodies, 1, 2, &places[1]), 3);
    assert_int_equal(next(&bodies, 0, 1, &places[0]), 5);
    assert_int_equal(next(&bodies, 2, 3, &places[2]), 5);
}

static void without_bodies_there_is_none(void **state)
{
    (void)state;
    const struct bodies bodies = {0};
    uint64_t place = 0;
    assert_null(bodies_next(&bodies, 0, 1, &place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_body_without_its_end),
        cmocka_unit_test(a_whole_file_is_one_body),
        cmocka_unit_test(what_is_no_body_is_refused),
        cmocka_unit_test(servers_take_bodies_in_turn),
        cmocka_unit_test(fewer_servers_go_on),
        cmocka_unit_test(without_bodies_there_is_none),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
