#include "orchestrator/capture/internal.h"

#include <string.h>
#include <sys/stat.h>

#include "common/paths.h"

/* Programs that run a script, and their options of one letter that a text to run or a module
 * follows, and not a script. */
static const struct interpreter {
    const char *name, *no_script;
} interpreters[] = {
    {"python", "cm"}, {"sh", "c"},    {"bash", "c"}, {"dash", "c"},
    {"node", "ep"},   {"perl", "eE"}, {"ruby", "e"},
};

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

const char *capture_file_of(char *const *command)
{
    const char *file = path_file_name(command[0]);
    const struct interpreter *interpreter = find_interpreter(file);
    const char *script = interpreter ? find_script(command, interpreter) : NULL;
    return script ? path_file_name(script) : file;
}

void capture_name_after(char *const *command, char name[WORKLOAD_NAME_BYTES])
{
    struct workload unused;
    const char *file = capture_file_of(command);
    bool is_script = file != path_file_name(command[0]);
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
