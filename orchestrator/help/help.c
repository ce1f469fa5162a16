#include "orchestrator/help/help.h"

#include <string.h>

#include "explain/ceilings.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/help/parts.h"
#include "probes/probe.h"

#define SCREEN_COLUMNS 100
#define TITLE_COLUMNS 34 /* of an option and its value, where what it is stands beside it */
#define VALUE_COLUMNS 80 /* the same, where its default stands beside it */

static void print_section(FILE *out, const char *text, const char *heading)
{
    size_t length;
    const char *section = help_section(text, heading, &length);
    fwrite(section, 1, length, out);
}

/* Whether the command is the first one of its family, which stands for all of them in lists. */
static bool is_first_of_family(const struct command *command, const char *family)
{
    return command_is_of(command, family) &&
           (command == commands || !command_is_of(command - 1, family));
}

/* Prints a line for all commands of a family: "mpsweep mps COMMAND   its title (start, stop)". */
static void print_family(FILE *out, const char *family, int width)
{
    const char *title = help_page_text(family);
    int written = fprintf(out, "  mpsweep %s COMMAND", family);
    const char *separator = " (";
    fprintf(out, "%*s %.*s", width + 2 - written, "", (int)strcspn(title, "\n"), title);
    for (size_t i = 0; i < command_count; i++)
        if (command_is_of(&commands[i], family)) {
            fprintf(out, "%s%s", separator, strchr(commands[i].name, ' ') + 1);
            separator = ", ";
        }
    fputs(")\n", out);
}

void help_print(FILE *out, const char *page)
{
    const char *text = help_page_text(page);
    bool main_page = strcmp(page, HELP_MAIN) == 0;
    const int width = 26;
    print_section(out, text, "INTRODUCTION");
    fputc('\n', out);
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &commands[i];
        char family[16];
        const char *examples;
        help_page_of(command, family, &examples);
        if (main_page && is_first_of_family(command, family))
            print_family(out, family, width);
        else if (main_page && !command_is_of(command, family))
            fprintf(out, "  mpsweep %-*s %s\n", width - 8, command->name, command->summary);
        else if (!main_page && command_is_of(command, page))
            fprintf(out, "  %s\n        %s\n", command->synopsis, command->summary);
    }
    fprintf(out, "\n  mpsweep %s%sCOMMAND --help%soptions and examples of a command\n",
            main_page ? "" : page, main_page ? "" : " ", main_page ? "     " : "\n        ");
    print_section(out, text, "OTHER COMMANDS");
    fputs("\nExit status\n", out);
    print_section(out, text, "EXIT STATUS");
}

/* Prints text behind a title, its further lines below the first. */
static void print_indented(FILE *out, const char *title, const char *text)
{
    int indent = 8 + (int)strlen(title);
    fprintf(out, "%8s%s", "", title);
    for (const char *line = text; line;) {
        const char *end = strchr(line, '\n');
        fprintf(out, "%*s%.*s\n", line == text ? 0 : indent, "",
                (int)(end ? end - line : (long)strlen(line)), line);
        line = end ? end + 1 : NULL;
    }
}

/* "pinned:   ", as wide as the longest word of the row's. */
static const char *choice_title(const struct option_row *row, const struct option_choice *choice,
                                char out[HELP_FORM_BYTES])
{
    int width = 0;
    for (const struct option_choice *other = row->choices; other->word; other++)
        if ((int)strlen(other->word) > width)
            width = (int)strlen(other->word);
    snprintf(out, HELP_FORM_BYTES, "  %s:%*s", choice->word, width + 1 - (int)strlen(choice->word),
             "");
    return out;
}

/* Prints "  -l, --layout NAME:COUNTS" in at most that many columns: of a long list of values those
 * for which there is room. Returns how many columns it took. */
static int print_title(FILE *out, const struct option_row *row, int columns)
{
    char form[HELP_FORM_BYTES], letter[8] = "   ";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c,", row->letter);
    const char *value = help_value_of(row, form);
    int written = fprintf(out, "  %s --%s", letter, row->name);
    int room = columns - written - 1;
    if (value && (int)strlen(value) > room) {
        int last = room - 3;
        while (last > 0 && value[last - 1] != '|')
            last--;
        written += fprintf(out, " %.*s...", last, value);
    } else if (value) {
        written += fprintf(out, " %s", value);
    }
    return written;
}

static void print_option(FILE *out, const struct option_row *row, unsigned bits)
{
    char form[HELP_FORM_BYTES], help[COMMAND_HELP_BYTES];
    print_title(out, row, VALUE_COLUMNS);
    if (row->initial && help_value_of(row, form))
        fprintf(out, "   [%s]", row->initial);
    fputs(row->flags & OPTION_AXIS ? "   *\n" : "\n", out);
    print_indented(out, "", command_option_help(row, bits, help));
    for (const struct option_choice *choice = NULL; (choice = help_next_choice(row, choice));)
        print_indented(out, choice_title(row, choice, form), choice->help);
}

/* The head of its column, or its word below a table. */
static bool has_title(const struct option_row *row, const char *word)
{
    const char *title = row->setting.title;
    return title && strcasecmp(title, word) == 0;
}

/* "max-under-p99" is a value of --rate with or without its time. */
static bool has_choice(const struct option_row *row, const char *word)
{
    static const char search[] = "max-under-p";
    if (row->kind == OPTION_KIND_RATE)
        return strcmp(word, row->initial) == 0 || strncmp(word, search, sizeof search - 1) == 0;
    for (const struct option_choice *choice = row->choices; choice && choice->word; choice++)
        if (strcmp(choice->word, word) == 0 || (choice->label && strcmp(choice->label, word) == 0))
            return true;
    return false;
}

/* Whether a word stands in a list: "p50, p99", or between blanks as in "mpsweep help WORD". */
static bool is_in_list(const char *list, size_t length, const char *separators, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *end = list + length; list < end; list += strspn(list, ", ")) {
        size_t one = strcspn(list, separators);
        if (one > (size_t)(end - list))
            one = (size_t)(end - list);
        if (one == bytes && strncasecmp(list, word, bytes) == 0)
            return true;
        list += one;
    }
    return false;
}

/* The bytes of a line and of those that go on with it, which begin further right. */
static size_t item_length(const char *line)
{
    size_t length = strcspn(line, "\n");
    while (strncmp(line + length, "\n   ", 4) == 0)
        length += 1 + strcspn(line + length + 1, "\n");
    return length;
}

/* Prints the lines of a section of the manual that explain a word. */
static bool print_explained(FILE *out, const char *section, const char *separators,
                            const char *word)
{
    size_t length, bytes;
    bool any = false;
    const char *line = help_section(help_page_text(HELP_MAIN), section, &length);
    for (const char *end = line + length; line < end; line += bytes + 1) {
        bytes = item_length(line);
        const char *gap = *line == ' ' ? strstr(line + 2, "  ") : NULL;
        size_t title = gap && gap < line + bytes ? (size_t)(gap - line) : bytes;
        if (*line != ' ' || !is_in_list(line + 2, title - 2, separators, word))
            continue;
        fprintf(out, "%.*s\n", (int)bytes, line);
        any = true;
    }
    return any;
}

/* The question of a probe, how it is answered, and what to do about the effect. */
static bool print_probe(FILE *out, const char *name)
{
    const struct probe *probe = probe_find(name);
    char label[64];
    if (!probe)
        return false;
    snprintf(label, sizeof label, "  %s  a probe: ", name);
    print_wrapped(out, label, strlen(label), probe->question);
    print_wrapped(out, "    ", 4, probe->method);
    print_wrapped(out, "    remedy: ", 12, probe->remedy);
    fprintf(out, "    'mpsweep probe %s' asks it here\n", name);
    return true;
}

/* A ceiling by its title, or by its name in JSON. */
static bool print_ceiling(FILE *out, const char *name)
{
    static const struct explain_point builtin;
    bool any = print_explained(out, "CEILINGS", ",", name);
    for (enum ceiling_kind kind = 0; kind < CEILING_KINDS && !any; kind++)
        if (strcmp(ceiling_name(kind), name) == 0)
            any = print_explained(out, "CEILINGS", ",", ceiling_title(kind, &builtin));
    return any;
}

static bool print_word(FILE *out, const char *word)
{
    const char *name = word + (strncmp(word, "--", 2) == 0 ? 2 : 0);
    char letter = word[0] == '-' && word[1] != '-' && strlen(word) == 2 ? word[1] : '\0';
    bool named = false, any = print_explained(out, "WORDS", ",", name);
    any |= print_ceiling(out, name);
    any |= print_explained(out, "OTHER COMMANDS", ", ", name);
    any |= print_probe(out, name);
    for (int i = 0; i < OPTION_COUNT; i++)
        named |= strcmp(option_table[i].name, name) == 0;
    bool axes = strcmp(word, "axes") == 0 || strcmp(word, "axis") == 0 || strcmp(word, "*") == 0;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        bool wanted = letter  ? row->letter == letter
                      : named ? strcmp(row->name, name) == 0
                      : axes  ? (row->flags & OPTION_AXIS) != 0
                              : has_choice(row, name) || has_title(row, name);
        if (!wanted)
            continue;
        const char *separator = any ? "\n" : "";
        any = true;
        for (size_t c = 0; c < command_count; c++)
            if (row->commands & (unsigned)commands[c].bit) {
                fprintf(out, "%s%s", separator, commands[c].name);
                separator = ", ";
            }
        fputc('\n', out);
        print_option(out, row, row->commands);
    }
    return any;
}

/* The other number of a word that is not known does. */
bool help_print_word(FILE *out, const char *word)
{
    char other[64];
    size_t length = strlen(word);
    bool plural = length > 1 && word[length - 1] == 's';
    if (print_word(out, word))
        return true;
    if (*word == '-' || length + 2 > sizeof other)
        return false;
    snprintf(other, sizeof other, "%.*s%s", (int)(length - plural), word, plural ? "" : "s");
    return print_word(out, other);
}

/* -- the usual options of a command that has many ---------------------------------------------- */

/* A command with more options than that shows some. */
#define OPTIONS_SHOWN 25

static bool has_many(const struct command *command)
{
    int count = 0;
    for (int i = 0; i < OPTION_COUNT; i++)
        count += (option_table[i].commands & command->bit) != 0;
    return count > OPTIONS_SHOWN;
}

/* What an option is, which is how its help begins. */
static void print_brief(FILE *out, const struct option_row *row)
{
    fprintf(out, "%*s", TITLE_COLUMNS + 1 - print_title(out, row, TITLE_COLUMNS), "");
    for (const char *at = row->help;
         *at && !(strchr(".:;", *at) && (at[1] == ' ' || at[1] <= '\n')); at++)
        fputc(*at == '\n' ? ' ' : *at, out);
    fputc('\n', out);
}

static bool is_other(unsigned bits, const struct option_row *row)
{
    return row->commands & bits && !(row->flags & OPTION_USUAL);
}

/* The names of the other options of a group. */
static void print_other_group(FILE *out, const struct command *command, const char *group)
{
    int column = fprintf(out, "  %-20s", group);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        if (!is_other(command->bit, row) || strcmp(row->group, group) != 0)
            continue;
        if (column + 3 + (int)strlen(row->name) > SCREEN_COLUMNS)
            column = fprintf(out, "\n%22s", "") - 1;
        column += fprintf(out, " --%s", row->name);
    }
    fputc('\n', out);
}

static void print_others(FILE *out, const struct command *command)
{
    fputs("\nOthers\n", out);
    int at = 0;
    for (const char *group; (group = help_next_group(command->bit, is_other, &at)) != NULL;)
        print_other_group(out, command, group);
}

static void print_usual(FILE *out, const struct command *command, const char *page,
                        const char *examples)
{
    fputs("\nUsual options\n", out);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & command->bit && option_table[i].flags & OPTION_USUAL)
            print_brief(out, &option_table[i]);
    print_others(out, command);
    fputs("\nExamples\n", out);
    print_section(out, help_page_text(page), examples);
    int written = fprintf(out, "\nMore\n  mpsweep %s --help-all", command->name);
    fprintf(out, "%*s all of this in full, and the exit statuses\n", 36 - written, "");
    fputs("  mpsweep help rate            an option, or what a value means\n"
          "  mpsweep help axes            the options that take several values, and multiply into "
          "points\n",
          out);
}

void help_print_command(FILE *out, const struct command *command, bool all)
{
    bool axes = false;
    const char *examples;
    char page[16];
    help_page_of(command, page, &examples);
    fprintf(out, "%s\n\n%s\n", command->synopsis, command->summary);
    if (!all && has_many(command)) {
        print_usual(out, command, page, examples);
        return;
    }
    int at = 0;
    for (const char *group; (group = help_next_group(command->bit, help_is_any, &at)) != NULL;) {
        fprintf(out, "\n%s\n", group);
        for (int i = 0; i < OPTION_COUNT; i++) {
            const struct option_row *row = &option_table[i];
            if (!help_is_any(command->bit, row) || strcmp(row->group, group) != 0)
                continue;
            axes |= row->flags & OPTION_AXIS;
            print_option(out, row, (unsigned)command->bit);
        }
    }
    if (axes)
        fputs("\nOptions marked * take several values (a,b or 1-4), which multiply into points.\n"
              "Each option but those under Output is also a key of the job file.\n",
              out);
    fputs("\nExamples\n", out);
    print_section(out, help_page_text(page), examples);
    fputs("\nExit status\n", out);
    print_section(out, help_page_text(page), "EXIT STATUS");
}
