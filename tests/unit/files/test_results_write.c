#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "files/results_write.h"

#define ADVICE "--resume"

static char directory[] = "/tmp/mpsweep-test-out-XXXXXX";
static char path[64];

static int begin(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/x.jsonl", directory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static long long size_of(const char *name)
{
    struct stat info;
    return stat(name, &info) == 0 ? (long long)info.st_size : -1;
}

static enum status write_record(struct results_writer *writer, const char *text)
{
    json_t *record = json_pack("{s:s}", "text", text);
    enum status status = results_write(writer, record);
    json_decref(record);
    return status;
}

static void records_are_lines(void **state)
{
    (void)state;
    struct results_writer writer;
    char text[64] = "";
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "a\nb"), STATUS_OK);
    assert_int_equal(write_record(&writer, "c"), STATUS_OK);
    assert_int_equal(writer.whole_bytes, size_of(path));
    results_close(&writer);
    int fd = open(path, O_RDONLY);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_string_equal(text, "{\"text\":\"a\\nb\"}\n{\"text\":\"c\"}\n");
}

static enum status write_header(struct results_writer *writer)
{
    json_t *record = json_pack("{s:s, s:i}", "type", "header", "schema", RESULTS_SCHEMA);
    enum status status = results_write(writer, record);
    json_decref(record);
    return status;
}

static void add_bytes(const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (long)strlen(text));
    close(fd);
}

static void existing_files_are_safe(void **state)
{
    (void)state;
    struct results_writer writer, second;
    struct results results;
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_OK);
    assert_int_equal(write_header(&writer), STATUS_OK);
    long long whole = writer.whole_bytes;
    assert_int_equal(results_create(path, ADVICE, &second), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "exists: give --resume"));
    /* Still being written. */
    assert_int_equal(results_continue(path, NULL, &results, &second), STATUS_BUSY);
    assert_non_null(strstr(status_text(), "is being written by another mpsweep: wait for it"));
    assert_int_equal(results_claim(path, &second), STATUS_BUSY);
    results_close(&writer);
    assert_int_equal(size_of(path), whole);
    assert_int_equal(results_claim(path, &second), STATUS_OK);
    assert_int_equal(results_continue(path, NULL, &results, &writer), STATUS_BUSY);
    results_close(&second);
    assert_int_equal(size_of(path), whole);
}

/* Invariant F2. */
static void the_first_record_cuts_the_torn_line(void **state)
{
    (void)state;
    struct results_writer writer;
    struct results results;
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_OK);
    assert_int_equal(write_header(&writer), STATUS_OK);
    long long whole = writer.whole_bytes;
    results_close(&writer);
    add_bytes("{\"tor");
    assert_int_equal(results_continue(path, NULL, &results, &writer), STATUS_OK);
    assert_true(results.torn);
    results_release(&results);
    /* A writer that writes nothing leaves it as it is. */
    assert_int_equal(size_of(path), whole + 5);
    assert_int_equal(write_header(&writer), STATUS_OK);
    results_close(&writer);
    assert_int_equal(size_of(path), 2 * whole);
}

static void a_file_cut_in_its_header_begins_anew(void **state)
{
    (void)state;
    static const char *const cut[] = {"", "{", "{\"type\":\"header\",\"sche"};
    struct results_writer writer;
    struct results results;
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        add_bytes(cut[i]);
        assert_int_equal(results_load(path, NULL, &results), STATUS_USAGE);
        assert_int_equal(results_continue(path, NULL, &results, &writer), STATUS_OK);
        assert_null(results.header);
        results_release(&results);
        assert_int_equal(write_header(&writer), STATUS_OK);
        assert_int_equal(size_of(path), writer.whole_bytes);
        results_close(&writer);
        unlink(path);
    }
    add_bytes("notes without an end");
    assert_int_equal(results_continue(path, NULL, &results, &writer), STATUS_USAGE);
    assert_int_equal(size_of(path), 20);
}

/* As on a file system without locks. */
static void lines_of_another_writer_stay(void **state)
{
    (void)state;
    struct results_writer writer;
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_OK);
    assert_int_equal(write_header(&writer), STATUS_OK);
    long long whole = writer.whole_bytes;
    add_bytes("{}\n");
    assert_int_equal(write_header(&writer), STATUS_BUSY);
    assert_non_null(strstr(status_text(), "another one writes to it"));
    assert_int_equal(size_of(path), whole + 3);
    results_close(&writer);
    assert_int_equal(size_of(path), whole + 3);
}

/* A full disk, as a limit on the file's size gives it. */
static void a_full_disk_leaves_whole_lines(void **state)
{
    (void)state;
    struct results_writer writer;
    struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "one"), STATUS_OK);
    long long whole = writer.whole_bytes;
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit small = {.rlim_cur = (rlim_t)whole + 7, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    enum status status = write_record(&writer, "two");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), path));
    assert_int_equal(size_of(path), whole);
    assert_int_equal(write_record(&writer, "two"), STATUS_OK); /* room again */
    results_close(&writer);
    assert_int_equal(size_of(path), 2 * whole);
    int full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0);
    close(full);
    assert_int_equal(results_create("/dev/full", ADVICE, &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "one"), STATUS_SYSTEM);
    results_close(&writer);
}

static void places_that_cannot_be_written(void **state)
{
    (void)state;
    struct results_writer writer;
    assert_int_equal(results_create("/nonexistent/x.jsonl", ADVICE, &writer), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "'/nonexistent/x.jsonl': No such file"));
    assert_int_equal(results_create("/tmp", ADVICE, &writer), STATUS_USAGE);
}

/* Nothing may wait for a reader that does not come. */
static void a_fifo_needs_a_reader(void **state)
{
    (void)state;
    struct results_writer writer;
    struct results results;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "is a FIFO that no process reads: start its reader"));
    assert_int_equal(results_continue(path, NULL, &results, &writer), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "': not a regular file"));
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_OK);
    assert_int_equal(fcntl(writer.fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(write_record(&writer, "a"), STATUS_OK);
    results_close(&writer);
    close(reader);
}

static void a_file_that_is_gone(void **state)
{
    (void)state;
    struct results_writer writer;
    assert_int_equal(results_create(path, ADVICE, &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "a"), STATUS_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write_record(&writer, "b"), STATUS_BUSY);
    assert_non_null(strstr(status_text(), "was removed"));
    results_close(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_lines, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_is_gone, begin, end),
        cmocka_unit_test_setup_teardown(a_fifo_needs_a_reader, begin, end),
        cmocka_unit_test_setup_teardown(existing_files_are_safe, begin, end),
        cmocka_unit_test_setup_teardown(the_first_record_cuts_the_torn_line, begin, end),
        cmocka_unit_test_setup_teardown(a_file_cut_in_its_header_begins_anew, begin, end),
        cmocka_unit_test_setup_teardown(lines_of_another_writer_stay, begin, end),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_whole_lines, begin, end),
        cmocka_unit_test(places_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
