#include "orchestrator/completion.h"

#include <string.h>

#include "config.h"
#include "job/option_words.h"
#include "orchestrator/commands/commands.h"
#include "probes/probe.h"

/* -- scripts ----------------------------------------------------------------------------------- */

/* The assembler copies the scripts in, so that a program that is not installed has them. */
#define SCRIPTS(SCRIPT)                                                                            \
    SCRIPT(bash, "mpsweep.bash") SCRIPT(zsh, "_mpsweep") SCRIPT(fish, "mpsweep.fish")

#define EMBED(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global completion_" #name "\n"                                                       \
            ".hidden completion_" #name "\n"                                                       \
            "completion_" #name ":\n"                                                              \
            ".incbin \"" MPSWEEP_SOURCE_DIR "/orchestrator/completions/" file "\"\n"               \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char completion_##name[] __attribute__((visibility("hidden")));
SCRIPTS(EMBED)

static const struct script {
    const char *shell, *text;
} scripts[] = {
#define ROW(name, file) {#name, completion_##name},
    SCRIPTS(ROW)
#undef ROW
};

bool completion_print_script(FILE *out, const char *shell)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(scripts[i].shell, shell) != 0)
            continue;
        fputs(scripts[i].text, out);
        return true;
    }
    return false;
}

/* -- candidates -------------------------------------------------------------------------------- */

/* A line of output: a word after what stands before it, if it begins as the last word does. */
struct asked {
    FILE *out;
    const char *word;   /* begun */
    const char *before; /* of word, the items of a list that are complete */
    int before_length;
};

/* Prints a candidate with the first line of its help, which may be NULL. */
static void print_candidate(const struct asked *asked, const char *word, size_t length,
                            const char *help)
{
    size_t begun = strlen(asked->word);
    if (length < begun || strncmp(word, asked->word, begun) != 0)
        return;
    fprintf(asked->out, "%.*s%.*s", asked->before_length, asked->before, (int)length, word);
    if (help)
        fprintf(asked->out, "\t%.*s", (int)strcspn(help, "\n"), help);
    fputc('\n', asked->out);
}

static void print_word(const struct asked *asked, const char *word, const char *help)
{
    print_candidate(asked, word, strlen(word), help);
}

/* The words among the forms of a value: all and emulated of "N|UUID[,...]|all|emulated[:...]". */
static void print_forms(const struct asked *asked, const char *forms)
{
    for (const char *form = forms; form && *form; form += strspn(form, "|")) {
        size_t length = strcspn(form, "|");
        size_t letters = strspn(form, "abcdefghijklmnopqrstuvwxyz-");
        if (letters > 0 && (letters == length || form[letters] == '['))
            print_candidate(asked, form, letters, NULL);
        form += length;
    }
}

static void print_layouts(const struct asked *asked)
{
    char form[64];
    for (int kind = 0; kind < LAYOUT_KINDS; kind++) {
        snprintf(form, sizeof form, "%s:", layout_name((enum layout_kind)kind));
        print_word(asked, form, NULL);
    }
}

/* Values of an option; word may be a list of them. */
static void print_values(FILE *out, const struct option_row *row, const char *word)
{
    struct asked asked = {.out = out, .word = word, .before = word};
    const char *comma = strrchr(word, ',');
    if (comma && (row->flags & OPTION_AXIS)) {
        asked.word = comma + 1;
        asked.before_length = (int)(comma + 1 - word);
    }
    if (row->kind == OPTION_KIND_LAYOUT)
        print_layouts(&asked);
    for (const struct option_choice *choice = row->choices; choice && choice->word; choice++)
        print_word(&asked, choice->word, choice->help);
    if (!row->metavar || row->kind == OPTION_KIND_LAYOUT)
        return;
    if (!row->choices)
        print_forms(&asked, row->metavar);
    if (strstr(row->metavar, "FILE"))
        fputs(COMPLETION_FILES "\n", out);
    if (strcmp(row->metavar, "DIR") == 0)
        fputs(COMPLETION_DIRECTORIES "\n", out);
}

static void print_options(FILE *out, const struct command *command, const char *word)
{
    struct asked asked = {.out = out, .word = word, .before = ""};
    unsigned bits = (unsigned)command->bit | command->also;
    for (int i = 0; i < OPTION_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "--%s", option_table[i].name);
        if (option_table[i].commands & bits)
            print_word(&asked, name, option_table[i].help);
    }
    print_word(&asked, "--help", "options and examples");
    print_word(&asked, "--help-all", "each option in full");
}

/* -- where the last word stands ---------------------------------------------------------------- */

/* Commands whose names begin with the words before: what comes next in each, a family once. */
static void print_commands(const struct asked *asked, const char *family)
{
    size_t skipped = *family ? strlen(family) + 1 : 0;
    const char *last = "";
    for (size_t i = 0; i < command_count; i++) {
        const char *name = commands[i].name + skipped;
        if (*family && !command_is_of(&commands[i], family))
            continue;
        size_t length = strcspn(name, " ");
        if (strncmp(last, name, length + 1) != 0)
            print_candidate(asked, name, length, name[length] ? NULL : commands[i].summary);
        last = name;
    }
}

static void print_first(FILE *out, const char *word)
{
    struct asked asked = {.out = out, .word = word, .before = ""};
    print_commands(&asked, "");
    print_word(&asked, "help", "of a command, an option or a value");
    print_word(&asked, "completion", "of command lines, for a shell");
    print_word(&asked, "--help", NULL);
    print_word(&asked, "--version", NULL);
}

static void print_operands(FILE *out, const struct command *command, size_t operands,
                           const char *word)
{
    struct asked asked = {.out = out, .word = word, .before = ""};
    if (command->flags & COMMAND_WRAPS) {
        fputs(COMPLETION_COMMANDS "\n", out);
    } else if (operands >= command->most) {
        print_options(out, command, word);
    } else if (command->bit == OPTION_PROBE) {
        for (size_t i = 0; probes[i]; i++)
            print_word(&asked, probes[i]->name, probes[i]->question);
        print_word(&asked, "all", "each of them");
    } else if (command->needed && strncmp(command->needed, "DIR", 3) == 0) {
        fputs(COMPLETION_DIRECTORIES "\n", out);
    } else {
        fputs(COMPLETION_FILES "\n", out);
    }
}

/* The option whose value the word behind this one is; NULL: it needs none. */
static const struct option_row *waiting(const struct command *command, const char *word)
{
    const char *value = NULL;
    const struct option_row *row = NULL;
    if (word[0] == '-' && word[1] == '-' && !strchr(word, '='))
        row = command_option(command, word + 2, 0, &value);
    else if (word[0] == '-' && word[1] && !word[2])
        row = command_option(command, NULL, word[1], &value);
    return row && row->kind != OPTION_KIND_SWITCH && !value ? row : NULL;
}

/* words: those behind the command's name, the last one to be completed. */
static void print_in_command(FILE *out, const struct command *command, int count,
                             char *const *words)
{
    const char *word = words[count - 1], *equals = strchr(word, '='), *value = NULL;
    const struct option_row *row = NULL;
    size_t operands = 0;
    for (int i = 0; i < count - 1; i++) {
        bool dashes =
            strcmp(words[i], "--") == 0 && command->flags & (COMMAND_PROGRAM | COMMAND_WRAPS);
        bool begins = words[i][0] != '-' && !row && command->flags & COMMAND_WRAPS;
        if (dashes || begins) {
            bool named = begins || i < count - 2;
            fputs(named ? COMPLETION_FILES "\n" : COMPLETION_COMMANDS "\n", out);
            return;
        }
        operands += !row && words[i][0] != '-';
        row = row ? NULL : waiting(command, words[i]);
    }
    if (row) {
        print_values(out, row, word);
    } else if (strncmp(word, "--", 2) == 0 && equals) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(equals - word - 2), word + 2);
        row = command_option(command, name, 0, &value);
        if (row && !value && row->kind != OPTION_KIND_SWITCH)
            print_values(out, row, equals + 1);
    } else if (word[0] == '-') {
        print_options(out, command, word);
    } else {
        print_operands(out, command, operands, word);
    }
}

static void print_shells(FILE *out, const char *word)
{
    struct asked asked = {.out = out, .word = word, .before = ""};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        print_word(&asked, scripts[i].shell, NULL);
}

void completion_print(FILE *out, int count, char *const *words)
{
    const char *word = count ? words[count - 1] : "";
    bool family = count > 1 && command_is_family(words[0]);
    struct asked asked = {.out = out, .word = word, .before = ""};
    char name[64];
    if (count < 2 || strcmp(words[0], "help") == 0) {
        print_first(out, word);
    } else if (strcmp(words[0], "completion") == 0) {
        print_shells(out, word);
    } else if (family && count == 2) {
        print_commands(&asked, words[0]);
    } else {
        snprintf(name, sizeof name, "%s%s%s", words[0], family ? " " : "", family ? words[1] : "");
        const struct command *command = command_find(name);
        if (command)
            print_in_command(out, command, count - 1 - family, words + 1 + family);
    }
}
