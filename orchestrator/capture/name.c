#include "orchestrator/capture/internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/child.h"
#include "common/paths.h"

/* Programs that run a script, and their options of one letter that a text to run or a module
 * follows, and not a script; NULL: those that run another program. */
static const struct interpreter {
    const char *name, *no_script;
} interpreters[] = {
    {"python", "cm"},  {"sh", "c"},       {"bash", "c"},      {"dash", "c"},   {"node", "ep"},
    {"perl", "eE"},    {"ruby", "e"},     {"env", NULL},      {"nice", NULL},  {"ionice", NULL},
    {"chrt", NULL},    {"taskset", NULL}, {"numactl", NULL},  {"nohup", NULL}, {"setsid", NULL},
    {"timeout", NULL}, {"stdbuf", NULL},  {"torchrun", NULL}, {"uv", NULL},
};

#define WORDS_MOST 64

/* By the name of its file, with or without a version: "python3.12". NULL: not an interpreter. */
static const struct interpreter *find_interpreter(const char *name)
{
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
        size_t length = strlen(interpreters[i].name);
        if (strncmp(name, interpreters[i].name, length) == 0 &&
            name[length + strspn(name + length, "0123456789.")] == '\0')
            return &interpreters[i];
    }
    return NULL;
}

/* Whether a word is "-c", or several options of which it is the last one: "-lc". */
static bool is_no_script(const char *word, const struct interpreter *interpreter)
{
    size_t length = strlen(word);
    return word[0] == '-' && word[1] && word[1] != '-' &&
           strchr(interpreter->no_script, word[length - 1]);
}

/* The first operand that is a file: others are values of options. NULL: there is none. */
static const char *find_script(char *const *command, const struct interpreter *interpreter)
{
    struct stat info;
    if (!interpreter->no_script)
        return NULL;
    for (char *const *word = command + 1; *word && !is_no_script(*word, interpreter); word++)
        if ((*word)[0] != '-' && stat(*word, &info) == 0 && S_ISREG(info.st_mode))
            return *word;
    return NULL;
}

/* The length of a name without its suffix. */
static size_t stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

/* The script that a command line runs, or its program; NULL: a program that runs what the words do
 * not show, or a title that a process gave itself. */
static const char *find_file(char *const *command, bool *is_script)
{
    char path[PATH_MAX];
    const struct interpreter *interpreter = find_interpreter(path_file_name(command[0]));
    const char *script = interpreter ? find_script(command, interpreter) : NULL;
    *is_script = script != NULL;
    if (interpreter)
        return script;
    bool runs = strchr(command[0], '/') || child_find_program(command[0], path) == STATUS_OK;
    return runs ? command[0] : NULL;
}

/* What text has, whose words process_words() has read. */
static void split(char text[TRACE_WORDS_BYTES], char *words[WORDS_MOST + 1])
{
    size_t count = 0;
    text[TRACE_WORDS_BYTES - 1] = '\0';
    const char *end = text + TRACE_WORDS_BYTES;
    for (char *at = text; at < end && *at && count < WORDS_MOST; at += strlen(at) + 1)
        words[count++] = at;
    words[count] = NULL;
}

void capture_name(struct capture *capture)
{
    struct workload unused;
    char text[TRACE_WORDS_BYTES], *words[WORDS_MOST + 1], *name = capture->name;
    bool is_script;
    const char *file = find_file(capture->job->command, &is_script);
    memcpy(text, trace_buffer_process(&capture->buffer, 0)->words, sizeof text);
    split(text, words);
    if (!file && words[0])
        file = find_file(words, &is_script);
    file = path_file_name(file ? file : capture->job->command[0]);
    snprintf(capture->file, sizeof capture->file, "%s", file);
    if (*name)
        return;
    size_t length = 0, most = is_script ? stem_length(file) : strlen(file);
    for (; length < most && length < WORKLOAD_NAME_BYTES - 1; length++) {
        char letter = file[length];
        bool is_allowed = strchr("-_", letter) || (letter >= '0' && letter <= '9') ||
                          ((letter | 32) >= 'a' && (letter | 32) <= 'z');
        name[length] = is_allowed ? letter : '_';
    }
    name[length] = '\0';
    if (workload_begin(name, &unused) != STATUS_OK)
        snprintf(name, WORKLOAD_NAME_BYTES, "recorded");
}
