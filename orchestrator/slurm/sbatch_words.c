/* What a user may hand to sbatch, and what would make another thing of the run. */
#include <string.h>

#include "common/json.h"
#include "orchestrator/slurm/jobs.h"

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

/* mpsweep keeps what it has at SIGTERM and SIGINT, if they come to the batch script. */
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

/* Which beginnings of a name are understood depends on what else the user's sbatch knows. */
static enum status check_long(const char *word, const char *value)
{
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strncmp(ours[i].name, name, length) != 0)
            continue;
        if (!ours[i].name[length])
            return refuse(word, ours[i].name);
        return status_set(
            STATUS_USAGE,
            "'%s' may be short for --%s, which mpsweep gives sbatch itself: write the "
            "option's whole name",
            word, ours[i].name);
    }
    if (strncmp("signal", name, length) != 0)
        return STATUS_OK;
    if (length < strlen("signal"))
        return status_set(STATUS_USAGE,
                          "'%s' may be short for --signal: write the option's whole name", word);
    if (!is_good_signal(name[length] == '=' ? name + length + 1 : value))
        return status_set(
            STATUS_USAGE,
            "'%s': mpsweep keeps what it has measured at --signal=B:TERM@SECONDS, and "
            "no other one",
            word);
    return STATUS_OK;
}

/* A word that is no option and follows none would be taken for the script. */
enum status slurm_check_words(char *const *words)
{
    bool value_may_follow = false;
    for (char *const *word = words; *word; word++) {
        enum status status = STATUS_OK;
        if (!is_utf8(*word))
            return status_set(STATUS_USAGE, "an option of sbatch is not UTF-8");
        if (**word != '-') {
            if (!value_may_follow)
                return status_set(STATUS_USAGE, "'%s' is no option of sbatch", *word);
            value_may_follow = false;
            continue;
        }
        if ((*word)[1] == '-')
            status = check_long(*word, word[1]);
        else
            status = check_letters(*word);
        if (status != STATUS_OK)
            return status;
        value_may_follow = !strchr(*word, '=');
    }
    return STATUS_OK;
}
