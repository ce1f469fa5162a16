#include "job/jobfile.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/paths.h"
#include "common/text.h"
#include "job/option_words.h"

struct loader {
    const char *path;
    FILE *file;
    int line;          /* of the text handed to inih last */
    int workload_line; /* of the last [workload NAME] */
    bool long_line;    /* the line was too long for inih */
    struct options global;
    bool seen[OPTION_COUNT]; /* keys given in the current section */
    struct job *job;
    char section[64]; /* the current one, "" before the first */
    bool in_workload; /* the current section describes the last of the job's workloads */
    enum status status;
};

#define WORKLOAD_SECTION "workload"

/* "workload NAME": the name, else NULL. */
static const char *workload_of(const char *section)
{
    size_t length = strlen(WORKLOAD_SECTION);
    if (strncmp(section, WORKLOAD_SECTION, length) != 0)
        return NULL;
    const char *name = section + length + strspn(section + length, " \t");
    return name > section + length || !*name ? name : NULL;
}

static enum status begin_workload(struct loader *loader, const char *name)
{
    struct job *job = loader->job;
    struct workload workload;
    enum status status = workload_begin(name, &workload);
    for (size_t i = 0; i < job->workload_count && status == STATUS_OK; i++)
        if (strcmp(job->workloads[i].name, name) == 0)
            status = status_set(STATUS_USAGE, "section [workload %s] appears twice", name);
    if (status != STATUS_OK)
        return status;
    struct workload *workloads =
        realloc(job->workloads, (job->workload_count + 1) * sizeof *workloads);
    if (!workloads)
        return status_set(STATUS_MEMORY, "out of memory");
    job->workloads = workloads;
    job->workloads[job->workload_count++] = workload;
    return STATUS_OK;
}

static enum status end_workload(struct loader *loader)
{
    if (!loader->in_workload)
        return STATUS_OK;
    loader->in_workload = false;
    enum status status = workload_end(&loader->job->workloads[loader->job->workload_count - 1]);
    /* It is known to lack something only where another section begins. */
    if (status != STATUS_OK)
        loader->line = loader->workload_line;
    return status;
}

static enum status set_workload_key(struct loader *loader, const char *key, const char *text)
{
    struct workload *workload = &loader->job->workloads[loader->job->workload_count - 1];
    if (strcmp(key, "step") == 0)
        return workload_add_step(workload, text);
    if (strcmp(key, "check") == 0)
        return workload_set_check(workload, text);
    bool is_option = option_find(key, OPTION_SWEEP | OPTION_TUNE) != NULL;
    return status_set(STATUS_USAGE, "unknown key '%s' of a workload: it takes step and check%s",
                      key, is_option ? "; it is an option of points: write it into [global]" : "");
}

/* Another name is a set of points of its own, whatever it is; one slip from the other meaning would
 * go unnoticed. */
static enum status check_name(const char *name)
{
    if (strcmp(name, "global") == 0 || text_distance(name, "global") > 1)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "[%s] would be points of its own; did you mean [global]?",
                      name);
}

static enum status begin_section(struct loader *loader, const char *name)
{
    struct job *job = loader->job;
    enum status ended = end_workload(loader);
    if (ended != STATUS_OK)
        return ended;
    memset(loader->seen, 0, sizeof loader->seen);
    const char *workload = workload_of(name);
    if (workload) {
        ended = begin_workload(loader, workload);
        loader->in_workload = ended == STATUS_OK;
        loader->workload_line = loader->line;
        return ended;
    }
    ended = check_name(name);
    if (ended != STATUS_OK)
        return ended;
    if (strcmp(name, "global") == 0)
        return job->count == 0 ? STATUS_OK : status_set(STATUS_USAGE, "[global] must come first");
    for (size_t i = 0; i < job->count; i++)
        if (strcmp(job->sections[i].name, name) == 0)
            return status_set(STATUS_USAGE, "section [%s] appears twice", name);
    struct job_section *sections = realloc(job->sections, (job->count + 1) * sizeof *job->sections);
    if (!sections)
        return status_set(STATUS_MEMORY, "out of memory");
    job->sections = sections;
    struct job_section *section = &sections[job->count];
    *section = (struct job_section){.name = strdup(name)};
    if (!section->name)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = options_copy(&loader->global, &section->options);
    if (status != STATUS_OK) {
        free(section->name);
        return status;
    }
    job->count++;
    return STATUS_OK;
}

/* What inih keeps of a section's name. */
#define INIH_SECTION 49

/* Begins the section that a line opens; inih reports only sections that have keys, and one without
 * is [global] as it is. inih refuses a line that is not a section after all, and drops what follows
 * the name. */
static enum status begin_if_section(struct loader *loader, const char *line)
{
    static const char blanks[] = " \t\r\v\f\n";
    char *name = loader->section;
    if (loader->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    line += strspn(line, blanks);
    size_t length = strcspn(line, "]\n");
    if (*line != '[' || line[length] != ']')
        return STATUS_OK;
    if (length - 1 >= sizeof loader->section)
        return status_set(STATUS_USAGE, "the name of section '%.*s...' is too long", 32, line + 1);
    memcpy(name, line + 1, length - 1);
    name[length - 1] = '\0';
    const char *rest = line + length + 1 + strspn(line + length + 1, blanks);
    if (*rest && !strchr(";#", *rest))
        return status_set(STATUS_USAGE, "'%.*s' follows [%s]: write it on a line of its own",
                          (int)strcspn(rest, "\r\n"), rest, name);
    return begin_section(loader, name);
}

/* Reads a line as fgets() does. Returns its bytes; 0 at the end of the file; -1 for one with a NUL
 * byte, which inih would take for its end. */
static int read_bytes(FILE *file, char *text, int size)
{
    int length = 0, byte = 0;
    while (length + 1 < size && byte != '\n' && byte != EOF) {
        byte = fgetc(file);
        if (byte == 0)
            return -1;
        if (byte != EOF)
            text[length++] = (char)byte;
    }
    text[length] = '\0';
    return length;
}

/* What inih would misread without a word. */
static enum status check_line(const struct loader *loader, const char *text, int length)
{
    if (length < 0)
        return status_set(STATUS_USAGE, "there is a NUL byte: this is not text");
    if (*text == '{')
        return status_set(STATUS_USAGE,
                          "this is JSON, as in a results file, which --output FILE --resume "
                          "continues: a job file has [sections] and lines of NAME = VALUE");
    const char *carriage = strchr(text, '\r');
    if (carriage && carriage[1] && carriage[1] != '\n')
        return status_set(STATUS_USAGE,
                          "a carriage return ends no line: lines end with LF or CRLF");
    if (loader->long_line)
        return status_set(STATUS_USAGE,
                          "it is too long: begin the next line with a space to continue");
    return text_is_utf8(text) ? STATUS_OK : status_set(STATUS_USAGE, "it is not UTF-8");
}

/* inih's reader: counts lines, since its handler does not get them, and stops at those that inih
 * would cut short, or in two. */
static char *read_line(char *text, int size, void *user)
{
    struct loader *loader = user;
    int length = loader->status == STATUS_OK ? read_bytes(loader->file, text, size) : 0;
    if (length == 0)
        return NULL;
    loader->line++;
    if (length > 0 && text[length - 1] != '\n' && !feof(loader->file))
        loader->long_line = fgetc(loader->file) != EOF;
    loader->status = check_line(loader, text, length);
    if (loader->status == STATUS_OK)
        loader->status = begin_if_section(loader, text);
    if (loader->status == STATUS_OK)
        return text;
    status_record_before("'%s' line %d: ", loader->path, loader->line);
    return NULL;
}

/* What a workload takes, in a section of points: the section's own name may be mistyped. */
static enum status misplaced_key(const char *section, const char *key)
{
    char word[sizeof((struct loader *)0)->section];
    size_t length = strcspn(section, " \t");
    unsigned slips = UINT_MAX;
    snprintf(word, sizeof word, "%.*s", (int)length, section);
    if (text_is_meant(word, WORKLOAD_SECTION, &slips))
        return status_set(STATUS_USAGE,
                          "'%s' describes a workload, and [%s] is points; did you mean "
                          "[" WORKLOAD_SECTION "%s]?",
                          key, section, section + length);
    return status_set(STATUS_USAGE,
                      "'%s' describes a workload: write it into [" WORKLOAD_SECTION " NAME]", key);
}

static enum status set_key(struct loader *loader, const char *section, const char *key,
                           const char *text)
{
    if (!*section)
        return status_set(STATUS_USAGE, "'%s' comes before any section: begin with [global]", key);
    if (loader->in_workload)
        return set_workload_key(loader, key, text);
    const struct option_row *row = option_find(key, OPTION_SWEEP | OPTION_TUNE);
    if (!row && (strcmp(key, "step") == 0 || strcmp(key, "check") == 0))
        return misplaced_key(loader->section, key);
    if (!row) {
        const char *meant, *value;
        size_t word = strcspn(key, " \t");
        char first[32];
        snprintf(first, sizeof first, "%.*s", (int)word, key);
        /* inih takes a colon for an equals sign. */
        if (key[word] && option_find(first, OPTION_SWEEP | OPTION_TUNE))
            return status_set(STATUS_USAGE, "'%s' has no '=': write '%s = %s:%s'", key, first,
                              key + word + strspn(key + word, " \t"), text);
        if (!option_meaning(key, OPTION_SWEEP | OPTION_TUNE, &meant, &value))
            return status_set(STATUS_USAGE, "unknown key '%s'", key);
        return status_set(STATUS_USAGE, "unknown key '%s'; did you mean '%s%s%s'?", key, meant,
                          value ? " = " : "", value ? value : "");
    }
    if (row->flags & OPTION_NOT_IN_JOB)
        return status_set(STATUS_USAGE, "'%s' is for the command line only", key);
    bool in_global = strcmp(section, "global") == 0;
    if (!in_global && !(row->flags & (OPTION_AXIS | OPTION_IN_SECTION)))
        return status_set(STATUS_USAGE, "'%s' holds for the whole sweep: write it into [global]",
                          key);
    if (loader->seen[row->id] && !option_adds_up(row))
        return status_set(STATUS_USAGE, "'%s' is given twice in [%s]", key, section);
    loader->seen[row->id] = true;
    struct options *options =
        in_global ? &loader->global : &loader->job->sections[loader->job->count - 1].options;
    enum status status =
        options_set(options, row, text, in_global ? JOB_RANK_GLOBAL : JOB_RANK_SECTION);
    if (status == STATUS_OK)
        options->values[row->id].line = loader->line;
    return status;
}

static int on_key(void *user, const char *section, const char *key, const char *text)
{
    struct loader *loader = user;
    if (loader->status != STATUS_OK)
        return 1;
    /* inih may see a section elsewhere, or none: in a line that goes on with the one before. */
    if (strncmp(section, loader->section, INIH_SECTION) != 0)
        loader->status = status_set(STATUS_USAGE, "a [section] must not be indented");
    else
        loader->status = set_key(loader, section, key, text);
    if (loader->status != STATUS_OK && (strstr(text, " #") || strstr(text, "\t#")))
        status_record("%s; a comment behind a value begins with ' ;'", status_text());
    if (loader->status != STATUS_OK)
        status_record_before("'%s' line %d: ", loader->path, loader->line);
    return 1;
}

static enum status parse_file(struct loader *loader)
{
    int bad_line = ini_parse_stream(read_line, loader, on_key, loader);
    /* inih continues after a line that it does not understand: the first fault is the one to
     * report.
     */
    if (loader->status != STATUS_OK && (!bad_line || loader->line <= bad_line))
        return loader->status;
    if (bad_line)
        return status_set(
            STATUS_USAGE, "'%s' line %d is neither [section] nor key = value%s", loader->path,
            bad_line, bad_line == 1 ? ", as a job file has them; a program goes behind '--'" : "");
    if (ferror(loader->file))
        return status_set(STATUS_SYSTEM, "cannot read '%s': %s", loader->path, strerror(errno));
    enum status status = end_workload(loader);
    if (status != STATUS_OK)
        status_record_before("'%s' line %d: ", loader->path, loader->line);
    return status;
}

/* A job without sections of its own is one set of points: [global] itself. */
static enum status add_global_section(struct loader *loader)
{
    struct job *job = loader->job;
    job->sections = calloc(1, sizeof *job->sections);
    if (!job->sections)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = options_copy(&loader->global, &job->sections[0].options);
    if (status == STATUS_OK)
        job->count = 1;
    return status;
}

static const char folder[] = "examples/";
static const char suffix[] = ".job";

/* The name of an example, without folder or suffix. */
static const char *base_of(const char *path)
{
    return strncmp(path, folder, strlen(folder)) == 0 ? path + strlen(folder) : path;
}

const char *job_find(const char *path, char out[PATH_MAX])
{
    char name[PATH_MAX];
    struct stat info;
    if (!path || (stat(path, &info) == 0 && !S_ISDIR(info.st_mode)))
        return path;
    const char *base = base_of(path);
    const char *end = strrchr(base, '.');
    bool complete = end && strcmp(end, suffix) == 0;
    if (strchr(base, '/') || !*base || strlen(base) > NAME_MAX)
        return path;
    snprintf(name, sizeof name, "%s%s%s", folder, base, complete ? "" : suffix);
    return path_find(PATH_DATA, name, out, PATH_MAX) == STATUS_OK ? out : path;
}

/* The example whose name is nearest to that of a missing file; "": none is near. */
static void find_near(const char *path, char near[NAME_MAX + 1])
{
    char examples[PATH_MAX], asked[NAME_MAX + 1], name[NAME_MAX + 1];
    const struct dirent *entry;
    unsigned slips = UINT_MAX;
    *near = '\0';
    DIR *directory = NULL;
    /* Where one of them is, all are. */
    if (path_find(PATH_DATA, "examples/emulated.job", examples, sizeof examples) == STATUS_OK) {
        *strrchr(examples, '/') = '\0';
        directory = opendir(examples);
    }
    snprintf(asked, sizeof asked, "%s", base_of(path));
    asked[strcspn(asked, ".")] = '\0';
    while (directory && (entry = readdir(directory)) != NULL) {
        snprintf(name, sizeof name, "%s", entry->d_name);
        char *end = strrchr(name, '.');
        if (!end || strcmp(end, suffix) != 0)
            continue;
        *end = '\0';
        if (text_is_meant(asked, name, &slips))
            memcpy(near, name, sizeof name);
    }
    if (directory)
        closedir(directory);
}

static enum status not_opened(const char *path)
{
    char near[NAME_MAX + 1] = "";
    int error = errno;
    if (error == ENOENT)
        find_near(path, near);
    return status_set(STATUS_USAGE, "cannot open '%s': %s%s%s%s", path, strerror(error),
                      *near ? "; did you mean '" : "", near, *near ? "'?" : "");
}

static enum status open_file(struct loader *loader)
{
    struct stat info;
    char found[PATH_MAX];
    loader->file = fopen(job_find(loader->path, found), "re");
    if (!loader->file || fstat(fileno(loader->file), &info) != 0)
        return not_opened(loader->path);
    if (S_ISDIR(info.st_mode))
        return status_set(STATUS_USAGE, "'%s' is a directory, not a job file", loader->path);
    return STATUS_OK;
}

enum status job_load(const char *path, struct job *out)
{
    struct job job = {.path = path};
    struct loader loader = {.path = path, .job = &job};
    enum status status = options_init(&loader.global);
    if (status != STATUS_OK)
        return status;
    if (path) {
        status = open_file(&loader);
        if (status == STATUS_OK)
            status = parse_file(&loader);
    }
    job.empty = path && !*loader.section;
    if (status == STATUS_OK && job.count == 0)
        status = add_global_section(&loader);
    if (loader.file)
        fclose(loader.file);
    options_release(&loader.global);
    if (status != STATUS_OK) {
        job_release(&job);
        return status;
    }
    *out = job;
    return STATUS_OK;
}

enum status job_set(struct job *job, const struct option_row *row, const char *text)
{
    for (size_t i = 0; i < job->count; i++) {
        enum status status =
            options_set(&job->sections[i].options, row, text, JOB_RANK_COMMAND_LINE);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void job_release(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        free(job->sections[i].name);
        options_release(&job->sections[i].options);
    }
    free(job->sections);
    free(job->workloads);
    *job = (struct job){0};
}
