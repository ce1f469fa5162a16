#include "orchestrator/session/mps_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/atomic_file.h"

#define SCHEMA 1
#define MOST_BYTES (1 << 20)
#define MOST_ENTRIES 256 /* the oldest go: a key is made with each driver */

static bool is_absolute(const char *path)
{
    return path && *path == '/';
}

/* As the XDG base directory specification has it: a path that is not absolute does not count. */
enum status mps_limits_path(char path[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char found[PATH_MAX];
    int length;
    if (is_absolute(cache))
        length = snprintf(found, sizeof found, "%s/mpsweep/limits.json", cache);
    else if (is_absolute(home))
        length = snprintf(found, sizeof found, "%s/.cache/mpsweep/limits.json", home);
    else
        return status_set(STATUS_NOT_FOUND, "neither XDG_CACHE_HOME nor HOME names a folder");
    if (length >= (int)sizeof found)
        return status_set(STATUS_NOT_FOUND, "the folder of XDG_CACHE_HOME or HOME is too long");
    memcpy(path, found, sizeof found);
    return STATUS_OK;
}

/* -- reading ----------------------------------------------------------------------------------- */

static enum status broken(const char *path, const char *why)
{
    return status_set(STATUS_PROTOCOL, "'%s' does not hold MPS limits: %s", path, why);
}

/* The array of entries, a new reference. */
static enum status read_entries(const char *path, json_t **out)
{
    json_error_t error;
    json_t *root = NULL;
    enum status status = STATUS_OK;
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return status_set(STATUS_NOT_FOUND, "there is no '%s'", path);
    if (fd < 0)
        return status_set(STATUS_SYSTEM, "cannot read '%s': %s", path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        status = broken(path, "it is not a plain file");
        goto out;
    }
    if (info.st_size > MOST_BYTES) {
        status = broken(path, "it is too big");
        goto out;
    }
    root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        status = status_set(STATUS_PROTOCOL, "'%s' does not hold MPS limits: line %d: %s", path,
                            error.line, error.text);
        goto out;
    }
    if (json_integer_value(json_object_get(root, "schema")) != SCHEMA)
        status = broken(path, "it has another schema");
    else if (!json_is_array(json_object_get(root, "limits")))
        status = broken(path, "it has no array 'limits'");
    else
        *out = json_incref(json_object_get(root, "limits"));
out:
    json_decref(root);
    close(fd);
    return status;
}

static bool take_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && snprintf(out, size, "%s", text) < (int)size;
}

static bool take_number(const json_t *object, const char *key, json_int_t most, unsigned *out)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    *out = (unsigned)number;
    return json_is_integer(value) && number >= 0 && number <= most;
}

static bool take_row(const json_t *object, struct mps_limits_row *row)
{
    unsigned refused;
    bool good = take_number(object, "connections", 32, &row->connections) &&
                take_number(object, "clients", MPS_LIMITS_MOST_CLIENTS, &row->clients) &&
                take_number(object, "refused", INT_MAX, &refused) &&
                take_text(object, "error", row->error, sizeof row->error);
    row->refused = good ? (int)refused : 0;
    return good && row->connections > 0;
}

static bool take_entry(const json_t *object, struct mps_limits *out)
{
    const json_t *rows = json_object_get(object, "rows");
    *out = (struct mps_limits){.count = (unsigned)json_array_size(rows)};
    bool good = take_text(object, "uuid", out->key.uuid, sizeof out->key.uuid) &&
                take_text(object, "cuda", out->key.cuda, sizeof out->key.cuda) &&
                take_text(object, "release", out->key.release, sizeof out->key.release) &&
                take_text(object, "found", out->found, sizeof out->found) && out->count > 0 &&
                out->count <= MPS_LIMITS_ROWS;
    for (unsigned i = 0; i < out->count && good; i++)
        good = take_row(json_array_get(rows, i), &out->rows[i]) &&
               (i == 0 || out->rows[i].connections > out->rows[i - 1].connections);
    return good;
}

static bool same_key(const struct mps_limits_key *a, const struct mps_limits_key *b)
{
    return strcmp(a->uuid, b->uuid) == 0 && strcmp(a->cuda, b->cuda) == 0 &&
           strcmp(a->release, b->release) == 0;
}

enum status mps_limits_load(const char *path, const struct mps_limits_key *key,
                            struct mps_limits *out)
{
    json_t *entries = NULL;
    enum status status = read_entries(path, &entries);
    if (status != STATUS_OK)
        return status;
    status = status_set(STATUS_NOT_FOUND, "'%s' has no entry for this GPU and driver", path);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        struct mps_limits limits;
        if (!take_entry(json_array_get(entries, i), &limits)) {
            status = broken(path, "an entry of it is incomplete");
            break;
        }
        if (same_key(&limits.key, key)) {
            *out = limits;
            status = STATUS_OK;
            break;
        }
    }
    json_decref(entries);
    return status;
}

/* -- writing ----------------------------------------------------------------------------------- */

static json_t *entry_of(const struct mps_limits *limits)
{
    json_t *rows = json_array();
    for (unsigned i = 0; i < limits->count; i++) {
        const struct mps_limits_row *row = &limits->rows[i];
        json_array_append_new(rows, json_pack("{s:i, s:i, s:i, s:s}", "connections",
                                              (int)row->connections, "clients", (int)row->clients,
                                              "refused", row->refused, "error", row->error));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "uuid", limits->key.uuid, "cuda",
                     limits->key.cuda, "release", limits->key.release, "found", limits->found,
                     "rows", rows);
}

/* Takes out what the new entry replaces, and what is too old or cannot be understood. */
static void make_room(json_t *entries, const struct mps_limits_key *key)
{
    for (size_t i = json_array_size(entries); i > 0; i--) {
        struct mps_limits limits;
        if (!take_entry(json_array_get(entries, i - 1), &limits) || same_key(&limits.key, key))
            json_array_remove(entries, i - 1);
    }
    while (json_array_size(entries) >= MOST_ENTRIES)
        json_array_remove(entries, 0);
}

/* The folders above a file; those that are there are left as they are. */
static enum status make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return status_set(STATUS_SYSTEM, "cannot make the folder '%s': %s", folder,
                              strerror(errno));
        *at = '/';
    }
    return STATUS_OK;
}

enum status mps_limits_store(const char *path, const struct mps_limits *limits)
{
    json_t *entries = NULL;
    enum status status = read_entries(path, &entries);
    if (status == STATUS_NOT_FOUND || status == STATUS_PROTOCOL)
        entries = json_array();
    else if (status != STATUS_OK)
        return status;
    status = make_folders(path);
    if (status == STATUS_OK) {
        make_room(entries, &limits->key);
        json_array_append_new(entries, entry_of(limits));
        json_t *root = json_pack("{s:i, s:O}", "schema", SCHEMA, "limits", entries);
        struct atomic_file file;
        status = root ? atomic_file_open(path, ATOMIC_FILE_REPLACE, &file)
                      : status_set(STATUS_MEMORY, "out of memory");
        if (status == STATUS_OK)
            status = atomic_file_commit_json(&file, root);
        json_decref(root);
    }
    json_decref(entries);
    return status;
}
