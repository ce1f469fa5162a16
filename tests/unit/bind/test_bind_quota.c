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

#include "orchestrator/bind/bind.h"
#include "tests/unit/tree.h"

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
