/* The private directory: found and cleared in the usual places, and nothing but itself is ever
 * removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/remove_tree.h"
#include "mps/directory.h"
#include "tests/unit/mps/harness.h"

/* -- in the usual places ----------------------------------------------------------------------- */

static void directories_are_private_and_go_away(void **state)
{
    (void)state;
    struct mps_directory directory;
    char inside[256];
    ASSERT_OK(mps_directory_make(&directory));
    assert_int_equal(strncmp(directory.path, mps_base, strlen(mps_base)), 0);
    mps_assert_private(&directory);
    snprintf(inside, sizeof inside, "%s/mps/deep", directory.path);
    assert_int_equal(mkdir(inside, 0700), 0);
    /* A link in it is removed, not followed. */
    snprintf(inside, sizeof inside, "%s/log/link", directory.path);
    assert_int_equal(symlink("/etc", inside), 0);
    ASSERT_OK(mps_directory_remove(&directory));
    assert_int_equal(directory.fd, -1);
    assert_int_equal(directory.lock_fd, -1);
    assert_false(mps_is_there(directory.path));
    assert_true(mps_is_there("/etc/passwd"));
}

static void abandoned_ones_are_cleared_and_live_ones_kept(void **state)
{
    (void)state;
    struct mps_directory dead, live, third;
    ASSERT_OK(mps_directory_make(&dead));
    ASSERT_OK(mps_directory_make(&live));
    mps_abandon(&dead);
    ASSERT_OK(mps_directory_make(&third));
    assert_false(mps_is_there(dead.path));
    assert_true(mps_is_there(live.path));
    ASSERT_OK(mps_directory_remove(&live));
    ASSERT_OK(mps_directory_remove(&third));
}

/* A process killed while making one left it with a dot in front: empty, or with a lock that has
 * no name yet. One whose maker lives is kept. */
static void unfinished_ones_are_cleared(void **state)
{
    (void)state;
    static const struct {
        const char *name, *lock;
        bool alive;
    } rows[] = {
        {".mpsweep-aaaaaa", NULL, false},     {".mpsweep-bbbbbb", "lock.new", false},
        {".mpsweep-cccccc", "lock", false},   {".mpsweep-dddddd", "lock.new", true},
        {".mpsweep-eeeeee", "lock", true},    {".mpsweep-gggggg", "state", false},
        {".mpsweep-ffffff", "foreign", true},
    };
    struct mps_directory made;
    char path[96], file[128];
    int held[sizeof rows / sizeof *rows];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        held[i] = -1;
        snprintf(path, sizeof path, "%s/%s", mps_base, rows[i].name);
        assert_int_equal(mkdir(path, 0700), 0);
        if (!rows[i].lock)
            continue;
        snprintf(file, sizeof file, "%s/%s", path, rows[i].lock);
        held[i] = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(flock(held[i], LOCK_EX), 0);
        if (!rows[i].alive)
            close(held[i]);
    }
    ASSERT_OK(mps_directory_make(&made));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(path, sizeof path, "%s/%s", mps_base, rows[i].name);
        assert_int_equal(mps_is_there(path), rows[i].alive);
        if (!rows[i].alive)
            continue;
        close(held[i]);
        assert_int_equal(remove_tree(path), STATUS_OK);
    }
    ASSERT_OK(mps_directory_remove(&made));
}

static void a_umask_takes_no_rights_of_the_owner(void **state)
{
    (void)state;
    static const char *const folders[] = {"", "/mps", "/log"};
    struct mps_directory made;
    struct stat info;
    char path[128];
    mode_t mask = umask(0777);
    enum status status = mps_directory_make(&made);
    umask(mask);
    ASSERT_OK(status);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", made.path, folders[i]);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0700);
    }
    ASSERT_OK(mps_directory_remove(&made));
}

/* -- a maker that goes on between two looks at its locks -- */

int __real_openat(int directory, const char *name, int flags, ...);
int __wrap_openat(int directory, const char *name, int flags, mode_t mode);

static bool maker_waits;
static const char *closed; /* the name of a directory that this process may not open */

/* Before the second lock is looked at, the maker gives it its name. */
int __wrap_openat(int directory, const char *name, int flags, mode_t mode)
{
    if (maker_waits && strcmp(name, "lock.new") == 0) {
        maker_waits = false;
        assert_int_equal(linkat(directory, "lock.new", directory, "lock", 0), 0);
        assert_int_equal(unlinkat(directory, "lock.new", 0), 0);
    }
    if (closed && strcmp(name, closed) == 0) {
        errno = EACCES;
        return -1;
    }
    return __real_openat(directory, name, flags, mode);
}

static void one_whose_lock_gets_its_name_is_kept(void **state)
{
    (void)state;
    struct mps_directory made;
    mps_make_directory(".mpsweep-aaaaaa", 0700);
    int held = open(mps_path(".mpsweep-aaaaaa/lock.new"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(held, LOCK_EX), 0);
    maker_waits = true;
    ASSERT_OK(mps_directory_make(&made));
    assert_false(maker_waits);
    assert_true(mps_is_there(mps_path(".mpsweep-aaaaaa/lock")));
    close(held);
    ASSERT_OK(remove_tree(mps_path(".mpsweep-aaaaaa")));
    ASSERT_OK(mps_directory_remove(&made));
}

/* Directories of others with a name like ours: without a lock, or with more in them than we make,
 * or that others may enter. */
static void what_only_looks_like_ours_is_left_alone(void **state)
{
    (void)state;
    struct mps_directory directory;
    mps_make_directory("mpsweep-graphs", 0700);
    mps_make_directory("mpsweep-result", 0700);
    mps_touch("mpsweep-result/lock");
    mps_touch("mpsweep-result/out.jsonl");
    mps_make_directory("mpsweep-public", 0755);
    mps_touch("mpsweep-public/lock");
    assert_int_equal(symlink(mps_path("mpsweep-public"), mps_path("mpsweep-alinks")), 0);
    ASSERT_OK(mps_directory_make(&directory));
    assert_true(mps_is_there(mps_path("mpsweep-graphs")));
    assert_true(mps_is_there(mps_path("mpsweep-result/out.jsonl")));
    assert_true(mps_is_there(mps_path("mpsweep-public/lock")));
    ASSERT_OK(mps_directory_remove(&directory));
    assert_int_equal(unlink(mps_path("mpsweep-alinks")), 0);
    assert_int_equal(rmdir(mps_path("mpsweep-graphs")), 0);
    ASSERT_OK(remove_tree(mps_path("mpsweep-result")));
    ASSERT_OK(remove_tree(mps_path("mpsweep-public")));
    ASSERT_OK(remove_tree(mps_path("mpsweep-public"))); /* no error if it is gone */
}

static void a_tree_that_stays_gives_the_first_reason(void **state)
{
    (void)state;
    mps_make_directory("tree", 0700);
    mps_make_directory("tree/closed", 0700);
    closed = "closed";
    assert_int_equal(remove_tree(mps_path("tree")), STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), "/tree': Permission denied"));
    closed = NULL;
    ASSERT_OK(remove_tree(mps_path("tree")));
}

static void long_places_are_passed_over(void **state)
{
    (void)state;
    char deep[256];
    struct mps_directory directory;
    snprintf(deep, sizeof deep, "%s/%060d", mps_base, 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    setenv("TMPDIR", deep, 1);
    ASSERT_OK(mps_directory_make(&directory));
    assert_int_equal(strncmp(directory.path, "/tmp/", 5), 0);
    assert_true(strlen(directory.path) + strlen("/mps") <= MPS_DIRECTORY_MOST);
    ASSERT_OK(mps_directory_remove(&directory));
    assert_int_equal(rmdir(deep), 0);
}

/* -- its end ----------------------------------------------------------------------------------- */

static void another_one_in_its_place_is_left_alone(void **state)
{
    (void)state;
    for (int existing = 0; existing < 2; existing++) {
        struct mps_directory directory;
        if (existing)
            mps_make_directory("dir", 0700);
        ASSERT_OK(mps_directory_make_at(mps_path("dir"), &directory));
        mps_touch("dir/log/output");
        assert_int_equal(rename(mps_path("dir"), mps_path("away")), 0);
        mps_make_directory("dir", 0700);
        mps_touch("dir/lock");
        mps_touch("dir/precious");
        ASSERT_ERROR(mps_directory_remove(&directory), STATUS_SYSTEM, "leaves it alone");
        assert_int_equal(mps_entries(mps_path("dir")), 2);
        assert_int_equal(mps_entries(mps_path("away")), 0);
        assert_int_equal(rmdir(mps_path("away")), 0);
        /* A link in its place, too. */
        ASSERT_OK(mps_directory_make_at(mps_path("away"), &directory));
        assert_int_equal(rename(mps_path("away"), mps_path("further")), 0);
        assert_int_equal(symlink(mps_path("dir"), mps_path("away")), 0);
        ASSERT_ERROR(mps_directory_remove(&directory), STATUS_SYSTEM, "leaves it alone");
        assert_int_equal(mps_entries(mps_path("dir")), 2);
        assert_int_equal(unlink(mps_path("away")), 0);
        assert_int_equal(rmdir(mps_path("further")), 0);
        ASSERT_OK(remove_tree(mps_path("dir")));
    }
}

/* As a service that cleans up old files does. */
static void one_that_is_gone_is_no_error(void **state)
{
    (void)state;
    for (int another = 0; another < 2; another++) {
        struct mps_directory directory;
        ASSERT_OK(mps_directory_make_at(mps_path("dir"), &directory));
        ASSERT_OK(remove_tree(mps_path("dir")));
        if (another) {
            mps_make_directory("dir", 0700);
            mps_touch("dir/lock");
        }
        ASSERT_OK(mps_directory_remove(&directory));
        assert_int_equal(directory.fd, -1);
        if (another) {
            assert_int_equal(mps_entries(mps_path("dir")), 1);
            ASSERT_OK(remove_tree(mps_path("dir")));
        }
    }
}

static void only_an_abandoned_one_of_ours_is_adopted(void **state)
{
    (void)state;
    struct mps_directory directory, adopted;
    ASSERT_ERROR(mps_directory_adopt(mps_path("dir"), &adopted), STATUS_NOT_FOUND, "cannot use");
    mps_make_directory("dir", 0700);
    ASSERT_ERROR(mps_directory_adopt(mps_path("dir"), &adopted), STATUS_USAGE, "left alone");
    ASSERT_OK(mps_directory_make_at(mps_path("dir"), &directory));
    ASSERT_ERROR(mps_directory_adopt(mps_path("dir"), &adopted), STATUS_BUSY, "lives in");
    mps_abandon(&directory);
    mps_touch("dir/precious");
    ASSERT_ERROR(mps_directory_adopt(mps_path("dir"), &adopted), STATUS_USAGE, "left alone");
    unlink(mps_path("dir/precious"));
    assert_int_equal(chmod(mps_path("dir"), 0711), 0);
    ASSERT_ERROR(mps_directory_adopt(mps_path("dir"), &adopted), STATUS_USAGE, "left alone");
    assert_int_equal(chmod(mps_path("dir"), 0700), 0);
    assert_int_equal(symlink(mps_path("dir"), mps_path("link")), 0);
    ASSERT_ERROR(mps_directory_adopt(mps_path("link"), &adopted), STATUS_USAGE, "a link");
    unlink(mps_path("link"));
    /* A lock that leads elsewhere is none. */
    assert_int_equal(rename(mps_path("dir/lock"), mps_path("lock")), 0);
    assert_int_equal(symlink(mps_path("lock"), mps_path("dir/lock")), 0);
    ASSERT_ERROR(mps_directory_adopt(mps_path("dir"), &adopted), STATUS_USAGE, "cannot lock");
    assert_int_equal(rename(mps_path("lock"), mps_path("dir/lock")), 0);
    ASSERT_OK(mps_directory_adopt(mps_path("dir"), &adopted));
    ASSERT_ERROR(mps_directory_adopt(mps_path("dir"), &directory), STATUS_BUSY, "lives in");
    ASSERT_OK(mps_directory_remove(&adopted));
    assert_false(mps_is_there(mps_path("dir")));
}

/* -- those that go on by themselves ------------------------------------------------------------ */

/* Only what is in the base counts: there may be others in /tmp. */
static size_t find_here(const char *expected)
{
    char paths[64][MPS_DIRECTORY_MOST + 1];
    size_t count, here = 0;
    memset(paths, 0, sizeof paths);
    mps_directory_find_kept(paths, 64, &count);
    for (size_t i = 0; i < count && i < 64; i++)
        if (strncmp(paths[i], mps_base, strlen(mps_base)) == 0) {
            here++;
            if (expected)
                assert_string_equal(paths[i], expected);
        }
    return here;
}

static void kept_ones_are_found(void **state)
{
    (void)state;
    struct mps_directory one, other;
    char state_file[128], paths[1][MPS_DIRECTORY_MOST + 1];
    size_t count, most;
    assert_int_equal(find_here(NULL), 0);
    ASSERT_OK(mps_directory_make(&one));
    assert_int_equal(find_here(NULL), 0); /* it lives, but not by itself */
    snprintf(state_file, sizeof state_file, "%s/state", one.path);
    mps_write_file(state_file, "");
    assert_int_equal(find_here(one.path), 1);
    ASSERT_OK(mps_directory_make(&other));
    assert_int_equal(find_here(one.path), 1);
    snprintf(state_file, sizeof state_file, "%s/state", other.path);
    mps_write_file(state_file, "");
    assert_int_equal(find_here(NULL), 2);
    /* More than fit are counted, and one with a longer path is none. */
    mps_directory_find_kept(NULL, 0, &count);
    mps_directory_find_kept(paths, 1, &most);
    assert_true(count >= 2);
    assert_int_equal(most, count);
    ASSERT_OK(mps_directory_remove(&other));
    assert_int_equal(find_here(one.path), 1);
    ASSERT_OK(mps_directory_remove(&one));
    assert_int_equal(find_here(NULL), 0);
}

static void a_place_with_two_names_is_looked_at_once(void **state)
{
    (void)state;
    struct mps_directory directory;
    char state_file[128], slashes[64];
    size_t count, again;
    ASSERT_OK(mps_directory_make(&directory));
    snprintf(state_file, sizeof state_file, "%s/state", directory.path);
    mps_write_file(state_file, "");
    snprintf(slashes, sizeof slashes, "%s//", mps_base);
    assert_int_equal(symlink(mps_base, mps_path("link")), 0);
    const char *const names[] = {mps_base, slashes, mps_path("link")};
    mps_directory_find_kept(NULL, 0, &count);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("XDG_RUNTIME_DIR", names[i], 1);
        mps_directory_find_kept(NULL, 0, &again);
        if (again != count)
            fail_msg("'%s' is looked at again", names[i]);
    }
    unsetenv("XDG_RUNTIME_DIR");
    unlink(mps_path("link"));
    ASSERT_OK(mps_directory_remove(&directory));
    /* And those that are always looked at. */
    setenv("TMPDIR", "/tmp", 1);
    mps_directory_find_kept(NULL, 0, &count);
    setenv("TMPDIR", "/tmp/", 1);
    mps_directory_find_kept(NULL, 0, &again);
    assert_int_equal(again, count);
}

static void what_only_looks_kept_is_not_found(void **state)
{
    (void)state;
    static const char *const names[] = {"mpsweep-public", "mpsweep-fuller", "mpsweep-toolong",
                                        "mpsweep-short", "notours-abcdef"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char state_file[64];
        mps_make_directory(names[i], i == 0 ? 0755 : 0700);
        snprintf(state_file, sizeof state_file, "%s/state", names[i]);
        mps_touch(state_file);
    }
    mps_touch("mpsweep-fuller/precious");
    mps_touch("mpsweep-afiles");
    assert_int_equal(symlink(mps_path("mpsweep-short"), mps_path("mpsweep-alinks")), 0);
    assert_int_equal(find_here(NULL), 0);
    /* The check itself: under a fitting name it would be found. */
    assert_int_equal(rename(mps_path("mpsweep-short"), mps_path("mpsweep-fittin")), 0);
    assert_int_equal(find_here(mps_path("mpsweep-fittin")), 1);
    assert_int_equal(rename(mps_path("mpsweep-fittin"), mps_path("mpsweep-short")), 0);
    unlink(mps_path("mpsweep-alinks"));
    unlink(mps_path("mpsweep-afiles"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ASSERT_OK(remove_tree(mps_path(names[i])));
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, mps_begin, mps_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(directories_are_private_and_go_away),
        IN_A_PLACE(abandoned_ones_are_cleared_and_live_ones_kept),
        IN_A_PLACE(unfinished_ones_are_cleared),
        IN_A_PLACE(a_umask_takes_no_rights_of_the_owner),
        IN_A_PLACE(one_whose_lock_gets_its_name_is_kept),
        IN_A_PLACE(what_only_looks_like_ours_is_left_alone),
        IN_A_PLACE(a_tree_that_stays_gives_the_first_reason),
        IN_A_PLACE(long_places_are_passed_over),
        IN_A_PLACE(another_one_in_its_place_is_left_alone),
        IN_A_PLACE(one_that_is_gone_is_no_error),
        IN_A_PLACE(only_an_abandoned_one_of_ours_is_adopted),
        IN_A_PLACE(kept_ones_are_found),
        IN_A_PLACE(a_place_with_two_names_is_looked_at_once),
        IN_A_PLACE(what_only_looks_kept_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
