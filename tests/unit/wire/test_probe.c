/* The probe mode of the worker program, on the emulated GPU. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/child.h"
#include "common/clock.h"
#include "device/cuda_abi.h"
#include "wire/probe.h"

#define PATIENCE_NS (60 * NS_PER_S)

static char worker[4096], driver[4096];

static int find_programs(void **state)
{
    (void)state;
    const char *directory = getenv("MPSWEEP_BUILD_DIR");
    snprintf(worker, sizeof worker, "%s/mpsweep-worker", directory ? directory : ".");
    snprintf(driver, sizeof driver, "%s/mpsweep-emulated-cuda.so", directory ? directory : ".");
    return 0;
}

static void answers_are_checked(void **state)
{
    (void)state;
    const struct worker_probe good = {.magic = WORKER_PROBE_MAGIC, .version = WORKER_PROBE_VERSION};
    struct worker_probe bad = good;
    assert_int_equal(worker_probe_check(&good, sizeof good), STATUS_OK);
    assert_int_equal(worker_probe_check(&good, sizeof good - 1), STATUS_PROTOCOL);
    assert_int_equal(worker_probe_check(&good, 0), STATUS_PROTOCOL);
    bad.magic++;
    assert_int_equal(worker_probe_check(&bad, sizeof bad), STATUS_PROTOCOL);
    bad = good;
    bad.version++;
    assert_int_equal(worker_probe_check(&bad, sizeof bad), STATUS_PROTOCOL);
    bad = good;
    memset(bad.uuid, 'x', sizeof bad.uuid);
    assert_int_equal(worker_probe_check(&bad, sizeof bad), STATUS_PROTOCOL);
    bad = good;
    memset(bad.error, 'x', sizeof bad.error);
    assert_int_equal(worker_probe_check(&bad, sizeof bad), STATUS_PROTOCOL);
}

/* A probe whose input has ended already; its exit status. */
static int probe(const char *library, const char *fault, struct worker_probe *out, char text[256])
{
    char fault_text[128];
    const char *const argv[] = {worker, "--probe", "--driver", library, NULL};
    const char *const set[] = {"CUDA_MPS_PIPE_DIRECTORY=/nonexistent", fault ? fault_text : NULL,
                               NULL};
    const char *const unset[] = {"MPSWEEP_EMULATED_FAULT", "MPSWEEP_EMULATED_FD", NULL};
    snprintf(fault_text, sizeof fault_text, "MPSWEEP_EMULATED_FAULT=%s", fault ? fault : "");
    const struct child_options options = {
        .argv = argv,
        .env_set = set,
        .env_unset = unset,
        .output_cap = sizeof *out + 1,
        .deadline_ns = clock_now_ns() + PATIENCE_NS,
        .capture_stderr = true,
    };
    struct child_result result;
    assert_int_equal(child_run(&options, &result), STATUS_OK);
    assert_true(WIFEXITED(result.wait_status));
    snprintf(text, 256, "%s", result.errors);
    memset(out, 0, sizeof *out);
    if (result.output_bytes > 0) {
        assert_int_equal(worker_probe_check((const void *)result.output, result.output_bytes),
                         STATUS_OK);
        memcpy(out, result.output, sizeof *out);
    }
    int status = WEXITSTATUS(result.wait_status);
    child_result_release(&result);
    return status;
}

static void what_a_client_sees_is_told(void **state)
{
    (void)state;
    struct worker_probe got;
    char text[256];
    assert_int_equal(probe(driver, NULL, &got, text), 0);
    assert_string_equal(text, "");
    assert_int_equal(got.magic, WORKER_PROBE_MAGIC);
    assert_int_equal(got.cuda_error, 0);
    assert_string_equal(got.error, "");
    assert_int_equal(got.mps, 0);
    assert_true(got.sms > 0);
    assert_true(got.memory_free_bytes > 0);
    assert_memory_equal(got.uuid, "GPU-", 4);
}

static void a_refusal_is_an_answer(void **state)
{
    (void)state;
    struct worker_probe got;
    char text[256];
    assert_int_equal(probe(driver, "cuDevicePrimaryCtxRetain=error:2", &got, text), 0);
    assert_int_equal(got.magic, WORKER_PROBE_MAGIC);
    assert_int_equal(got.cuda_error, CUDA_OUT_OF_MEMORY);
    assert_non_null(strstr(got.error, "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2)"));
    assert_int_equal(got.sms, 0);
    assert_int_equal(probe(driver, "cuInit=error:808", &got, text), 0);
    assert_int_equal(got.cuda_error, CUDA_MPS_MAX_CLIENTS_REACHED);
}

static void a_server_that_starts_is_waited_for(void **state)
{
    (void)state;
    struct worker_probe got;
    char text[256];
    assert_int_equal(probe(driver,
                           "cuInit=error:807,cuDevicePrimaryCtxRetain=error:807,"
                           "cuDevicePrimaryCtxRetain#2=error:807",
                           &got, text),
                     0);
    assert_int_equal(got.cuda_error, 0);
    assert_true(got.sms > 0);
}

static void no_driver_is_no_answer(void **state)
{
    (void)state;
    struct worker_probe got;
    char text[256];
    assert_int_equal(probe("/nonexistent.so", NULL, &got, text), STATUS_NOT_FOUND);
    assert_non_null(strstr(text, "cannot load '/nonexistent.so'"));
    assert_int_equal(got.magic, 0);
}

static void it_stays_until_its_input_ends(void **state)
{
    (void)state;
    int input[2], output[2], pidfd, wait_status = -1;
    pid_t pid;
    struct worker_probe got;
    const char *const argv[] = {worker, "--probe", "--driver", driver, NULL};
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    const struct child_spawn_options options = {
        .argv = argv, .stdin_fd = input[0], .stdout_fd = output[1], .stderr_fd = -1};
    assert_int_equal(child_spawn(&options, &pid, &pidfd), STATUS_OK);
    close(input[0]);
    close(output[1]);
    struct pollfd answer = {.fd = output[0], .events = POLLIN};
    assert_int_equal(poll(&answer, 1, (int)(PATIENCE_NS / NS_PER_MS)), 1);
    assert_int_equal(read(output[0], &got, sizeof got), sizeof got);
    assert_int_equal(worker_probe_check(&got, sizeof got), STATUS_OK);
    /* Its messages do not end it. */
    assert_int_equal(write(input[1], "x", 1), 1);
    assert_int_equal(child_wait(pid, pidfd, clock_now_ns() + 50 * NS_PER_MS, &wait_status),
                     STATUS_TIMEOUT);
    close(input[1]);
    assert_int_equal(child_wait(pid, pidfd, clock_now_ns() + PATIENCE_NS, &wait_status), STATUS_OK);
    assert_int_equal(wait_status, 0);
    close(output[0]);
    close(pidfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_checked),
        cmocka_unit_test(what_a_client_sees_is_told),
        cmocka_unit_test(a_refusal_is_an_answer),
        cmocka_unit_test(a_server_that_starts_is_waited_for),
        cmocka_unit_test(no_driver_is_no_answer),
        cmocka_unit_test(it_stays_until_its_input_ends),
    };
    return cmocka_run_group_tests(tests, find_programs, NULL);
}
