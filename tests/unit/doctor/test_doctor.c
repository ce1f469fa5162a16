#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/doctor/internal.h"
#include "tests/unit/tree.h"

#define CONTROL "nvidia-cuda-mps-control"

/* -- a report to look at ----------------------------------------------------------------------- */

struct report {
    struct doctor doctor;
    char *text;
    size_t size;
};

static void report_begin(struct report *report)
{
    memset(report, 0, sizeof *report);
    report->doctor.out = open_memstream(&report->text, &report->size);
    assert_non_null(report->doctor.out);
}

/* It is this text, with these numbers of warnings and problems. */
static void report_expect(struct report *report, unsigned warnings, unsigned problems,
                          const char *text)
{
    fclose(report->doctor.out);
    assert_string_equal(report->text, text);
    assert_int_equal(report->doctor.warnings, warnings);
    assert_int_equal(report->doctor.problems, problems);
    free(report->text);
}

/* The same, but only that each of the texts is in it; ended by NULL. */
static void report_expect_parts(struct report *report, unsigned warnings, unsigned problems,
                                const char *const *parts)
{
    fclose(report->doctor.out);
    for (; *parts; parts++)
        if (!strstr(report->text, *parts))
            fail_msg("no '%s' in: %s", *parts, report->text);
    assert_int_equal(report->doctor.warnings, warnings);
    assert_int_equal(report->doctor.problems, problems);
    free(report->text);
}

#define PARTS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* -- daemons ----------------------------------------------------------------------------------- */

/* environment: NUL-separated, of that many bytes; NULL: a process that does not show it. */
static void add_process(struct tree *tree, int pid, uid_t user, const char *command,
                        const char *environment, size_t bytes)
{
    char name[64], status[128];
    snprintf(name, sizeof name, "/proc/%d/cmdline", pid);
    tree_write_bytes(tree, name, command, strlen(command) + (*command != '\0'));
    snprintf(name, sizeof name, "/proc/%d/status", pid);
    snprintf(status, sizeof status,
             "Name:\tx\nUmask:\t0022\nUid:\t%u\t%u\t%u\t%u\nGid:\t7\t7\t7\t7\n", 0U, (unsigned)user,
             1U, 1U);
    tree_write(tree, name, status);
    if (environment) {
        snprintf(name, sizeof name, "/proc/%d/environ", pid);
        tree_write_bytes(tree, name, environment, bytes);
    }
}

#define ENVIRONMENT(text) text, sizeof text

static void daemons_are_found_by_their_program(void **state)
{
    (void)state;
    static struct doctor_daemons daemons;
    struct tree t;
    tree_make(&t);
    add_process(&t, 1, 0, "/sbin/init", NULL, 0);
    add_process(&t, 90, 4321, "/usr/bin/" CONTROL,
                ENVIRONMENT("HOME=/\0CUDA_MPS_PIPE_DIRECTORY=/a b"));
    add_process(&t, 9, 4321, CONTROL, ENVIRONMENT("XCUDA_MPS_PIPE_DIRECTORY=/no"));
    add_process(&t, 91, 4321, "/usr/bin/nvidia-cuda-mps-server", NULL, 0);
    add_process(&t, 92, 4321, CONTROL "s", NULL, 0);
    add_process(&t, 93, 4321, "grep", NULL, 0);
    tree_link(&t, "/proc/93/exe", "/usr/bin/grep");
    /* One that calls itself otherwise, and whose program was replaced. */
    add_process(&t, 94, 4321, "mps", NULL, 0);
    tree_link(&t, "/proc/94/exe", "/usr/bin/" CONTROL " (deleted)");
    /* A zombie, a kernel thread: neither command nor program. And one that just ended. */
    add_process(&t, 95, 4321, "", NULL, 0);
    tree_directory(&t, "/proc/96");
    /* No process at all. */
    tree_write(&t, "/proc/self/cmdline", CONTROL);
    tree_write(&t, "/proc/97x/cmdline", CONTROL);

    assert_int_equal(doctor_daemons_find(t.root, &daemons), STATUS_OK);
    assert_int_equal(daemons.count, 3);
    assert_false(daemons.hidden);
    assert_int_equal(daemons.found[0].pid, 9);
    assert_int_equal(daemons.found[0].pipe, DOCTOR_PIPE_DEFAULT);
    assert_string_equal(daemons.found[0].pipe_directory, "");
    assert_int_equal(daemons.found[1].pid, 90);
    assert_int_equal(daemons.found[1].user, 4321);
    assert_int_equal(daemons.found[1].pipe, DOCTOR_PIPE_NAMED);
    assert_string_equal(daemons.found[1].pipe_directory, "/a b");
    assert_int_equal(daemons.found[2].pid, 94);
    assert_int_equal(daemons.found[2].pipe, DOCTOR_PIPE_UNKNOWN);
    tree_remove(&t);

    assert_int_equal(doctor_daemons_find(t.root, &daemons), STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), "/proc': No such file or directory"));
}

static void pipe_directories_are_never_echoed_raw(void **state)
{
    (void)state;
    static struct doctor_daemons daemons;
    static const struct {
        const char *value;
        enum doctor_pipe pipe;
    } table[] = {
        {"/tmp/x", DOCTOR_PIPE_NAMED},        {"", DOCTOR_PIPE_DEFAULT},
        {"/a'; reboot", DOCTOR_PIPE_UNKNOWN}, {"/a\033[31m", DOCTOR_PIPE_UNKNOWN},
        {"/a\n", DOCTOR_PIPE_UNKNOWN},        {"/a\177", DOCTOR_PIPE_UNKNOWN},
        {"/\xc3\xa4", DOCTOR_PIPE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct tree t;
        char entry[128];
        tree_make(&t);
        int length = snprintf(entry, sizeof entry, "CUDA_MPS_PIPE_DIRECTORY=%s", table[i].value);
        add_process(&t, 7, 1, CONTROL, entry, (size_t)length + 1);
        assert_int_equal(doctor_daemons_find(t.root, &daemons), STATUS_OK);
        assert_int_equal(daemons.count, 1);
        assert_int_equal(daemons.found[0].pipe, table[i].pipe);
        assert_string_equal(daemons.found[0].pipe_directory,
                            table[i].pipe == DOCTOR_PIPE_NAMED ? table[i].value : "");
        tree_remove(&t);
    }
}

static void a_daemon_of_mpsweep_is_told_by_its_directory(void **state)
{
    (void)state;
    static struct doctor_daemons daemons;
    static const struct {
        const char *directory;
        bool other_user, ours;
    } table[] = {
        {"/run/mpsweep-aB3dE5/mps", false, true},
        {"/run/mpsweep-aB3dE5/mps", true, false},  /* a foreign process */
        {"/run/mpsweep-gone00/mps", false, false}, /* no such directory */
        {"/run/mpsweep-alink1/mps", false, false}, /* not a directory of its own */
        {"/run/mpsweep-aB3dE5", false, true},
        {"/run/mpsweep-aB3dE5x/mps", false, false},
        {"/run/mpsweep-aB3d/mps", false, false},
        {"/run/x", false, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct tree t;
        char entry[128];
        tree_make(&t);
        tree_directory(&t, "/run/mpsweep-aB3dE5");
        tree_directory(&t, "/run/mpsweep-aB3dE5x");
        tree_directory(&t, "/run/mpsweep-aB3d");
        tree_directory(&t, "/run/x");
        tree_link(&t, "/run/mpsweep-alink1", "x");
        int length =
            snprintf(entry, sizeof entry, "CUDA_MPS_PIPE_DIRECTORY=%s", table[i].directory);
        add_process(&t, 7, geteuid() + table[i].other_user, CONTROL, entry, (size_t)length + 1);
        assert_int_equal(doctor_daemons_find(t.root, &daemons), STATUS_OK);
        assert_int_equal(daemons.count, 1);
        if (daemons.found[0].ours != table[i].ours)
            fail_msg("'%s' is taken for %s", table[i].directory,
                     daemons.found[0].ours ? "ours" : "foreign");
        tree_remove(&t);
    }
}

static void a_directory_of_another_user_is_not_mpsweeps(void **state)
{
    (void)state;
    static struct doctor_daemons daemons;
    if (geteuid() != 0)
        skip();
    struct tree t;
    char path[128];
    tree_make(&t);
    tree_directory(&t, "/run/mpsweep-aB3dE5");
    snprintf(path, sizeof path, "%s/run/mpsweep-aB3dE5", t.root);
    assert_int_equal(chown(path, 4321, 4321), 0);
    add_process(&t, 7, 0, CONTROL, ENVIRONMENT("CUDA_MPS_PIPE_DIRECTORY=/run/mpsweep-aB3dE5/mps"));
    assert_int_equal(doctor_daemons_find(t.root, &daemons), STATUS_OK);
    assert_false(daemons.found[0].ours);
    tree_remove(&t);
}

static void more_daemons_than_fit_are_counted(void **state)
{
    (void)state;
    static struct doctor_daemons daemons;
    struct tree t;
    struct report report;
    tree_make(&t);
    for (int i = 0; i < DOCTOR_DAEMONS_MOST + 2; i++) {
        char name[64];
        int pid = 100 + i * 7 % (DOCTOR_DAEMONS_MOST + 2); /* in no order */
        snprintf(name, sizeof name, "/proc/%d/cmdline", pid);
        tree_write(&t, name, CONTROL);
        snprintf(name, sizeof name, "/proc/%d/status", pid);
        tree_write(&t, name, "Name:\tx\nUid:\t5\t5\t5\t5\n");
    }
    assert_int_equal(doctor_daemons_find(t.root, &daemons), STATUS_OK);
    assert_int_equal(daemons.count, DOCTOR_DAEMONS_MOST + 2);
    assert_true(daemons.hidden); /* there is no process 1 */
    for (int i = 0; i < DOCTOR_DAEMONS_MOST; i++)
        assert_true(daemons.found[i].pid > (i ? daemons.found[i - 1].pid : 0));
    report_begin(&report);
    doctor_check_daemons(&report.doctor, &daemons);
    report_expect_parts(&report, DOCTOR_DAEMONS_MOST + 1, 0,
                        PARTS("warning  MPS daemons: 2 more\n         -> pgrep -af " CONTROL "\n",
                              "ok       MPS daemons: there may be more; /proc hides"));
    tree_remove(&t);
}

static void daemons_are_told_with_what_to_type(void **state)
{
    (void)state;
    static struct doctor_daemons daemons;
    static const char look[] =
        ": echo get_server_list | CUDA_MPS_PIPE_DIRECTORY='/tmp/a b' " CONTROL "\n";
    struct report report;
    report_begin(&report);
    doctor_check_daemons(&report.doctor, &daemons);
    report_expect(&report, 0, 0, "ok       MPS daemons: none runs\n");

    daemons.hidden = true;
    report_begin(&report);
    doctor_check_daemons(&report.doctor, &daemons);
    report_expect(&report, 0, 0,
                  "ok       MPS daemons: none runs; /proc hides the processes of other users "
                  "here\n");

    daemons = (struct doctor_daemons){.count = 1};
    struct doctor_daemon *one = &daemons.found[0];
    *one = (struct doctor_daemon){
        .pid = 7, .user = geteuid(), .pipe = DOCTOR_PIPE_NAMED, .pipe_directory = "/tmp/a b"};
    report_begin(&report);
    doctor_check_daemons(&report.doctor, &daemons);
    report_expect_parts(&report, 1, 0,
                        PARTS("warning  MPS daemon of ", ": PID 7, pipe directory '/tmp/a b'\n",
                              "-> mpsweep leaves it alone, ", "look at it with: ", look));

    one->ours = true;
    report_begin(&report);
    doctor_check_daemons(&report.doctor, &daemons);
    report_expect(&report, 0, 0,
                  "ok       MPS daemon of another mpsweep of yours: PID 7, pipe directory "
                  "'/tmp/a b'\n");

    *one = (struct doctor_daemon){.pid = 8, .user = 3999999999, .pipe = DOCTOR_PIPE_DEFAULT};
    report_begin(&report);
    doctor_check_daemons(&report.doctor, &daemons);
    report_expect_parts(&report, 1, 0,
                        PARTS("warning  MPS daemon of uid 3999999999: PID 8, the default pipe "
                              "directory\n",
                              "MPS serves one user at a time",
                              "uid 3999999999 looks at it with: echo get_server_list | env -u "
                              "CUDA_MPS_PIPE_DIRECTORY " CONTROL "\n"));

    one->pipe = DOCTOR_PIPE_UNKNOWN;
    report_begin(&report);
    doctor_check_daemons(&report.doctor, &daemons);
    report_expect_parts(&report, 1, 0,
                        PARTS("PID 8, its pipe directory cannot be read\n",
                              "tr '\\0' '\\n' </proc/8/environ | grep -a CUDA_MPS\n"));
}

/* -- containers -------------------------------------------------------------------------------- */

static void containers_are_found_by_their_marks(void **state)
{
    (void)state;
    static const struct {
        const char *file; /* NULL: none */
        const char *text; /* with '|' for NUL */
        const char *kind; /* NULL: no container */
    } table[] = {
        {NULL, NULL, NULL},
        {"/.dockerenv", "", "Docker"},
        {"/run/.containerenv", "", "Podman"},
        {"/.singularity.d/runscript", "", "Apptainer"},
        {"/proc/1/environ", "A=1|container=podman|B=2|", "Podman"},
        {"/proc/1/environ", "container=lxc", "LXC"},
        {"/proc/1/environ", "container=\033[31m|", "a container"},
        {"/proc/1/environ", "container=|", NULL},
        {"/proc/1/environ", "my_container=docker|CONTAINER=docker|", NULL},
        {"/proc/1/cgroup", "0::/init.scope\n", NULL},
        {"/proc/1/cgroup", "0::/\n", NULL},
        {"/proc/1/cgroup", "0::/system.slice/docker.service\n", NULL},
        {"/proc/1/cgroup", "4:cpu:/docker/0123\n0::/\n", "Docker"},
        {"/proc/1/cgroup", "1:a:/\n0::/system.slice/docker-0123.scope\n", "Docker"},
        {"/proc/1/cgroup", "0::/kubepods.slice/cri-containerd-01.scope\n", "Kubernetes"},
        {"/proc/1/cgroup", "0::/machine.slice/libpod-01.scope\n", "Podman"},
    };
    unsetenv("KUBERNETES_SERVICE_HOST");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct tree t;
        tree_make(&t);
        if (table[i].file) {
            char bytes[128];
            size_t size = strlen(table[i].text);
            for (size_t k = 0; k < size; k++)
                bytes[k] = table[i].text[k] == '|' ? '\0' : table[i].text[k];
            tree_write_bytes(&t, table[i].file, bytes, size);
        }
        struct machine_container container = machine_container_read(t.root);
        if (table[i].kind == NULL)
            assert_null(container.kind);
        else if (!container.kind || strcmp(container.kind, table[i].kind) != 0)
            fail_msg("%s: '%s' is %s", table[i].file, table[i].text,
                     container.kind ? container.kind : "no container");
        assert_false(container.own_process_ids);
        tree_remove(&t);
    }
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    assert_string_equal(machine_container_read("/nonexistent").kind, "Kubernetes");
    unsetenv("KUBERNETES_SERVICE_HOST");
}

static void process_id_namespaces_are_told(void **state)
{
    (void)state;
    struct tree t;
    struct report report;
    unsetenv("KUBERNETES_SERVICE_HOST");
    tree_make(&t);
    tree_link(&t, "/proc/self/ns/pid", "pid:[4026531836]");
    struct machine_container container = machine_container_read(t.root);
    assert_false(container.own_process_ids);
    report_begin(&report);
    doctor_check_container(&report.doctor, &container);
    report_expect(&report, 0, 0, "ok       container: none\n");
    tree_remove(&t);

    tree_make(&t);
    tree_link(&t, "/proc/self/ns/pid", "pid:[4026532219]");
    tree_write(&t, "/.dockerenv", "");
    container = machine_container_read(t.root);
    assert_true(container.own_process_ids);
    report_begin(&report);
    doctor_check_container(&report.doctor, &container);
    report_expect(&report, 0, 0,
                  "ok       container: Docker, with process IDs of its own; mpsweep's daemon and "
                  "workers share them\n");
    tree_remove(&t);
}

/* -- private directory, /dev/shm, limits ------------------------------------------------------- */

static void the_place_of_the_private_directory_is_told(void **state)
{
    (void)state;
    struct report report;
    unsetenv("XDG_RUNTIME_DIR");
    setenv("TMPDIR", "/some", 1);
    report_begin(&report);
    doctor_check_directory(&report.doctor, "/some/mpsweep-123456", NULL);
    report_expect(&report, 0, 0, "ok       private directory: in '/some'\n");

    report_begin(&report);
    doctor_check_directory(&report.doctor, "/dev/shm/mpsweep-123456", NULL);
    report_expect(
        &report, 0, 0,
        "ok       private directory: in '/dev/shm'; not writable, not safe, or too long: '/some', "
        "'/tmp'\n");

    setenv("TMPDIR", "/tmp/longer", 1);
    report_begin(&report);
    doctor_check_directory(&report.doctor, "/tmp/mpsweep-123456", NULL);
    report_expect(&report, 0, 0,
                  "ok       private directory: in '/tmp'; not writable, not safe, or too long: "
                  "'/tmp/longer'\n");

    setenv("XDG_RUNTIME_DIR", "/run/user/1", 1);
    setenv("TMPDIR", "not/absolute", 1);
    report_begin(&report);
    doctor_check_directory(&report.doctor, "/tmp/mpsweep-123456", NULL);
    report_expect(&report, 0, 0,
                  "ok       private directory: in '/tmp'; not writable, not safe, or too long: "
                  "'/run/user/1'\n");
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("TMPDIR");

    report_begin(&report);
    doctor_check_directory(&report.doctor, NULL, "no place");
    report_expect(
        &report, 0, 1,
        "problem  no place\n"
        "         -> export TMPDIR=DIRECTORY, one that only you may write to and with a short "
        "name\n");
}

static void shared_memory_is_read(void **state)
{
    (void)state;
    struct tree t;
    char path[128];
    tree_make(&t);
    assert_false(machine_shm_read(t.root).exists);
    tree_directory(&t, "/dev/shm");
    struct machine_shm shm = machine_shm_read(t.root);
    assert_true(shm.exists);
    assert_true(shm.writable);
    assert_true(shm.free_bytes > 0);
    snprintf(path, sizeof path, "%s/dev/shm", t.root);
    assert_int_equal(chmod(path, 0500), 0);
    /* Nothing keeps root from writing but a file system. */
    assert_int_equal(machine_shm_read(t.root).writable, geteuid() == 0);
    tree_remove(&t);
}

static void shared_memory_is_judged(void **state)
{
    (void)state;
    const uint64_t mib = (uint64_t)1 << 20;
    static const char remount[] = "-> docker run --shm-size=1g, or as root: mount -o "
                                  "remount,size=1G /dev/shm\n";
    struct machine_shm shm = {.exists = true, .writable = true, .free_bytes = 64 * mib};
    struct report report;
    report_begin(&report);
    doctor_check_shm(&report.doctor, &shm, false);
    report_expect(&report, 0, 0, "ok       /dev/shm: 64.0 MiB free\n");
    shm.free_bytes = 64 * mib - 4096;
    report_begin(&report);
    doctor_check_shm(&report.doctor, &shm, true);
    report_expect_parts(&report, 1, 0, PARTS("warning  /dev/shm: 64.0 MiB free\n", remount));
    shm.free_bytes = 0;
    report_begin(&report);
    doctor_check_shm(&report.doctor, &shm, false);
    report_expect_parts(&report, 1, 0, PARTS("warning  /dev/shm: 0 KiB free\n", remount));
    for (int emulated = 0; emulated < 2; emulated++) {
        shm = (struct machine_shm){.exists = true};
        report_begin(&report);
        doctor_check_shm(&report.doctor, &shm, emulated);
        report_expect_parts(&report, emulated, !emulated,
                            PARTS("/dev/shm: not writable\n", "-> as root: mount -o remount,rw"));
        shm = (struct machine_shm){0};
        report_begin(&report);
        doctor_check_shm(&report.doctor, &shm, emulated);
        report_expect_parts(&report, emulated, !emulated,
                            PARTS("/dev/shm: there is none\n", "-> as root: mkdir -p /dev/shm"));
    }
}

static void speeds_are_judged(void **state)
{
    (void)state;
    uint64_t turns[9] = {0, 1000, 800, 0, 950};
    struct report report;
    report_begin(&report);
    doctor_check_speeds(&report.doctor, turns, 9);
    report_expect(&report, 0, 0,
                  "ok       speed of the CPUs: the slowest of 3 does 80% of the fastest now\n");
    turns[2] = 790;
    turns[4] = 500;
    report_begin(&report);
    doctor_check_speeds(&report.doctor, turns, 9);
    report_expect_parts(&report, 1, 0,
                        PARTS("warning  speed of the CPUs: 2 of 3 do less than 80% of the fastest "
                              "now: CPU 2 79%, CPU 4 50%\n",
                              "-> 'top' shows what else runs; "));
    for (unsigned cpu = 5; cpu < 9; cpu++)
        turns[cpu] = 100;
    report_begin(&report);
    doctor_check_speeds(&report.doctor, turns, 9);
    report_expect_parts(&report, 1, 0, PARTS("6 of 7 do less", "CPU 5 10%, CPU 6 10%, ...\n"));
    /* Nothing to compare it with. */
    report_begin(&report);
    doctor_check_speeds(&report.doctor, turns, 2);
    report_expect(&report, 0, 0, "");
}

static void limits_are_judged(void **state)
{
    (void)state;
    struct report report;
    const rlim_t none = RLIM_INFINITY;
    struct machine_limits limits = {{1024, 65536, 1024, none}};
    report_begin(&report);
    doctor_check_limits(&report.doctor, &limits);
    report_expect(&report, 0, 0,
                  "ok       open files: limit of 1024\n"
                  "ok       locked memory: limit of 64 KiB\n"
                  "ok       processes and threads: limit of 1024\n"
                  "ok       address space: no limit\n");
    limits = (struct machine_limits){{1023, 65535, 1023, (rlim_t)1 << 40}};
    report_begin(&report);
    doctor_check_limits(&report.doctor, &limits);
    report_expect_parts(
        &report, 4, 0,
        PARTS("warning  open files: limit of 1023\n         -> ulimit -n 4096 (",
              "warning  locked memory: limit of 64 KiB\n         -> ulimit -l unlimited (",
              "warning  processes and threads: limit of 1023\n         -> ulimit -u 4096 (",
              "warning  address space: limit of 1024.0 GiB\n         -> ulimit -v unlimited ("));
    limits = (struct machine_limits){{none, none, none, none}};
    report_begin(&report);
    doctor_check_limits(&report.doctor, &limits);
    report_expect_parts(&report, 0, 0, PARTS("processes and threads: no limit\n"));

    /* The soft limit counts. */
    struct rlimit before, files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    files = before;
    files.rlim_cur = 77;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(machine_limits_read().values[LIMIT_FILES], 77);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(daemons_are_found_by_their_program),
        cmocka_unit_test(pipe_directories_are_never_echoed_raw),
        cmocka_unit_test(a_daemon_of_mpsweep_is_told_by_its_directory),
        cmocka_unit_test(a_directory_of_another_user_is_not_mpsweeps),
        cmocka_unit_test(more_daemons_than_fit_are_counted),
        cmocka_unit_test(daemons_are_told_with_what_to_type),
        cmocka_unit_test(containers_are_found_by_their_marks),
        cmocka_unit_test(process_id_namespaces_are_told),
        cmocka_unit_test(the_place_of_the_private_directory_is_told),
        cmocka_unit_test(shared_memory_is_read),
        cmocka_unit_test(shared_memory_is_judged),
        cmocka_unit_test(speeds_are_judged),
        cmocka_unit_test(limits_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
