/* Files that appear whole or not at all, where the file system has files without a name and where
 * it has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/atomic_file.h"

static bool nameless_refused, looks_come_too_early;
static volatile sig_atomic_t caught;

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);

int __wrap_open(const char *path, int flags, mode_t mode)
{
    if (nameless_refused && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open(path, flags, mode);
}

int __real_lstat(const char *path, struct stat *info);
int __wrap_lstat(const char *path, struct stat *info);

/* Where another node makes a file between this look and what follows it. */
int __wrap_lstat(const char *path, struct stat *info)
{
    if (!looks_come_too_early)
        return __real_lstat(path, info);
    errno = ENOENT;
    return -1;
}

static char folder[64], place[96];

/* How many files there are; those with a dot, too. */
static int files(void)
{
    DIR *directory = opendir(folder);
    int count = 0;
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/mpsweep-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(place, sizeof place, "%s/file", folder);
    nameless_refused = looks_come_too_early = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(place);
    return rmdir(folder);
}

static bool has_nameless(void)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_content(const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(place, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, expected);
}

static void write_one(int files_meanwhile)
{
    struct atomic_file file;
    struct stat info;
    mode_t mask = umask(027);
    assert_int_equal(atomic_file_open(place, 0, &file), STATUS_OK);
    fputs("all of it", file.stream);
    fflush(file.stream);
    assert_int_equal(files(), files_meanwhile);
    assert_int_equal(atomic_file_commit(&file), STATUS_OK);
    umask(mask);
    assert_int_equal(files(), 1);
    assert_content("all of it");
    assert_int_equal(stat(place, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(info.st_nlink, 1);
}

static void test_until_it_is_finished_it_has_no_name(void **state)
{
    (void)state;
    if (!has_nameless())
        skip();
    write_one(0);
}

static void test_without_such_files_it_has_one_beside_its_place(void **state)
{
    (void)state;
    nameless_refused = true;
    write_one(1);
}

static void exists_meanwhile(void)
{
    struct atomic_file file;
    assert_int_equal(atomic_file_open(place, 0, &file), STATUS_OK);
    fputs("new", file.stream);
    put(place, "other");
    assert_int_equal(atomic_file_commit(&file), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "file' exists: give another name"));
    assert_int_equal(files(), 1);
    assert_content("other");
    unlink(place);
}

static void test_what_exists_stays(void **state)
{
    (void)state;
    exists_meanwhile();
    nameless_refused = true;
    exists_meanwhile();
}

static void test_what_is_discarded_leaves_nothing(void **state)
{
    struct atomic_file file;
    (void)state;
    for (int i = 0; i < 2; i++) {
        nameless_refused = i == 1;
        assert_int_equal(atomic_file_open(place, 0, &file), STATUS_OK);
        fputs("half", file.stream);
        atomic_file_discard(&file);
        assert_int_equal(files(), 0);
    }
}

static void test_where_nothing_can_be_written_it_says_why(void **state)
{
    struct atomic_file file;
    char within[128];
    (void)state;
    snprintf(within, sizeof within, "%s/none/file", folder);
    assert_int_equal(atomic_file_open(within, 0, &file), STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), "none/file': No such file or directory"));
    assert_int_equal(files(), 0);
}

/* What is written from now on finds no room. */
static void fill_disk(const struct atomic_file *file)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        skip();
    assert_true(dup2(full, file->sink->fd) >= 0);
    close(full);
}

/* Invariant F5. */
static void test_a_full_disk_leaves_nothing(void **state)
{
    struct atomic_file file;
    (void)state;
    for (int i = 0; i < 2; i++) {
        nameless_refused = i == 1;
        assert_int_equal(atomic_file_open(place, 0, &file), STATUS_OK);
        fill_disk(&file);
        fputs("more than there is room for", file.stream);
        assert_int_equal(atomic_file_commit(&file), STATUS_SYSTEM);
        assert_non_null(strstr(status_text(), "No space left on device"));
        assert_int_equal(files(), 0);
    }
}

/* stdio keeps no reason of a write that failed before the last one. */
static void test_of_a_long_file_the_first_reason_counts(void **state)
{
    struct atomic_file file;
    json_t *value = json_array();
    (void)state;
    for (int i = 0; i < 100000; i++)
        json_array_append_new(value, json_integer(i));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(atomic_file_open(place, 0, &file), STATUS_OK);
        fill_disk(&file);
        for (int n = 0; n < 100000 && i > 0; n++)
            fputs("more than there is room for", file.stream);
        errno = 0;
        enum status status = i == 0   ? atomic_file_commit_json(&file, value)
                             : i == 1 ? atomic_file_commit(&file)
                                      : atomic_file_end(&file, atomic_file_write(&file, "x", 1));
        assert_int_equal(status, STATUS_SYSTEM);
        assert_non_null(strstr(status_text(), "No space left on device"));
        assert_int_equal(files(), 0);
    }
    json_decref(value);
}

static void test_replacing_is_asked_for(void **state)
{
    struct atomic_file file;
    (void)state;
    put(place, "old");
    assert_int_equal(atomic_file_open(place, 0, &file), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "exists: give another name"));
    assert_int_equal(atomic_file_open(place, ATOMIC_FILE_REPLACE | ATOMIC_FILE_VERIFY, &file),
                     STATUS_OK);
    fputs("new", file.stream);
    assert_content("old");
    assert_int_equal(files(), 2);
    assert_int_equal(atomic_file_commit(&file), STATUS_OK);
    assert_int_equal(files(), 1);
    assert_content("new");
    assert_int_equal(atomic_file_open(folder, ATOMIC_FILE_REPLACE, &file), STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), "Is a directory"));
}

/* Invariant F5. */
static void test_what_replaces_a_file_has_no_name_before(void **state)
{
    struct atomic_file file;
    (void)state;
    for (int i = 0; i < 2; i++) {
        nameless_refused = i == 1;
        put(place, "old");
        assert_int_equal(atomic_file_open(place, ATOMIC_FILE_REPLACE, &file), STATUS_OK);
        assert_int_equal(atomic_file_write(&file, "new", 3), STATUS_OK);
        assert_int_equal(files(), i == 1 ? 2 : 1);
        assert_int_equal(atomic_file_commit(&file), STATUS_OK);
        assert_int_equal(files(), 1);
        assert_content("new");
    }
}

static void catch (int number)
{
    (void)number;
    caught++;
}

static void test_signals_wait_for_the_last_file(void **state)
{
    struct atomic_file first, second;
    char other[128];
    (void)state;
    snprintf(other, sizeof other, "%s/other", folder);
    signal(SIGTERM, catch);
    assert_int_equal(atomic_file_open(place, 0, &first), STATUS_OK);
    assert_int_equal(atomic_file_open(other, 0, &second), STATUS_OK);
    raise(SIGTERM);
    atomic_file_discard(&first);
    assert_int_equal(caught, 0);
    atomic_file_discard(&second);
    assert_int_equal(caught, 1);
    signal(SIGTERM, SIG_DFL);
}

static void test_json_ends_its_line(void **state)
{
    struct atomic_file file;
    json_t *value = json_pack("[i]", 7);
    (void)state;
    assert_int_equal(atomic_file_open(place, 0, &file), STATUS_OK);
    assert_int_equal(atomic_file_commit_json(&file, value), STATUS_OK);
    assert_content("[\n  7\n]\n");
    json_decref(value);
}

static void test_publishing_stops_at_what_exists(void **state)
{
    char from[96];
    (void)state;
    snprintf(from, sizeof from, "%s/part", folder);
    assert_int_equal(atomic_file_publish(from, place), STATUS_NOT_FOUND);
    put(from, "results");
    put(place, "other");
    for (int i = 0; i < 2; i++) {
        looks_come_too_early = i == 1;
        assert_int_equal(atomic_file_publish(from, place), STATUS_USAGE);
        assert_non_null(strstr(status_text(), "file' exists: the results stay in '"));
        assert_content("other");
    }
    unlink(place);
    assert_int_equal(atomic_file_publish(from, place), STATUS_OK);
    assert_int_equal(files(), 1);
    assert_content("results");
}

static void test_folders_of_paths(void **state)
{
    char text[64];
    (void)state;
    atomic_file_folder("file", text, sizeof text);
    assert_string_equal(text, ".");
    atomic_file_folder("/file", text, sizeof text);
    assert_string_equal(text, "/");
    atomic_file_folder("a/b/file", text, sizeof text);
    assert_string_equal(text, "a/b");
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(test_until_it_is_finished_it_has_no_name),
        IN_A_FOLDER(test_without_such_files_it_has_one_beside_its_place),
        IN_A_FOLDER(test_what_exists_stays),
        IN_A_FOLDER(test_what_is_discarded_leaves_nothing),
        IN_A_FOLDER(test_where_nothing_can_be_written_it_says_why),
        IN_A_FOLDER(test_a_full_disk_leaves_nothing),
        IN_A_FOLDER(test_of_a_long_file_the_first_reason_counts),
        IN_A_FOLDER(test_replacing_is_asked_for),
        IN_A_FOLDER(test_what_replaces_a_file_has_no_name_before),
        IN_A_FOLDER(test_signals_wait_for_the_last_file),
        IN_A_FOLDER(test_json_ends_its_line),
        IN_A_FOLDER(test_publishing_stops_at_what_exists),
        cmocka_unit_test(test_folders_of_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
