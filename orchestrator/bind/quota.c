#include "orchestrator/bind/bind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * A control group may grant less time than its CPUs have: a container with "2 CPUs" often sees all
 * of the machine's and is stopped for the rest of each period once two CPUs' worth is used. The
 * limit of a group binds all below it, so each group from ours up to the mount is read.
 */

#define PATH_BYTES 4096

/* Whether a comma-separated list of controllers has that of CPU time. */
static bool has_cpu(const char *list)
{
    for (const char *item = list; item; item = strchr(item, ','), item = item ? item + 1 : NULL)
        if (strncmp(item, "cpu", 3) == 0 && strchr(",\n", item[3]))
            return true;
    return false;
}

/* The first line of directory/name; false if there is none. */
static bool line_of(const char *directory, const char *name, char *line, size_t size)
{
    char path[PATH_BYTES + 64];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fgets(line, (int)size, file) != NULL;
    fclose(file);
    return read;
}

/* CPUs that this one group grants, 0 for no limit. */
static double group_quota(const char *directory, bool v2)
{
    char line[128];
    long long quota = 0, period = 0;
    if (v2) {
        /* "max 100000" has no number to read. */
        if (!line_of(directory, "cpu.max", line, sizeof line) ||
            sscanf(line, "%lld %lld", &quota, &period) != 2)
            return 0;
    } else {
        if (!line_of(directory, "cpu.cfs_quota_us", line, sizeof line) ||
            sscanf(line, "%lld", &quota) != 1 ||
            !line_of(directory, "cpu.cfs_period_us", line, sizeof line) ||
            sscanf(line, "%lld", &period) != 1)
            return 0;
    }
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

static double tighter(double a, double b)
{
    if (a <= 0 || b <= 0)
        return a > b ? a : b;
    return a < b ? a : b;
}

/* The tightest limit from mount/group up to the mount itself. A group that is not visible below the
 * mount, as in many containers, has no files there; then its nearest visible parent counts. */
static double tightest(const char *mount, const char *group, bool v2)
{
    char directory[PATH_BYTES];
    if (snprintf(directory, sizeof directory, "%s%s", mount, group) >= (int)sizeof directory)
        return 0;
    const size_t top = strlen(mount);
    double quota = 0;
    for (;;) {
        size_t length = strlen(directory);
        while (length > top && directory[length - 1] == '/')
            directory[--length] = '\0';
        quota = tighter(quota, group_quota(directory, v2));
        if (length <= top)
            return quota;
        char *slash = strrchr(directory + top, '/');
        *(slash ? slash : directory + top) = '\0';
    }
}

/* The part of `group` below `root`, which is what the mount shows as its top. */
static const char *below(const char *group, const char *root)
{
    size_t length = strlen(root);
    if (strcmp(root, "/") == 0)
        return group;
    if (strncmp(group, root, length) == 0 && (group[length] == '/' || group[length] == '\0'))
        return group + length;
    return "";
}

/* Our groups, as /proc/self/cgroup lists them: "ID:CONTROLLERS:PATH", v2 with ID 0. */
static bool own_groups(const char *root, char v1[PATH_BYTES], char v2[PATH_BYTES])
{
    char path[PATH_BYTES], line[PATH_BYTES];
    v1[0] = v2[0] = '\0';
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = '\0';
        *group++ = '\0';
        /* A group outside our namespace is shown as "/..": all we can see is the mount. */
        const char *seen = strncmp(group, "/..", 3) == 0 ? "" : group;
        if (strcmp(line, "0") == 0 && !*controllers)
            snprintf(v2, PATH_BYTES, "%s", seen);
        else if (has_cpu(controllers))
            snprintf(v1, PATH_BYTES, "%s", seen);
    }
    fclose(file);
    return true;
}

double bind_cpu_quota_at(const char *root)
{
    char v1[PATH_BYTES], v2[PATH_BYTES], path[PATH_BYTES], line[PATH_BYTES];
    if (!own_groups(root, v1, v2) ||
        snprintf(path, sizeof path, "%s/proc/self/mountinfo", root) >= (int)sizeof path)
        return 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    double quota = 0;
    while (fgets(line, sizeof line, file)) {
        /* "ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS [FIELDS] - TYPE SOURCE SUPER-OPTIONS" */
        char top[1024], mount[1024], type[64], super[1024], place[PATH_BYTES];
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %1023s %1023s", top, mount) != 2 ||
            sscanf(rest, " - %63s %*s %1023s", type, super) != 2)
            continue;
        bool is_v2 = strcmp(type, "cgroup2") == 0;
        if (!is_v2 && (strcmp(type, "cgroup") != 0 || !has_cpu(super)))
            continue;
        if (snprintf(place, sizeof place, "%s%s", root, mount) < (int)sizeof place)
            quota = tighter(quota, tightest(place, below(is_v2 ? v2 : v1, top), is_v2));
    }
    fclose(file);
    return quota;
}

double bind_cpu_quota(void)
{
    return bind_cpu_quota_at("");
}

unsigned bind_usable_cpus(const struct bind_topology *topology)
{
    unsigned cpus = bind_cpu_count(topology);
    double quota = bind_cpu_quota();
    if (quota > 0.0 && quota < cpus)
        cpus = quota < 1.0 ? 1 : (unsigned)quota;
    return cpus;
}
