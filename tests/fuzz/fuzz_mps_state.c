/* The record of a daemon that runs by itself: any bytes. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mps/state.h"
#include "tests/fuzz/target.h"

const char fuzz_target_name[] = "mps_state";

#define UNTOUCHED 77

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct mps_state state = {.guard = {UNTOUCHED, UNTOUCHED}, .gpu = "untouched"};
    enum status status = mps_state_parse((const char *)data, bytes, &state);
    if (status != STATUS_OK) {
        check(status == STATUS_PROTOCOL && *status_text() != '\0');
        check(state.guard.pid == UNTOUCHED && state.guard.start_time == UNTOUCHED &&
              strcmp(state.gpu, "untouched") == 0);
        return 0;
    }
    check(state.guard.pid > 0 && state.guard.start_time <= INT64_MAX);
    check(state.daemon.pid >= 0 && state.daemon.start_time <= INT64_MAX);
    check(memchr(state.gpu, '\0', sizeof state.gpu) != NULL);
    check(memchr(state.started, '\0', sizeof state.started) != NULL);
    check(memchr(state.control_program, '\0', sizeof state.control_program) != NULL);
    return 0;
}
