/* The record of a daemon that goes on by itself: only what we wrote, where we wrote it, counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mps/state.h"
#include "tests/unit/mps/harness.h"

static const struct mps_state sample = {
    .guard = {4711, 123456789},
    .daemon = {4712, 123456790},
    .gpu = "GPU-0f1e2d3c-1111-2222-3333-444455556666",
    .started = "2026-01-31T08:00:00Z",
    .control_program = "/usr/bin/a \"quoted\" \\ \303\244 control",
};

/* -- the text ---------------------------------------------------------------------------------- */

#define GUARD "\"guard\":{\"pid\":5,\"start_time\":6}"
#define DAEMON "\"daemon\":{\"pid\":7,\"start_time\":8}"
#define PLACE "\"directory\":{\"device\":9,\"inode\":10}"
#define TEXTS "\"gpu\":\"\",\"started\":\"s\",\"control_program\":\"c\""
#define RECORD(head, guard, daemon, place, texts)                                                  \
    "{" head "," guard "," daemon "," place "," texts "}"
#define HEAD "\"type\":\"mps\",\"schema\":1"
#define TEN "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void good_texts_are_read(void **state)
{
    (void)state;
    struct mps_state read;
    static const char text[] = RECORD(HEAD, GUARD, DAEMON, PLACE, TEXTS);
    ASSERT_OK(mps_state_parse(text, sizeof text - 1, &read));
    assert_int_equal(read.guard.pid, 5);
    assert_int_equal(read.guard.start_time, 6);
    assert_int_equal(read.daemon.pid, 7);
    assert_int_equal(read.daemon.start_time, 8);
    assert_int_equal(read.directory_device, 9);
    assert_int_equal(read.directory_inode, 10);
    assert_string_equal(read.gpu, "");
    assert_string_equal(read.started, "s");
    assert_string_equal(read.control_program, "c");
    /* A later version may have more. A daemon that ended has no process; inodes have 64 bits. */
    static const char *const others[] = {
        RECORD(HEAD ",\"more\":[1]", GUARD, DAEMON, PLACE, TEXTS),
        RECORD(HEAD, GUARD, "\"daemon\":{\"pid\":0,\"start_time\":0}", PLACE, TEXTS),
        RECORD(HEAD, GUARD, DAEMON, "\"directory\":{\"device\":0,\"inode\":-1}", TEXTS),
        RECORD(HEAD, GUARD, DAEMON, PLACE,
               "\"gpu\":\"" SIXTY "123\",\"started\":\"\",\"control_program\":\"\""),
        " " RECORD(HEAD, GUARD, DAEMON, PLACE, TEXTS) "\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (mps_state_parse(others[i], strlen(others[i]), &read) != STATUS_OK)
            fail_msg("%s: %s", others[i], status_text());
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        " ",
        "{}",
        "[]",
        "null",
        "7",
        "no json at all",
        "{\"guard\":",
        RECORD(HEAD, GUARD, DAEMON, PLACE, TEXTS) "x",
        RECORD(HEAD, GUARD, DAEMON, PLACE, TEXTS) RECORD(HEAD, GUARD, DAEMON, PLACE, TEXTS),
        "[" RECORD(HEAD, GUARD, DAEMON, PLACE, TEXTS) "]",
        /* of another kind or schema */
        RECORD("\"type\":\"point\",\"schema\":1", GUARD, DAEMON, PLACE, TEXTS),
        RECORD("\"schema\":1", GUARD, DAEMON, PLACE, TEXTS),
        RECORD("\"type\":\"mps\"", GUARD, DAEMON, PLACE, TEXTS),
        RECORD("\"type\":\"mps\",\"schema\":0", GUARD, DAEMON, PLACE, TEXTS),
        RECORD("\"type\":\"mps\",\"schema\":2", GUARD, DAEMON, PLACE, TEXTS),
        RECORD("\"type\":\"mps\",\"schema\":4294967297", GUARD, DAEMON, PLACE, TEXTS),
        RECORD("\"type\":\"mps\",\"schema\":\"1\"", GUARD, DAEMON, PLACE, TEXTS),
        RECORD("\"type\":\"mps\",\"schema\":1.0", GUARD, DAEMON, PLACE, TEXTS),
        /* given twice */
        RECORD(HEAD ",\"schema\":1", GUARD, DAEMON, PLACE, TEXTS),
        RECORD(HEAD, GUARD "," GUARD, DAEMON, PLACE, TEXTS),
        RECORD(HEAD, "\"guard\":{\"pid\":5,\"pid\":5,\"start_time\":6}", DAEMON, PLACE, TEXTS),
        /* not given */
        RECORD(HEAD, "\"x\":0", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, GUARD, "\"x\":0", PLACE, TEXTS),
        RECORD(HEAD, GUARD, DAEMON, "\"x\":0", TEXTS),
        RECORD(HEAD, GUARD, DAEMON, PLACE, "\"gpu\":\"\",\"started\":\"s\""),
        RECORD(HEAD, "\"guard\":{\"pid\":5}", DAEMON, PLACE, TEXTS),
        /* numbers that no process has */
        RECORD(HEAD, "\"guard\":{\"pid\":0,\"start_time\":6}", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, "\"guard\":{\"pid\":-1,\"start_time\":6}", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, "\"guard\":{\"pid\":4294967297,\"start_time\":6}", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, "\"guard\":{\"pid\":99999999999999999999,\"start_time\":6}", DAEMON, PLACE,
               TEXTS),
        RECORD(HEAD, "\"guard\":{\"pid\":5.5,\"start_time\":6}", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, "\"guard\":{\"pid\":5,\"start_time\":-6}", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, "\"guard\":{\"pid\":5,\"start_time\":\"6\"}", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, "\"guard\":5", DAEMON, PLACE, TEXTS),
        RECORD(HEAD, GUARD, "\"daemon\":{\"pid\":-7,\"start_time\":8}", PLACE, TEXTS),
        RECORD(HEAD, GUARD, "\"daemon\":{\"pid\":4294967303,\"start_time\":8}", PLACE, TEXTS),
        RECORD(HEAD, GUARD, "\"daemon\":{\"pid\":7,\"start_time\":-8}", PLACE, TEXTS),
        /* texts that would not fit, hold a NUL, or are none */
        RECORD(HEAD, GUARD, DAEMON, PLACE,
               "\"gpu\":\"" SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY SIXTY
                   SIXTY "\",\"started\":\"s\",\"control_program\":\"c\""),
        RECORD(HEAD, GUARD, DAEMON, PLACE,
               "\"gpu\":\"\",\"started\":\"" SIXTY "\",\"control_program\":\"c\""),
        RECORD(HEAD, GUARD, DAEMON, PLACE,
               "\"gpu\":\"a\\u0000b\",\"started\":\"s\",\"control_program\":\"c\""),
        RECORD(HEAD, GUARD, DAEMON, PLACE,
               "\"gpu\":\"\377\",\"started\":\"s\",\"control_program\":\"c\""),
        RECORD(HEAD, GUARD, DAEMON, PLACE,
               "\"gpu\":null,\"started\":\"s\",\"control_program\":\"c\""),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mps_state read;
        memset(&read, 7, sizeof read);
        const struct mps_state before = read;
        if (mps_state_parse(rows[i], strlen(rows[i]), &read) != STATUS_PROTOCOL)
            fail_msg("'%s' is taken", rows[i]);
        assert_memory_equal(&read, &before, sizeof read);
    }
}

static void nothing_is_read_beyond_the_end(void **state)
{
    (void)state;
    static const char text[] = RECORD(HEAD, GUARD, DAEMON, PLACE, TEXTS);
    for (size_t bytes = 0; bytes < sizeof text - 1; bytes++) {
        struct mps_state read;
        char *cut = malloc(bytes ? bytes : 1);
        assert_non_null(cut);
        memcpy(cut, text, bytes);
        assert_int_equal(mps_state_parse(cut, bytes, &read), STATUS_PROTOCOL);
        free(cut);
    }
}

/* -- the file ---------------------------------------------------------------------------------- */

/* BASE/dir of mode 0700 with the sample's record. */
static const char *make_kept(void)
{
    const char *path = mps_path("dir");
    assert_int_equal(mkdir(path, 0700), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    ASSERT_OK(mps_state_write(fd, &sample));
    close(fd);
    return path;
}

static void remove_kept(void)
{
    remove(mps_path("dir/state"));
    assert_int_equal(rmdir(mps_path("dir")), 0);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct mps_state read;
    struct stat info;
    const char *path = make_kept();
    memset(&read, 7, sizeof read);
    ASSERT_OK(mps_state_read(path, &read));
    assert_int_equal(read.guard.pid, sample.guard.pid);
    assert_int_equal(read.guard.start_time, sample.guard.start_time);
    assert_int_equal(read.daemon.pid, sample.daemon.pid);
    assert_int_equal(read.daemon.start_time, sample.daemon.start_time);
    assert_string_equal(read.gpu, sample.gpu);
    assert_string_equal(read.started, sample.started);
    assert_string_equal(read.control_program, sample.control_program);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(read.directory_device, info.st_dev);
    assert_int_equal(read.directory_inode, info.st_ino);
    assert_int_equal(stat(mps_path("dir/state"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(mps_entries(path), 1);
    remove_kept();
}

/* The longest texts, of which each character takes six in JSON. */
static void the_longest_record_fits(void **state)
{
    (void)state;
    struct mps_state longest = sample, read;
    const char *path = make_kept();
    memset(longest.gpu, 1, sizeof longest.gpu - 1);
    memset(longest.control_program, 1, sizeof longest.control_program - 1);
    longest.guard = (struct process_identity){0x7fffffff, INT64_MAX};
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_OK(mps_state_write(fd, &longest));
    close(fd);
    ASSERT_OK(mps_state_read(path, &read));
    assert_string_equal(read.control_program, longest.control_program);
    assert_int_equal(read.guard.start_time, INT64_MAX);
    remove_kept();
}

static void a_record_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    const char *path = make_kept();
    struct mps_state read;
    assert_int_equal(mkdir(mps_path("dir/state.new"), 0700), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_ERROR(mps_state_write(fd, &sample), STATUS_SYSTEM, "cannot write the daemon's record");
    /* A link at the place of the new one is not followed. */
    assert_int_equal(rmdir(mps_path("dir/state.new")), 0);
    mps_write_file(mps_path("victim"), "mine");
    assert_int_equal(symlink(mps_path("victim"), mps_path("dir/state.new")), 0);
    ASSERT_ERROR(mps_state_write(fd, &sample), STATUS_SYSTEM, "cannot write the daemon's record");
    struct stat info;
    assert_int_equal(stat(mps_path("victim"), &info), 0);
    assert_int_equal(info.st_size, 4);
    close(fd);
    ASSERT_OK(mps_state_read(path, &read)); /* the one before */
    unlink(mps_path("dir/state.new"));
    unlink(mps_path("victim"));
    remove_kept();
}

static void moved_and_copied_directories_are_told(void **state)
{
    (void)state;
    struct mps_state read;
    make_kept();
    assert_int_equal(mkdir(mps_path("copy"), 0700), 0);
    assert_int_equal(link(mps_path("dir/state"), mps_path("copy/state")), 0);
    ASSERT_ERROR(mps_state_read(mps_path("copy"), &read), STATUS_USAGE, "a copy, or moved");
    unlink(mps_path("copy/state"));
    rmdir(mps_path("copy"));
    /* A directory keeps its inode under another name, and what is in it is still its own. */
    assert_int_equal(rename(mps_path("dir"), mps_path("moved")), 0);
    ASSERT_OK(mps_state_read(mps_path("moved"), &read));
    assert_int_equal(rename(mps_path("moved"), mps_path("dir")), 0);
    remove_kept();
}

static void odd_places_are_refused(void **state)
{
    (void)state;
    struct mps_state read;
    static const mode_t modes[] = {0755, 0750, 0710, 0701, 0770, 0777, 01777};
    const char *path = make_kept();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        ASSERT_ERROR(mps_state_read(path, &read), STATUS_USAGE, "can be entered by others");
    }
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(symlink(path, mps_path("link")), 0);
    ASSERT_ERROR(mps_state_read(mps_path("link"), &read), STATUS_USAGE, "or a link");
    unlink(mps_path("link"));
    ASSERT_ERROR(mps_state_read(mps_path("dir/state"), &read), STATUS_USAGE, "not a directory");
    ASSERT_ERROR(mps_state_read(mps_path("nothing"), &read), STATUS_NOT_FOUND, "no directory");
    ASSERT_ERROR(mps_state_read(mps_path("dir/state/x"), &read), STATUS_USAGE, "not a directory");
    unlink(mps_path("dir/state"));
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_NOT_FOUND, "holds no MPS daemon");
    remove_kept();
}

static void a_directory_of_somebody_else_is_refused(void **state)
{
    (void)state;
    struct mps_state read;
    if (geteuid() != 0)
        skip();
    const char *path = make_kept();
    assert_int_equal(chown(path, 65534, 65534), 0);
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_USAGE, "belongs to user 65534");
    remove_kept();
}

static void odd_files_are_refused(void **state)
{
    (void)state;
    struct mps_state read;
    const char *path = make_kept(), *file = mps_path("dir/state"), *real = mps_path("real");
    char huge[20001];
    /* A good record, but not in its place. */
    assert_int_equal(rename(file, real), 0);
    assert_int_equal(symlink(real, file), 0);
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_NOT_FOUND, "holds no MPS daemon");
    unlink(file);
    unlink(real);
    /* No process writes to it, and then one that sends nothing. */
    assert_int_equal(mkfifo(file, 0600), 0);
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_PROTOCOL, "no record");
    int fd = open(file, O_RDWR | O_CLOEXEC);
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_SYSTEM, "cannot read");
    close(fd);
    unlink(file);
    assert_int_equal(mkdir(file, 0700), 0);
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_SYSTEM, "cannot read");
    rmdir(file);
    memset(huge, ' ', sizeof huge - 1);
    memcpy(huge, "{\"schema\":1,\"x\":\"", 17);
    huge[sizeof huge - 1] = '\0';
    mps_write_file(file, huge);
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_PROTOCOL, "dir/state': no record");
    mps_write_file(file, "");
    ASSERT_ERROR(mps_state_read(path, &read), STATUS_PROTOCOL, "no record");
    remove_kept();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_are_read),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(nothing_is_read_beyond_the_end),
        cmocka_unit_test_setup_teardown(what_was_written_is_read, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(the_longest_record_fits, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_record_that_cannot_be_written_is_an_error, mps_begin,
                                        mps_end),
        cmocka_unit_test_setup_teardown(moved_and_copied_directories_are_told, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(odd_places_are_refused, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_directory_of_somebody_else_is_refused, mps_begin,
                                        mps_end),
        cmocka_unit_test_setup_teardown(odd_files_are_refused, mps_begin, mps_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
