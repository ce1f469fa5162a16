#include "orchestrator/doctor/internal.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/text.h"
#include "mps/directory.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define SHM_WANTED_BYTES (64 * MIB)

/* A CPU that does less of what the fastest does is another kind, or shares its core. */
#define SPEED_LEAST 0.8
#define SLOW_LISTED 4

/* The process ID namespace that a machine starts with has this number in every kernel:
 * PROC_PID_INIT_INO of include/linux/proc_ns.h. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static const char *bytes_text(uint64_t bytes, char *text, size_t size)
{
    if (bytes >= GIB)
        snprintf(text, size, "%.1f GiB", (double)bytes / (double)GIB);
    else if (bytes >= MIB)
        snprintf(text, size, "%.1f MiB", (double)bytes / (double)MIB);
    else
        snprintf(text, size, "%.0f KiB", (double)bytes / (double)KIB);
    return text;
}

/* -- user -------------------------------------------------------------------------------------- */

const char *machine_user_name(uid_t user, char *text, size_t size)
{
    const struct passwd *entry = getpwuid(user);
    if (entry && *entry->pw_name)
        snprintf(text, size, "%s", entry->pw_name);
    else
        snprintf(text, size, "uid %u", (unsigned)user);
    return text;
}

void doctor_check_user(struct doctor *doctor)
{
    char name[64];
    uid_t user = geteuid();
    doctor_report(doctor, FINDING_OK, NULL, "user: %s (uid %u)%s",
                  machine_user_name(user, name, sizeof name), (unsigned)user,
                  user == 0 ? "; mpsweep needs no root" : "");
}

/* -- containers -------------------------------------------------------------------------------- */

static bool exists(const char *root, const char *path)
{
    char whole[PATH_MAX];
    return snprintf(whole, sizeof whole, "%s%s", root, path) < (int)sizeof whole &&
           access(whole, F_OK) == 0;
}

static FILE *open_file(const char *root, const char *path)
{
    char whole[PATH_MAX];
    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole)
        return NULL;
    return fopen(whole, "re");
}

/* What names a container in a value of the variable "container" or in the path of a group. */
static const struct {
    const char *value; /* of the variable; NULL: none */
    const char *group; /* a part of the path; NULL: none */
    const char *kind;
} kinds[] = {
    {NULL, "/kubepods", "Kubernetes"},
    {"podman", "/libpod-", "Podman"},
    {"docker", "/docker/", "Docker"},
    {NULL, "/docker-", "Docker"},
    {"lxc", "/lxc/", "LXC"},
    {NULL, "/lxc.payload", "LXC"},
    {"systemd-nspawn", "/machine.slice/", "systemd-nspawn"},
    {NULL, "/cri-containerd-", "containerd"},
    {NULL, "/crio-", "CRI-O"},
};

static const char *kind_of_variable(const char *root)
{
    FILE *file = open_file(root, "/proc/1/environ");
    if (!file)
        return NULL;
    static const char name[] = "container=";
    const char *kind = NULL;
    char *entry = NULL;
    size_t size = 0;
    while (!kind && getdelim(&entry, &size, '\0', file) > 0) {
        const char *value = entry + sizeof name - 1;
        if (strncmp(entry, name, sizeof name - 1) != 0 || !*value)
            continue;
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !kind; i++)
            if (kinds[i].value && strcmp(kinds[i].value, value) == 0)
                kind = kinds[i].kind;
        if (!kind)
            kind = "a container";
    }
    free(entry);
    fclose(file);
    return kind;
}

static const char *kind_of_group(const char *root)
{
    FILE *file = open_file(root, "/proc/1/cgroup");
    if (!file)
        return NULL;
    const char *kind = NULL;
    char *line = NULL;
    size_t size = 0;
    while (!kind && getline(&line, &size, file) > 0)
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !kind; i++)
            if (kinds[i].group && strstr(line, kinds[i].group))
                kind = kinds[i].kind;
    free(line);
    fclose(file);
    return kind;
}

struct machine_container machine_container_read(const char *root)
{
    struct machine_container container = {0};
    if (getenv("KUBERNETES_SERVICE_HOST"))
        container.kind = "Kubernetes";
    else if (exists(root, "/.dockerenv"))
        container.kind = "Docker";
    else if (exists(root, "/run/.containerenv"))
        container.kind = "Podman";
    else if (exists(root, "/.singularity.d"))
        container.kind = "Apptainer";
    if (!container.kind)
        container.kind = kind_of_variable(root);
    if (!container.kind)
        container.kind = kind_of_group(root);

    char path[PATH_MAX], name[64];
    if (snprintf(path, sizeof path, "%s/proc/self/ns/pid", root) < (int)sizeof path) {
        ssize_t length = readlink(path, name, sizeof name - 1);
        if (length > 0) {
            name[length] = '\0';
            container.own_process_ids = strcmp(name, FIRST_PID_NAMESPACE) != 0;
        }
    }
    return container;
}

void doctor_check_container(struct doctor *doctor, const struct machine_container *container)
{
    /* MPS wants its clients and their daemon to see the same process IDs. */
    const char *ids = container->own_process_ids
                          ? ", with process IDs of its own; mpsweep's daemon and workers share them"
                          : "";
    if (container->kind)
        doctor_report(doctor, FINDING_OK, NULL, "container: %s%s", container->kind, ids);
    else
        doctor_report(doctor, FINDING_OK, NULL, "container: none%s",
                      container->own_process_ids ? " that is known" : "");
}

/* -- private directory ------------------------------------------------------------------------- */

void doctor_check_directory(struct doctor *doctor, const char *path, const char *error)
{
    if (!path) {
        doctor_report(
            doctor, FINDING_PROBLEM,
            "export TMPDIR=DIRECTORY, one that only you may write to and with a short name", "%s",
            error);
        return;
    }
    const char *bases[MPS_DIRECTORY_BASES];
    size_t count = mps_directory_bases(bases);
    size_t length = (size_t)(strrchr(path, '/') - path);
    char passed_over[PATH_MAX];
    struct text text = {.at = passed_over, .size = sizeof passed_over};
    for (size_t i = 0; i < count; i++) {
        if (strlen(bases[i]) == length && strncmp(bases[i], path, length) == 0)
            break;
        text_append(&text, "%s'%s'", i ? ", " : "", bases[i]);
    }
    doctor_report(doctor, FINDING_OK, NULL, "private directory: in '%.*s'%s%s", (int)length, path,
                  text.length ? "; not writable, not safe, or too long: " : "",
                  text.length ? passed_over : "");
}

/* -- /dev/shm ---------------------------------------------------------------------------------- */

struct machine_shm machine_shm_read(const char *root)
{
    struct machine_shm shm = {0};
    char path[PATH_MAX];
    struct statvfs info;
    if (snprintf(path, sizeof path, "%s/dev/shm", root) >= (int)sizeof path ||
        statvfs(path, &info) != 0)
        return shm;
    shm.exists = true;
    shm.writable = access(path, W_OK | X_OK) == 0;
    shm.free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
    return shm;
}

void doctor_check_shm(struct doctor *doctor, const struct machine_shm *shm, bool emulated)
{
    /* CUDA and MPS keep memory there that processes share; the emulated GPU does not. */
    const enum finding amiss = emulated ? FINDING_WARNING : FINDING_PROBLEM;
    char text[32];
    if (!shm->exists)
        doctor_report(doctor, amiss,
                      "as root: mkdir -p /dev/shm && mount -t tmpfs -o mode=1777,size=1G tmpfs "
                      "/dev/shm",
                      "/dev/shm: there is none");
    else if (!shm->writable)
        doctor_report(doctor, amiss, "as root: mount -o remount,rw,mode=1777,size=1G /dev/shm",
                      "/dev/shm: not writable");
    else
        doctor_report(doctor, shm->free_bytes < SHM_WANTED_BYTES ? FINDING_WARNING : FINDING_OK,
                      "docker run --shm-size=1g, or as root: mount -o remount,size=1G /dev/shm",
                      "/dev/shm: %s free", bytes_text(shm->free_bytes, text, sizeof text));
}

/* -- limits ------------------------------------------------------------------------------------ */

static const struct {
    int resource;
    bool bytes;
    rlim_t least; /* below it comes the warning */
    const char *name;
    const char *advice;
} limits_table[LIMIT_COUNT] = {
    [LIMIT_FILES] = {RLIMIT_NOFILE, false, 1024, "open files",
                     "ulimit -n 4096 (where that is refused: nofile in /etc/security/limits.conf, "
                     "or docker run --ulimit nofile=4096)"},
    [LIMIT_LOCKED] = {RLIMIT_MEMLOCK, true, 64 * KIB, "locked memory",
                      "ulimit -l unlimited (where that is refused: memlock in "
                      "/etc/security/limits.conf, or docker run --ulimit memlock=-1)"},
    [LIMIT_PROCESSES] = {RLIMIT_NPROC, false, 1024, "processes and threads",
                         "ulimit -u 4096 (where that is refused: nproc in "
                         "/etc/security/limits.conf, or docker run --ulimit nproc=4096)"},
    /* CUDA reserves address space for all memory of all GPUs, much more than it uses. */
    [LIMIT_ADDRESS] = {RLIMIT_AS, true, RLIM_INFINITY, "address space",
                       "ulimit -v unlimited (where that is refused: as in "
                       "/etc/security/limits.conf)"},
};

struct machine_limits machine_limits_read(void)
{
    struct machine_limits limits;
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        struct rlimit limit;
        limits.values[i] = getrlimit((__rlimit_resource_t)limits_table[i].resource, &limit) == 0
                               ? limit.rlim_cur
                               : RLIM_INFINITY;
    }
    return limits;
}

void doctor_check_limits(struct doctor *doctor, const struct machine_limits *limits)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        rlim_t value = limits->values[i];
        char text[32];
        if (value == RLIM_INFINITY)
            snprintf(text, sizeof text, "no limit");
        else if (limits_table[i].bytes)
            bytes_text(value, text, sizeof text);
        else
            snprintf(text, sizeof text, "%llu", (unsigned long long)value);
        doctor_report(doctor, value < limits_table[i].least ? FINDING_WARNING : FINDING_OK,
                      limits_table[i].advice, "%s: %s%s", limits_table[i].name,
                      value == RLIM_INFINITY ? "" : "limit of ", text);
    }
}

/* -- speed of the CPUs ------------------------------------------------------------------------- */

void doctor_check_speeds(struct doctor *doctor, const uint64_t *turns, unsigned cpus)
{
    char slow[256] = "";
    struct text text = {.at = slow, .size = sizeof slow};
    unsigned count = 0, below = 0;
    uint64_t most = 0, least = UINT64_MAX;
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        if (turns[cpu] == 0)
            continue;
        count++;
        most = turns[cpu] > most ? turns[cpu] : most;
        least = turns[cpu] < least ? turns[cpu] : least;
    }
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        double share = (double)turns[cpu] / (double)most;
        if (turns[cpu] == 0 || share >= SPEED_LEAST)
            continue;
        if (below++ < SLOW_LISTED)
            text_append(&text, "%sCPU %u %.0f%%", below > 1 ? ", " : "", cpu, 100.0 * share);
    }
    if (count < 2)
        return;
    if (below > 0)
        doctor_report(doctor, FINDING_WARNING,
                      "'top' shows what else runs; on a virtual machine another guest may have the "
                      "core's other hardware thread for seconds: ask for whole cores, or give "
                      "--rounds 5; or they are slower cores",
                      "speed of the CPUs: %u of %u do less than %.0f%% of the fastest now: %s%s",
                      below, count, 100.0 * SPEED_LEAST, slow, below > SLOW_LISTED ? ", ..." : "");
    else
        doctor_report(doctor, FINDING_OK, NULL,
                      "speed of the CPUs: the slowest of %u does %.0f%% of the fastest now", count,
                      100.0 * (double)least / (double)most);
}
