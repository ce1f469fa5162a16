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
    assert_int_equal(results_create(path, &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "a\nb"), STATUS_OK);
    assert_int_equal(write_record(&writer, "c"), STATUS_OK);
    assert_int_equal(writer.whole_bytes, size_of(path));
    results_close(&writer);
    int fd = open(path, O_RDONLY);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_string_equal(text, "{\"text\":\"a\\nb\"}\n{\"text\":\"c\"}\n");
}

static void existing_files_are_safe(void **state)
{
    (void)state;
    struct results_writer writer, second;
    assert_int_equal(results_create(path, &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "kept"), STATUS_OK);
    assert_int_equal(results_create(path, &second), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "--resume"));
    assert_int_equal(results_append(path, 0, &second), STATUS_BUSY); /* still being written */
    results_close(&writer);
    assert_int_equal(size_of(path), 16);
}

static void appending_cuts_the_torn_line(void **state)
{
    (void)state;
    struct results_writer writer;
    assert_int_equal(results_create(path, &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "one"), STATUS_OK);
    long long whole = writer.whole_bytes;
    assert_int_equal(write(writer.fd, "{\"tor", 5), 5);
    results_close(&writer);
    assert_int_equal(results_append(path, whole, &writer), STATUS_OK);
    assert_int_equal(size_of(path), whole);
    assert_int_equal(write_record(&writer, "two"), STATUS_OK);
    results_close(&writer);
    assert_int_equal(size_of(path), 2 * whole);
}

/* A full disk, as a limit on the file's size gives it. */
static void a_full_disk_leaves_whole_lines(void **state)
{
    (void)state;
    struct results_writer writer;
    struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(results_create(path, &writer), STATUS_OK);
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
    assert_int_equal(results_create("/dev/full", &writer), STATUS_OK);
    assert_int_equal(write_record(&writer, "one"), STATUS_SYSTEM);
    results_close(&writer);
}

static void places_that_cannot_be_written(void **state)
{
    (void)state;
    struct results_writer writer;
    assert_int_equal(results_create("/nonexistent/x.jsonl", &writer), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "'/nonexistent/x.jsonl': No such file"));
    assert_int_equal(results_create("/tmp", &writer), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_lines, begin, end),
        cmocka_unit_test_setup_teardown(existing_files_are_safe, begin, end),
        cmocka_unit_test_setup_teardown(appending_cuts_the_torn_line, begin, end),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_whole_lines, begin, end),
        cmocka_unit_test(places_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
