#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/emul/mps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/process.h"
#include "emul/model/state.h"

#define PATIENCE_NS (20 * NS_PER_S)

pid_t test_daemon;
char test_directory[64];

static struct emul_driver cuda;

/* -- the programs ------------------------------------------------------------------------------ */

static _Noreturn void exec_control(const char *option)
{
    char path[BUILT_PATH_BYTES];
    built_path("mpsweep-emulated-mps-control", path);
    execl(path, path, option, (char *)NULL);
    _exit(127);
}

int control(const char *option, const char *commands, char output[REPLY_BYTES])
{
    int in[2], out[2], status;
    size_t length = 0;
    ssize_t got;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(out[1], 2);
        exec_control(option);
    }
    close(in[0]);
    close(out[1]);
    /* A program that finds no daemon does not read. */
    if (write(in[1], commands, strlen(commands)) < 0)
        assert_int_equal(errno, EPIPE);
    close(in[1]);
    while ((got = read(out[0], output + length, REPLY_BYTES - 1 - length)) > 0)
        length += (size_t)got;
    output[length] = '\0';
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void assert_answer(const char *command, const char *expected)
{
    char output[REPLY_BYTES], line[128];
    const char *at = strstr(command, "%d");
    if (at != NULL)
        snprintf(line, sizeof line, "%.*s%d%s\n", (int)(at - command), command, (int)get_server(),
                 at + 2);
    else
        snprintf(line, sizeof line, "%s\n", command);
    assert_int_equal(control(NULL, line, output), 0);
    if (strcmp(output, expected) != 0)
        fail_msg("'%s' is answered by '%s', not '%s'", command, output, expected);
}

pid_t get_server(void)
{
    char output[REPLY_BYTES];
    assert_int_equal(control(NULL, "get_server_list\n", output), 0);
    return atoi(output);
}

bool directory_has(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", test_directory, name);
    return access(path, F_OK) == 0;
}

bool is_gone(pid_t pid)
{
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    while (process_start_time(pid) != 0) {
        if (clock_now_ns() > deadline)
            return false;
        poll(NULL, 0, 5);
    }
    return true;
}

static void wait_for_daemon(void)
{
    char output[REPLY_BYTES];
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    while (control(NULL, "get_server_list\n", output) != 0) {
        assert_true(clock_now_ns() < deadline);
        poll(NULL, 0, 5);
    }
}

int test_daemon_start(void **state)
{
    char path[128];
    (void)state;
    strcpy(test_directory, "/tmp/mpsweep-test-XXXXXX");
    if (mkdtemp(test_directory) == NULL)
        return -1;
    setenv("CUDA_MPS_PIPE_DIRECTORY", test_directory, 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", test_directory, 1);
    snprintf(path, sizeof path, "%s/output", test_directory);
    test_daemon = fork();
    if (test_daemon == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        dup2(output, 1);
        exec_control("-f");
    }
    wait_for_daemon();
    return 0;
}

static void remove_directory(void)
{
    static const char *const names[] = {"control",
                                        "control_lock",
                                        "control_privileged",
                                        "log",
                                        "nvidia-cuda-mps-control.pid",
                                        "control.log",
                                        "server.log",
                                        "output"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", test_directory, names[i]);
        unlink(path);
    }
    rmdir(test_directory);
}

int test_daemon_end(void **state)
{
    (void)state;
    if (test_daemon > 0) {
        kill(test_daemon, SIGTERM);
        waitpid(test_daemon, NULL, 0);
    }
    test_daemon = 0;
    remove_directory();
    return 0;
}

/* -- clients ----------------------------------------------------------------------------------- */

static int client_told_fd, client_tell_fd;

struct order {
    int32_t what, argument;
};

#define ORDER_END (-1)

static void stray(cuda_module module)
{
    cuda_function function;
    cuda_device_pointer memory;
    int zero = 0, elements = 1000;
    CHECK_EQUAL(cuda.module_get_function(&function, module, "mpsweep_add_constant"), 0);
    CHECK_EQUAL(cuda.mem_alloc(&memory, sizeof(int)), 0);
    void *parameters[] = {&memory, &memory, &zero, &elements, &zero};
    CHECK_EQUAL(cuda.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), 0);
}

static int32_t delay(cuda_module module, int32_t ms)
{
    cuda_function function;
    uint64_t cycles = (uint64_t)ms * NS_PER_MS;
    void *parameters[] = {&cycles};
    CHECK_EQUAL(cuda.module_get_function(&function, module, "mpsweep_delay"), 0);
    return cuda.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
}

static int32_t obey(const struct order *order, cuda_module module)
{
    cuda_device_pointer memory;
    cuda_context context;
    size_t left, total;
    int32_t result;
    switch (order->what) {
    case CLIENT_SYNC:
        return cuda.ctx_synchronize();
    case CLIENT_ALLOC:
        return cuda.mem_alloc(&memory, (size_t)order->argument << 20);
    case CLIENT_FREE:
        result = cuda.mem_get_info(&left, &total);
        return result == 0 ? (int32_t)(left >> 20) : -result;
    case CLIENT_DELAY:
        return delay(module, order->argument);
    case CLIENT_STRAY:
        stray(module);
        return cuda.ctx_synchronize();
    case CLIENT_RELEASE:
        return cuda.primary_ctx_release(0);
    case CLIENT_RENEW:
        result = cuda.primary_ctx_release(0);
        return result == 0 ? cuda.primary_ctx_retain(&context, 0) : result;
    default:
        _exit(CHECK_FAILED);
    }
}

static void answer(int32_t result)
{
    CHECK_EQUAL(write(client_tell_fd, &result, sizeof result), sizeof result);
}

static void body_client(void)
{
    int32_t results[3] = {-1, -1, -1};
    cuda_context context;
    cuda_module module = NULL;
    struct order order;
    emul_driver_load(&cuda);
    results[2] = cuda.init(0);
    if (results[2] == 0) {
        CHECK_EQUAL(cuda.device_get_attribute(&results[0], CUDA_ATTRIBUTE_MPS_ENABLED, 0), 0);
        CHECK_EQUAL(cuda.device_get_attribute(&results[1], CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
                    0);
        results[2] = cuda.primary_ctx_retain(&context, 0);
    }
    if (results[2] == 0) {
        CHECK_EQUAL(cuda.ctx_set_current(context), 0);
        CHECK_EQUAL(cuda.module_load_data(&module, ""), 0);
    }
    CHECK_EQUAL(write(client_tell_fd, results, sizeof results), sizeof results);
    for (;;) {
        CHECK_EQUAL(read(client_told_fd, &order, sizeof order), sizeof order);
        if (order.what == ORDER_END)
            break;
        answer(obey(&order, module));
    }
    answer(results[2] == 0 ? cuda.ctx_synchronize() : -1);
}

struct client start_client(const char *variable, const char *value)
{
    int to[2], from[2];
    int32_t results[3];
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    client_told_fd = to[0];
    client_tell_fd = from[1];
    struct client client = {
        .pid = start_child(body_client, variable, value), .told_fd = from[0], .tell_fd = to[1]};
    close(to[0]);
    close(from[1]);
    assert_int_equal(read(client.told_fd, results, sizeof results), sizeof results);
    client.mps = results[0];
    client.multiprocessors = results[1];
    client.result = results[2];
    return client;
}

void tell_client(const struct client *client, enum client_order what, int32_t argument)
{
    const struct order order = {(int32_t)what, argument};
    assert_int_equal(write(client->tell_fd, &order, sizeof order), sizeof order);
}

int32_t hear_client(const struct client *client)
{
    int32_t result;
    assert_int_equal(read(client->told_fd, &result, sizeof result), sizeof result);
    return result;
}

int32_t order_client(const struct client *client, enum client_order order, int32_t argument)
{
    tell_client(client, order, argument);
    return hear_client(client);
}

static void forget(struct client *client, int expected)
{
    int status;
    close(client->tell_fd);
    close(client->told_fd);
    assert_int_equal(waitpid(client->pid, &status, 0), client->pid);
    assert_int_equal(status, expected);
}

int32_t end_client(struct client *client)
{
    const struct order order = {ORDER_END, 0};
    assert_int_equal(write(client->tell_fd, &order, sizeof order), sizeof order);
    int32_t result = hear_client(client);
    forget(client, 0);
    return result;
}

void kill_client(struct client *client)
{
    kill(client->pid, SIGKILL);
    forget(client, SIGKILL);
}
