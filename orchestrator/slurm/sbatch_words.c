/* Refuses the options of sbatch that would change what the run is. */
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/slurm/internal.h"

/* Options that mpsweep gives sbatch itself, or whose output it reads. */
static const struct {
    const char *name;
    char letter; /* 0: none */
} ours[] = {
    {"array", 'a'}, {"nodes", 'N'},   {"wrap", 0},      {"output", 'o'}, {"error", 'e'},
    {"wait", 'W'},  {"chdir", 'D'},   {"test-only", 0}, {"parsable", 0}, {"open-mode", 0},
    {"help", 'h'},  {"version", 'V'}, {"quiet", 'Q'},   {"usage", 'u'},
};

/* Letters of sbatch that take no value: another one may follow in the same word. */
#define ALONE "HIOksv"

static enum status refuse(const char *word, const char *name)
{
    return status_set(STATUS_USAGE, "'%s' is not for sbatch here: mpsweep gives it its own --%s",
                      word, name);
}

/* "-N2", "-HN". */
static enum status check_letters(const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            if (ours[i].letter == *letter)
                return refuse(word, ours[i].name);
        if (!strchr(ALONE, *letter))
            break;
    }
    return STATUS_OK;
}

/* mpsweep keeps what it has measured at SIGTERM and SIGINT, if the batch script gets them. */
static bool is_good_signal(const char *value)
{
    static const char *const names[] = {"TERM", "SIGTERM", "15", "INT", "SIGINT", "2"};
    if (!value || strncmp(value, "B:", 2) != 0)
        return false;
    size_t length = strcspn(value + 2, "@");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && strncmp(value + 2, names[i], length) == 0)
            return true;
    return false;
}

static bool is_named(const char *word, const char *name)
{
    size_t length = strcspn(word + 2, "=");
    return strlen(name) == length && strncmp(word + 2, name, length) == 0;
}

static enum status check_long(const char *word, const char *next)
{
    const char *value = strchr(word, '=');
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (is_named(word, ours[i].name))
            return refuse(word, ours[i].name);
    if (is_named(word, "signal") && !is_good_signal(value ? value + 1 : next))
        return status_set(STATUS_USAGE,
                          "'%s' is not for sbatch here: mpsweep keeps what it has measured only at "
                          "--signal=B:TERM@SECONDS",
                          word);
    return STATUS_OK;
}

/* sbatch would take a word that is not an option and does not follow one for the script. */
enum status slurm_check_words(char *const *words)
{
    bool value_may_follow = false;
    for (char *const *word = words; *word; word++) {
        enum status status;
        if (!text_is_utf8(*word))
            return status_set(STATUS_USAGE, "an option of sbatch is not UTF-8");
        if (**word != '-') {
            if (!value_may_follow)
                return status_set(STATUS_USAGE, "'%s' is not an option of sbatch", *word);
            value_may_follow = false;
            continue;
        }
        status = (*word)[1] == '-' ? check_long(*word, word[1]) : check_letters(*word);
        if (status != STATUS_OK)
            return status;
        value_may_follow = !strchr(*word, '=');
    }
    return STATUS_OK;
}
