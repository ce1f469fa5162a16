/* The private directory at a path that a user gives: what may be there, and what may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/remove_tree.h"
#include "mps/directory.h"
#include "tests/unit/mps/harness.h"

#define LIMIT (MPS_DIRECTORY_MOST - 4)

/* -- at a path --------------------------------------------------------------------------------- */

static void a_new_one_is_made_and_removed(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "/", "///"};
    struct mps_directory directory;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", mps_path("new"), endings[i]);
        ASSERT_OK(mps_directory_make_at(path, &directory));
        assert_string_equal(directory.path, mps_path("new"));
        assert_false(directory.was_there);
        mps_assert_private(&directory);
        ASSERT_OK(mps_directory_remove(&directory));
        assert_false(mps_is_there(mps_path("new")));
    }
}

static void an_empty_one_is_used_and_stays(void **state)
{
    (void)state;
    struct mps_directory directory;
    mps_make_directory("mine", 0700);
    ASSERT_OK(mps_directory_make_at(mps_path("mine"), &directory));
    assert_true(directory.was_there);
    mps_assert_private(&directory);
    ASSERT_OK(mps_directory_remove(&directory));
    assert_int_equal(mps_entries(mps_path("mine")), 0);
    assert_int_equal(rmdir(mps_path("mine")), 0);
}

static void relative_paths_are_of_the_working_directory(void **state)
{
    (void)state;
    static const char *const paths[] = {"new", "./new", "sub/../new", "sub//..//new/"};
    struct mps_directory directory;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    mps_make_directory("sub", 0700);
    assert_int_equal(chdir(mps_base), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ASSERT_OK(mps_directory_make_at(paths[i], &directory));
        assert_string_equal(directory.path, mps_path("new"));
        ASSERT_OK(mps_directory_remove(&directory));
    }
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(mps_path("sub")), 0);
}

static void an_abandoned_one_is_taken_over(void **state)
{
    (void)state;
    struct mps_directory old, directory;
    ASSERT_OK(mps_directory_make_at(mps_path("kept"), &old));
    mps_touch("kept/state");
    mps_touch("kept/guard");
    mps_touch("kept/log/output");
    ASSERT_ERROR(mps_directory_make_at(mps_path("kept"), &directory), STATUS_BUSY, "lives in");
    assert_true(mps_is_there(mps_path("kept/log/output")));
    mps_abandon(&old);
    ASSERT_OK(mps_directory_make_at(mps_path("kept"), &directory));
    mps_assert_private(&directory);
    assert_false(mps_is_there(mps_path("kept/log/output")));
    ASSERT_ERROR(mps_directory_make_at(mps_path("kept"), &old), STATUS_BUSY, "lives in");
    ASSERT_OK(mps_directory_remove(&directory));
    assert_int_equal(rmdir(mps_path("kept")), 0); /* it was there */
}

static void what_is_in_the_way_is_told_and_left(void **state)
{
    (void)state;
    static const struct {
        const char *name, *part;
    } rows[] = {
        {"public", "is not yours alone"},
        {"public-group", "is not yours alone"},
        {"unwritable", "is not yours alone"},
        {"full", "is not empty"},
        {"full-and-ours", "is not empty"},
        {"ours-without-lock", "cannot lock"},
        {"ours-and-public", "not a directory that mpsweep has made"},
        {"file", "a link, or not a directory"},
        {"link", "a link, or not a directory"},
        {"link/", "a link, or not a directory"},
        {"dangling", "a link, or not a directory"},
        {"missing/new", "cannot use"},
        {"file/new", "cannot make"},
        {"open/new", "others may write"},
        {"open-group/new", "others may write"},
        {".", "a name of its own"},
        {"full/.", "a name of its own"},
        {"full/..", "a name of its own"},
        {"full/../", "a name of its own"},
    };
    mps_make_directory("public", 0755);
    mps_make_directory("public-group", 0710);
    mps_make_directory("unwritable", 0500);
    mps_make_directory("full", 0700);
    mps_touch("full/precious");
    mps_make_directory("full-and-ours", 0700);
    mps_touch("full-and-ours/lock");
    mps_touch("full-and-ours/precious");
    mps_make_directory("ours-without-lock", 0700);
    mps_make_directory("ours-without-lock/mps", 0700);
    mps_make_directory("ours-and-public", 0755);
    mps_touch("ours-and-public/lock");
    mps_touch("file");
    assert_int_equal(symlink(mps_path("full"), mps_path("link")), 0);
    assert_int_equal(symlink(mps_path("nothing"), mps_path("dangling")), 0);
    mps_make_directory("open", 0777);
    mps_make_directory("open-group", 0770);
    size_t before = mps_entries(mps_base);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mps_directory directory = {.fd = 77};
        enum status status = mps_directory_make_at(mps_path(rows[i].name), &directory);
        if (status != STATUS_USAGE || !strstr(status_text(), rows[i].part) || directory.fd != 77)
            fail_msg("'%s': status %d: %s", rows[i].name, (int)status, status_text());
    }
    assert_int_equal(mps_entries(mps_base), before);
    assert_int_equal(mps_entries(mps_path("open")), 0);
    assert_true(mps_is_there(mps_path("full/precious")));
    assert_true(mps_is_there(mps_path("full-and-ours/precious")));
    assert_true(mps_is_there(mps_path("full-and-ours/lock")));
    assert_true(mps_is_there(mps_path("ours-without-lock/mps")));
    assert_true(mps_is_there(mps_path("ours-and-public/lock")));
    static const char *const made[] = {
        "public",        "public-group",      "unwritable",      "full",
        "full-and-ours", "ours-without-lock", "ours-and-public", "open",
        "open-group"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        ASSERT_OK(remove_tree(mps_path(made[i])));
    unlink(mps_path("file"));
    unlink(mps_path("link"));
    unlink(mps_path("dangling"));
}

static void names_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "/", "//", ".", "..", "./", "/.", "/.."};
    struct mps_directory directory;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (mps_directory_make_at(paths[i], &directory) != STATUS_USAGE)
            fail_msg("'%s' is taken", paths[i]);
}

/* The sticky bit keeps others from putting another one in its place, as in /tmp. */
static void an_open_parent_is_fine_with_the_sticky_bit(void **state)
{
    (void)state;
    struct mps_directory directory;
    mps_make_directory("open", 01777);
    ASSERT_OK(mps_directory_make_at(mps_path("open/new"), &directory));
    ASSERT_OK(mps_directory_remove(&directory));
    assert_int_equal(rmdir(mps_path("open")), 0);
}

static void a_directory_of_somebody_else_is_left_alone(void **state)
{
    (void)state;
    struct mps_directory directory;
    if (geteuid() != 0)
        skip();
    mps_make_directory("theirs", 0700);
    assert_int_equal(chown(mps_path("theirs"), 65534, 65534), 0);
    ASSERT_ERROR(mps_directory_make_at(mps_path("theirs"), &directory), STATUS_USAGE,
                 "not yours alone");
    assert_int_equal(mps_entries(mps_path("theirs")), 0);
    mps_touch("theirs/lock");
    ASSERT_ERROR(mps_directory_adopt(mps_path("theirs"), &directory), STATUS_USAGE, "left alone");
    assert_true(mps_is_there(mps_path("theirs/lock")));
    ASSERT_OK(remove_tree(mps_path("theirs")));
}

static void the_longest_path_is_the_limit(void **state)
{
    (void)state;
    struct mps_directory directory;
    char path[LIMIT + 2], part[64];
    int room = LIMIT - (int)strlen(mps_base) - 1;
    snprintf(path, sizeof path, "%s/%0*d", mps_base, room, 0);
    assert_int_equal(strlen(path), 71);
    ASSERT_OK(mps_directory_make_at(path, &directory));
    assert_string_equal(directory.path, path);
    ASSERT_OK(mps_directory_remove(&directory));
    snprintf(path, sizeof path, "%s/%0*d", mps_base, room + 1, 0);
    snprintf(part, sizeof part, "has %d characters: at most 71 are allowed", LIMIT + 1);
    ASSERT_ERROR(mps_directory_make_at(path, &directory), STATUS_USAGE, part);
    assert_false(mps_is_there(path));
    /* What counts is where it leads. */
    assert_int_equal(symlink(mps_base, mps_path("short")), 0);
    snprintf(path, sizeof path, "%s/short/%0*d", mps_base, room - 6, 0);
    ASSERT_OK(mps_directory_make_at(path, &directory));
    assert_int_equal(strlen(directory.path), strlen(path) - strlen("short/"));
    ASSERT_OK(mps_directory_remove(&directory));
    unlink(mps_path("short"));
}

/* -- two at once ------------------------------------------------------------------------------- */

enum outcome { OUTCOME_MADE, OUTCOME_REFUSED, OUTCOME_DESTROYED, OUTCOME_ODD };

/* A child that makes a directory when the pipe is closed, checks after a breath that it still has
 * all of it, and leaves it there. */
static _Noreturn void compete(int start, int done, const char *path)
{
    struct mps_directory directory;
    char byte;
    if (read(start, &byte, 1) != 0)
        _exit(OUTCOME_ODD);
    enum status status = mps_directory_make_at(path, &directory);
    enum outcome outcome = status == STATUS_OK ? OUTCOME_MADE : OUTCOME_REFUSED;
    if (status != STATUS_OK && status != STATUS_BUSY && status != STATUS_USAGE)
        outcome = OUTCOME_ODD;
    /* Until all have tried, and the other end is closed. */
    struct pollfd end = {.fd = done, .events = 0};
    if (write(done, "", 1) != 1 || poll(&end, 1, 30000) != 1)
        _exit(OUTCOME_ODD);
    char inside[128];
    static const char *const names[] = {"lock", "mps", "log", "off"};
    for (size_t i = 0; i < 4 && outcome == OUTCOME_MADE; i++) {
        snprintf(inside, sizeof inside, "%s/%s", path, names[i]);
        if (access(inside, F_OK) != 0)
            outcome = OUTCOME_DESTROYED;
    }
    _exit(outcome);
}

static void race(const char *path)
{
    enum { COMPETITORS = 4 };
    int start[2], done[2], outcomes[OUTCOME_ODD + 1] = {0};
    pid_t children[COMPETITORS];
    char byte;
    assert_int_equal(pipe(start), 0);
    assert_int_equal(pipe(done), 0);
    for (size_t i = 0; i < COMPETITORS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(start[1]);
            close(done[0]);
            compete(start[0], done[1], path);
        }
    }
    close(start[0]);
    close(done[1]);
    close(start[1]);
    for (size_t i = 0; i < COMPETITORS; i++)
        assert_int_equal(read(done[0], &byte, 1), 1);
    close(done[0]);
    for (size_t i = 0; i < COMPETITORS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= OUTCOME_ODD);
        outcomes[WEXITSTATUS(status)]++;
    }
    if (outcomes[OUTCOME_MADE] != 1 || outcomes[OUTCOME_REFUSED] != COMPETITORS - 1)
        fail_msg("made by %d, refused by %d, destroyed for %d, odd for %d", outcomes[OUTCOME_MADE],
                 outcomes[OUTCOME_REFUSED], outcomes[OUTCOME_DESTROYED], outcomes[OUTCOME_ODD]);
}

static void of_several_at_once_one_gets_it(void **state)
{
    (void)state;
    struct mps_directory directory;
    for (int round = 0; round < 100; round++) {
        bool existing = round % 2;
        if (existing)
            mps_make_directory("one", 0700);
        race(mps_path("one"));
        ASSERT_OK(mps_directory_adopt(mps_path("one"), &directory));
        ASSERT_OK(mps_directory_remove(&directory));
        assert_false(mps_is_there(mps_path("one")));
    }
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, mps_begin, mps_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(a_new_one_is_made_and_removed),
        IN_A_PLACE(an_empty_one_is_used_and_stays),
        IN_A_PLACE(relative_paths_are_of_the_working_directory),
        IN_A_PLACE(an_abandoned_one_is_taken_over),
        IN_A_PLACE(what_is_in_the_way_is_told_and_left),
        IN_A_PLACE(names_that_are_none_are_refused),
        IN_A_PLACE(an_open_parent_is_fine_with_the_sticky_bit),
        IN_A_PLACE(a_directory_of_somebody_else_is_left_alone),
        IN_A_PLACE(the_longest_path_is_the_limit),
        IN_A_PLACE(of_several_at_once_one_gets_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
