#include "tests/unit/mps/harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/process.h"

#define PATIENCE_NS (30 * NS_PER_S)

char mps_base[32];

int mps_begin(void **state)
{
    (void)state;
    strcpy(mps_base, "/tmp/mpt-XXXXXX");
    unsetenv("XDG_RUNTIME_DIR");
    return mkdtemp(mps_base) && setenv("TMPDIR", mps_base, 1) == 0 ? 0 : -1;
}

int mps_end(void **state)
{
    (void)state;
    unlink(mps_path("control"));
    unlink(mps_path("orders"));
    if (rmdir(mps_base) == 0)
        return 0;
    fprintf(stderr, "left in %s: %s\n", mps_base, strerror(errno));
    return -1;
}

const char *mps_path(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    assert_true(snprintf(path, sizeof paths[0], "%s/%s", mps_base, name) < (int)sizeof paths[0]);
    return path;
}

void mps_write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

bool mps_is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

size_t mps_entries(const char *path)
{
    size_t count = 0;
    DIR *stream = opendir(path);
    assert_non_null(stream);
    while (readdir(stream))
        count++;
    closedir(stream);
    return count - 2;
}

void mps_await_end(pid_t pid)
{
    uint64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    while (process_start_time(pid) != 0) {
        if (clock_now_ns() > deadline_ns)
            fail_msg("process %d does not end", (int)pid);
        poll(NULL, 0, 5);
    }
}

const char *mps_script(const char *daemon_action, const struct mps_answer *answers)
{
    const char *path = mps_path("control");
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nif [ \"${1-}\" = -f ]; then\n%s\nexit\nfi\nIFS= read -r line\n",
            daemon_action ? daemon_action : "exit 1");
    fprintf(file, "printf '%%s\\n' \"$line\" >>'%s'\ncase $line in\n", mps_path("orders"));
    for (; answers->command; answers++)
        fprintf(file, "%s)\n%s\n;;\n", answers->command, answers->action);
    fputs("esac\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

const char *mps_orders(void)
{
    static char text[2048];
    const char *path = mps_path("orders");
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    unlink(path);
    return text;
}

struct mps_controller *mps_start_controller(const char *control, const char *directory)
{
    static char guard[512], program[512], worker[512], driver[512];
    const char *build = getenv("MPSWEEP_BUILD_DIR");
    struct mps_controller *controller = NULL;
    build = build ? build : MPSWEEP_BUILD_DIR;
    snprintf(guard, sizeof guard, "%s/mpsweep-guard", build);
    snprintf(program, sizeof program, "%s%s%s", *control == '/' ? "" : build,
             *control == '/' ? "" : "/", control);
    snprintf(worker, sizeof worker, "%s/mpsweep-worker", build);
    snprintf(driver, sizeof driver, "%s/mpsweep-emulated-cuda.so", build);
    const struct mps_controller_options options = {.guard_program = guard,
                                                   .control_program = program,
                                                   .probe_program = worker,
                                                   .probe_driver = driver,
                                                   .directory = directory};
    ASSERT_OK(mps_controller_new(&options, &controller));
    return controller;
}

void mps_touch(const char *name)
{
    mps_write_file(mps_path(name), "");
}

void mps_make_directory(const char *name, mode_t mode)
{
    assert_int_equal(mkdir(mps_path(name), 0700), 0);
    assert_int_equal(chmod(mps_path(name), mode), 0);
}

void mps_assert_private(const struct mps_directory *directory)
{
    struct stat info;
    assert_int_equal(stat(directory->path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(mps_entries(directory->path), 4);
    assert_true(directory->fd >= 0 && directory->lock_fd >= 0);
    assert_int_equal(fcntl(directory->fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(directory->lock_fd, F_GETFD), FD_CLOEXEC);
}

void mps_abandon(struct mps_directory *directory)
{
    close(directory->lock_fd);
    close(directory->fd);
}
