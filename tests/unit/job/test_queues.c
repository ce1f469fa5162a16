/* Which MPS clients a GPU has room for, as docs/limits.md and docs/mps.md measured it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/queues.h"

/* The budget of an H200 allows exactly as many clients as got a context there. */
static void an_h200_has_room_for_what_it_took(void **state)
{
    (void)state;
    static const struct {
        unsigned connections, clients;
    } measured[] = {{4, 31}, {8, 15}, {16, 7}, {32, 3}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const unsigned clients = measured[i].clients, connections = measured[i].connections;
        assert_true(mps_queues_fit(clients, connections, MPS_QUEUES_USUAL));
        assert_false(mps_queues_fit(clients + 1, connections, MPS_QUEUES_USUAL));
    }
    assert_true(mps_queues_fit(MPS_CLIENTS_USUAL, QUEUES_OF_CLIENT, MPS_QUEUES_USUAL));
}

static void the_server_takes_queues(void **state)
{
    (void)state;
    assert_int_equal(mps_queues(1, 32), 64);
    assert_int_equal(mps_queues(48, 2), 98);
    assert_false(mps_queues_fit(1, 32, 32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_h200_has_room_for_what_it_took),
        cmocka_unit_test(the_server_takes_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
