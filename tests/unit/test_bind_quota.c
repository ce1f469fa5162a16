#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orchestrator/bind.h"

/* A scratch tree that stands for "/", removed by its own list. */
struct tree {
    char root[64];
    char made[32][256];
    size_t count;
};

static void tree_make(struct tree *tree)
{
    memset(tree, 0, sizeof *tree);
    strcpy(tree->root, "/tmp/mpsweep-bind-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
}

static void tree_remember(struct tree *tree, const char *path)
{
    assert_true(tree->count < 32);
    snprintf(tree->made[tree->count++], sizeof tree->made[0], "%s", path);
}

static void tree_write(struct tree *tree, const char *name, const char *text)
{
    char path[256];
    assert_true(snprintf(path, sizeof path, "%s%s", tree->root, name) < (int)sizeof path);
    for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(path, 0700) == 0)
            tree_remember(tree, path);
        *slash = '/';
    }
    FILE *file = fopen(path, "wxe");
    assert_non_null(file);
    tree_remember(tree, path);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void tree_remove(struct tree *tree)
{
    while (tree->count)
        assert_int_equal(remove(tree->made[--tree->count]), 0);
    assert_int_equal(rmdir(tree->root), 0);
}

static void quota_v2_is_the_tightest_on_the_way_up(void **state)
{
    (void)state;
    struct tree t;
    tree_make(&t);
    assert_true(bind_cpu_quota_at(t.root) == 0);
    tree_write(&t, "/proc/self/cgroup", "0::/a/b\n");
    tree_write(&t, "/proc/self/mountinfo",
               "22 1 0:20 / /proc rw - proc proc rw\n"
               "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    assert_true(bind_cpu_quota_at(t.root) == 0);
    tree_write(&t, "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_true(bind_cpu_quota_at(t.root) == 0);
    tree_write(&t, "/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    assert_true(bind_cpu_quota_at(t.root) == 1.5);
    tree_write(&t, "/sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_true(bind_cpu_quota_at(t.root) == 1.5);
    tree_remove(&t);
}

static void quota_v2_in_a_container_is_at_the_mount(void **state)
{
    (void)state;
    /* Own namespace; then the host's path with only its own group mounted; then one outside. */
    const char *const groups[] = {"0::/\n", "0::/kube/pod/box\n", "0::/../other\n"};
    const char *const roots[] = {"/", "/kube/pod/box", "/"};
    for (size_t i = 0; i < 3; i++) {
        struct tree t;
        tree_make(&t);
        char mounts[256];
        snprintf(mounts, sizeof mounts, "30 22 0:26 %s /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
                 roots[i]);
        tree_write(&t, "/proc/self/cgroup", groups[i]);
        tree_write(&t, "/proc/self/mountinfo", mounts);
        tree_write(&t, "/sys/fs/cgroup/cpu.max", "200000 100000\n");
        assert_true(bind_cpu_quota_at(t.root) == 2);
        tree_remove(&t);
    }
}

static void quota_v1_reads_the_cpu_controller(void **state)
{
    (void)state;
    struct tree t;
    tree_make(&t);
    tree_write(&t, "/proc/self/cgroup",
               "5:cpuset:/else\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/s\n0::/s\n");
    tree_write(&t, "/proc/self/mountinfo",
               "31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
               "32 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
               "33 22 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    tree_write(&t, "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
    tree_write(&t, "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    assert_true(bind_cpu_quota_at(t.root) == 0);
    tree_write(&t, "/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "50000\n");
    tree_write(&t, "/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
    assert_true(bind_cpu_quota_at(t.root) == 0.5);
    tree_remove(&t);
}

static void quota_v2_below_a_partial_mount_is_found(void **state)
{
    (void)state;
    struct tree t;
    tree_make(&t);
    tree_write(&t, "/proc/self/cgroup", "0::/kube/pod/box/inner\n");
    tree_write(&t, "/proc/self/mountinfo",
               "30 22 0:26 /kube/pod/box /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    tree_write(&t, "/sys/fs/cgroup/inner/cpu.max", "50000 100000\n");
    tree_write(&t, "/sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_true(bind_cpu_quota_at(t.root) == 0.5);
    tree_remove(&t);
}

static void nonsense_is_no_quota(void **state)
{
    (void)state;
    const char *const limits[] = {"", "\n", "x y\n", "0 100000\n", "100000 0\n", "-5 100000\n"};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct tree t;
        tree_make(&t);
        tree_write(&t, "/proc/self/cgroup", "nonsense\n0::/\n");
        tree_write(&t, "/proc/self/mountinfo",
                   "nonsense - \n30 22 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
        tree_write(&t, "/sys/fs/cgroup/cpu.max", limits[i]);
        assert_true(bind_cpu_quota_at(t.root) == 0);
        tree_remove(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quota_v2_is_the_tightest_on_the_way_up),
        cmocka_unit_test(quota_v2_in_a_container_is_at_the_mount),
        cmocka_unit_test(quota_v2_below_a_partial_mount_is_found),
        cmocka_unit_test(quota_v1_reads_the_cpu_controller),
        cmocka_unit_test(nonsense_is_no_quota),
    };
    return cmocka_run_group_tests_name("bind_quota", tests, NULL, NULL);
}
