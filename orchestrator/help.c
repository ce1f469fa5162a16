#include "orchestrator/help.h"

#include <ctype.h>
#include <string.h>

#include "config.h"

#define FORM_BYTES 256

/*
 * The text of a page: sections, each with a heading in capitals in a line of its own, and before
 * the first one, for a page that is not a command's, a line with its title. In a section, a blank
 * line ends a paragraph, and lines that begin with a blank stand as they are. The assembler copies
 * the texts in, so that a program that is not installed has them.
 */
#define PAGES(PAGE)                                                                                \
    PAGE(mpsweep)                                                                                  \
    PAGE(sweep)                                                                                    \
    PAGE(tune)                                                                                     \
    PAGE(trace)                                                                                    \
    PAGE(record)                                                                                   \
    PAGE(plot)                                                                                     \
    PAGE(report)                                                                                   \
    PAGE(export)                                                                                   \
    PAGE(explain)                                                                                  \
    PAGE(compare) PAGE(merge) PAGE(emit) PAGE(probe) PAGE(doctor) PAGE(mps) PAGE(slurm)

#define EMBED(name)                                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global page_" #name "\n"                                                             \
            ".hidden page_" #name "\n"                                                             \
            "page_" #name ":\n"                                                                    \
            ".incbin \"" MPSWEEP_SOURCE_DIR "/docs/man/" #name ".txt\"\n"                          \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char page_##name[] __attribute__((visibility("hidden")));
PAGES(EMBED)

static const struct page {
    const char *name, *text;
} pages[] = {
#define ROW(name) {#name, page_##name},
    PAGES(ROW)
#undef ROW
};

static const char *page_text(const char *name)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(pages[i].name, name) == 0)
            return pages[i].text;
    return NULL;
}

/* Whether the line at text is the heading of a section; its length is in *length. */
static bool is_heading(const char *text, size_t *length)
{
    *length = strcspn(text, "\n");
    return *length > 2 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ") == *length && *text != ' ';
}

/* Finds a section of a page's text and its length, without the blank line at its end. "" without
 * one. Case does not matter: commands are in small letters. */
static const char *find_section(const char *text, const char *heading, size_t *length)
{
    const char *begin = NULL;
    size_t bytes;
    for (const char *line = text; *line && !begin; line += bytes + (line[bytes] == '\n'))
        if (is_heading(line, &bytes) && bytes == strlen(heading) &&
            strncasecmp(line, heading, bytes) == 0)
            begin = line + bytes + 1;
    if (!begin)
        begin = "";
    const char *end = begin;
    while (*end && !is_heading(end, &bytes))
        end += bytes + (end[bytes] == '\n');
    *length = (size_t)(end - begin);
    if (*end && *length > 0)
        --*length;
    return begin;
}

static void print_section(FILE *out, const char *text, const char *heading)
{
    size_t length;
    const char *section = find_section(text, heading, &length);
    fwrite(section, 1, length, out);
}

/* The page of a command, and the section with its examples: a family's page has one for each. */
static void page_of(const struct command *command, char page[16], const char **examples)
{
    const char *space = strchr(command->name, ' ');
    size_t length = strcspn(command->name, " ");
    snprintf(page, 16, "%.*s", (int)length, command->name);
    *examples = space ? space + 1 : "EXAMPLES";
}

static bool is_on_page(const struct command *command, const char *page)
{
    return strcmp(command->name, page) == 0 || command_is_of(command, page);
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
    const char *title = page_text(family);
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
    const char *text = page_text(page);
    bool main_page = strcmp(page, HELP_MAIN) == 0;
    int width = main_page ? 26 : 56;
    print_section(out, text, "INTRODUCTION");
    fputc('\n', out);
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &commands[i];
        char family[16];
        const char *examples;
        page_of(command, family, &examples);
        if (main_page && is_first_of_family(command, family))
            print_family(out, family, width);
        else if (main_page && !command_is_of(command, family))
            fprintf(out, "  mpsweep %-*s %s\n", width - 8, command->name, command->summary);
        else if (!main_page && command_is_of(command, page))
            fprintf(out, "  %-*s %s\n", width, command->synopsis, command->summary);
    }
    int written =
        fprintf(out, "\n  mpsweep %s%sCOMMAND --help", main_page ? "" : page, main_page ? "" : " ");
    fprintf(out, "%*s options and examples of a command\n", width + 3 - written, "");
    print_section(out, text, "OTHER COMMANDS");
    fputs("\nExit status\n", out);
    print_section(out, text, "EXIT STATUS");
}

/* What an option's value looks like; NULL: it takes none. form has room for it. */
static const char *value_of(const struct option_row *row, char form[FORM_BYTES])
{
    return row->kind == OPTION_KIND_SWITCH ? NULL : option_value_form(row, form, FORM_BYTES);
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

/* The first choice that has a help of its own, or the next one; NULL: none. */
static const struct option_choice *next_explained(const struct option_row *row,
                                                  const struct option_choice *choice)
{
    choice = choice ? choice + 1 : row->choices;
    while (choice && choice->word && !choice->help)
        choice++;
    return choice && choice->word ? choice : NULL;
}

/* "pinned:   ", as wide as the longest word of the row's. */
static const char *choice_title(const struct option_row *row, const struct option_choice *choice,
                                char out[FORM_BYTES])
{
    int width = 0;
    for (const struct option_choice *other = row->choices; other->word; other++)
        if ((int)strlen(other->word) > width)
            width = (int)strlen(other->word);
    snprintf(out, FORM_BYTES, "  %s:%*s", choice->word, width + 1 - (int)strlen(choice->word), "");
    return out;
}

static void print_option(FILE *out, const struct option_row *row, unsigned bits)
{
    char form[FORM_BYTES], help[COMMAND_HELP_BYTES];
    if (row->letter)
        fprintf(out, "  -%c, --%s", row->letter, row->name);
    else
        fprintf(out, "      --%s", row->name);
    if (value_of(row, form))
        fprintf(out, " %s", value_of(row, form));
    if (row->initial && value_of(row, form))
        fprintf(out, "   [%s]", row->initial);
    fputs(row->flags & OPTION_AXIS ? "   *\n" : "\n", out);
    print_indented(out, "", command_option_help(row, bits, help));
    for (const struct option_choice *choice = NULL; (choice = next_explained(row, choice));)
        print_indented(out, choice_title(row, choice, form), choice->help);
}

static bool has_choice(const struct option_row *row, const char *word)
{
    for (const struct option_choice *choice = row->choices; choice && choice->word; choice++)
        if (strcmp(choice->word, word) == 0)
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

/* Prints the lines of a section of the manual that explain a word. */
static bool print_explained(FILE *out, const char *section, const char *separators,
                            const char *word)
{
    size_t length, bytes;
    bool any = false;
    const char *line = find_section(page_text(HELP_MAIN), section, &length);
    for (const char *end = line + length; line < end; line += bytes + 1) {
        bytes = strcspn(line, "\n");
        const char *gap = *line == ' ' ? strstr(line + 2, "  ") : NULL;
        size_t title = gap && gap < line + bytes ? (size_t)(gap - line) : bytes;
        if (*line != ' ' || !is_in_list(line + 2, title - 2, separators, word))
            continue;
        fprintf(out, "%.*s\n", (int)bytes, line);
        any = true;
    }
    return any;
}

bool help_print_word(FILE *out, const char *word)
{
    const char *name = word + (strncmp(word, "--", 2) == 0 ? 2 : 0);
    char letter = word[0] == '-' && word[1] != '-' && strlen(word) == 2 ? word[1] : '\0';
    bool named = false, any = print_explained(out, "WORDS", ",", name);
    any |= print_explained(out, "OTHER COMMANDS", ", ", name);
    for (int i = 0; i < OPTION_COUNT; i++)
        named |= strcmp(option_table[i].name, name) == 0;
    bool axes = strcmp(word, "axes") == 0 || strcmp(word, "axis") == 0;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        bool wanted = letter  ? row->letter == letter
                      : named ? strcmp(row->name, name) == 0
                      : axes  ? (row->flags & OPTION_AXIS) != 0
                              : has_choice(row, name);
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

/* -- the usual options of a command that has many ----------------------------------------------
 */

/* A command with more options than that shows some. */
#define OPTIONS_SHOWN 25
#define SCREEN_COLUMNS 100
#define TITLE_COLUMNS 34

static bool has_many(const struct command *command)
{
    int count = 0;
    for (int i = 0; i < OPTION_COUNT; i++)
        count += (option_table[i].commands & command->bit) != 0;
    return count > OPTIONS_SHOWN;
}

/* "-l, --layout NAME:COUNTS"; of a long list of values those for which there is room. */
static void print_title(FILE *out, const struct option_row *row)
{
    char form[FORM_BYTES], letter[8] = "   ";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c,", row->letter);
    const char *value = value_of(row, form);
    int written = fprintf(out, "  %s --%s", letter, row->name);
    int room = TITLE_COLUMNS - written - 1, length = value ? (int)strlen(value) : 0;
    if (value && length > room) {
        int last = room - 3;
        while (last > 0 && value[last - 1] != '|')
            last--;
        written += fprintf(out, " %.*s...", last, value);
    } else if (value) {
        written += fprintf(out, " %s", value);
    }
    fprintf(out, "%*s", TITLE_COLUMNS + 1 - written, "");
}

/* What an option is, which is how its help begins. */
static void print_brief(FILE *out, const struct option_row *row)
{
    print_title(out, row);
    for (const char *at = row->help;
         *at && !(strchr(".:;", *at) && (at[1] == ' ' || at[1] <= '\n')); at++)
        fputc(*at == '\n' ? ' ' : *at, out);
    fputc('\n', out);
}

/* Options of a group may stand apart in the table: here they stand together. */
typedef bool chosen(unsigned bits, const struct option_row *row);

static bool is_any(unsigned bits, const struct option_row *row)
{
    return row->commands & bits;
}

static bool is_other(unsigned bits, const struct option_row *row)
{
    return row->commands & bits && !(row->flags & OPTION_USUAL);
}

/* The next group that has an option that is chosen; *at is where to look on. NULL: no further. */
static const char *next_group(unsigned bits, chosen *is_chosen, int *at)
{
    for (int i = (*at)++; i < OPTION_COUNT; i = (*at)++) {
        bool is_first = is_chosen(bits, &option_table[i]);
        for (int j = 0; j < i && is_first; j++)
            is_first = !is_chosen(bits, &option_table[j]) ||
                       strcmp(option_table[j].group, option_table[i].group) != 0;
        if (is_first)
            return option_table[i].group;
    }
    return NULL;
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
    for (const char *group; (group = next_group(command->bit, is_other, &at)) != NULL;)
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
    print_section(out, page_text(page), examples);
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
    page_of(command, page, &examples);
    fprintf(out, "%s\n\n%s\n", command->synopsis, command->summary);
    if (!all && has_many(command)) {
        print_usual(out, command, page, examples);
        return;
    }
    int at = 0;
    for (const char *group; (group = next_group(command->bit, is_any, &at)) != NULL;) {
        fprintf(out, "\n%s\n", group);
        for (int i = 0; i < OPTION_COUNT; i++) {
            const struct option_row *row = &option_table[i];
            if (!is_any(command->bit, row) || strcmp(row->group, group) != 0)
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
    print_section(out, page_text(page), examples);
    fputs("\nExit status\n", out);
    print_section(out, page_text(page), "EXIT STATUS");
}

/* -- manual pages --------------------------------------------------------------------------------
 */

/* Prints text as roff, which takes a leading dot or quote for a request, and a dash for a hyphen.
 */
static void print_roff(FILE *out, const char *text, size_t length)
{
    bool line_start = true;
    for (size_t i = 0; i < length; i++) {
        if (line_start && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == ',' || text[i] == '|')
            fprintf(out, "%c\\:", text[i]); /* a list without blanks may break after it */
        else
            fputc(text[i], out);
        line_start = text[i] == '\n';
    }
}

static void print_roff_text(FILE *out, const char *text)
{
    print_roff(out, text, strlen(text));
}

/* Prints a section of a page's text: paragraphs, and indented lines as they are. */
static void print_roff_section(FILE *out, const char *text, const char *heading)
{
    size_t length, bytes;
    const char *line = find_section(text, heading, &length), *end = line + length;
    bool verbatim = false;
    for (; line < end; line += bytes) {
        bytes = strcspn(line, "\n") + 1;
        if (*line != '\n' && (*line == ' ') != verbatim) {
            verbatim = *line == ' ';
            fputs(verbatim ? ".PP\n.nf\n" : ".fi\n.PP\n", out);
        }
        if (*line == '\n')
            fputs(verbatim ? "\n" : ".PP\n", out);
        else
            print_roff(out, line, bytes);
    }
    if (verbatim)
        fputs(".fi\n", out);
}

static void print_manual_option(FILE *out, const struct option_row *row, const char *page,
                                unsigned bits)
{
    char form[FORM_BYTES], help[COMMAND_HELP_BYTES];
    fputs(".TP\n.B ", out);
    if (row->letter)
        fprintf(out, "\\-%c, ", row->letter);
    fputs("\\-\\-", out);
    print_roff_text(out, row->name);
    if (value_of(row, form)) {
        fputs(" \\fI", out);
        print_roff_text(out, value_of(row, form));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    print_roff_text(out, command_option_help(row, bits, help));
    for (const struct option_choice *choice = NULL; (choice = next_explained(row, choice));) {
        fputs("\n.br\n", out);
        print_roff_text(out, choice->word);
        fputs(": ", out);
        print_roff_text(out, choice->help);
    }
    if (row->initial && value_of(row, form)) {
        fputs(next_explained(row, NULL) ? "\n.br\nDefault: " : "\nDefault: ", out);
        print_roff_text(out, row->initial);
        fputc('.', out);
    }
    fputs(row->flags & OPTION_AXIS ? "\nTakes several values.\n" : "\n", out);
    const char *separator = "(";
    for (size_t c = 0; c < command_count; c++)
        if (command_is_of(&commands[c], page) && row->commands & (unsigned)commands[c].bit) {
            fprintf(out, "%s%s", separator, commands[c].name);
            separator = ", ";
        }
    fputs(*separator == ',' ? ")\n" : "", out);
}

static void print_manual_options(FILE *out, const char *page)
{
    const char *text = page_text(page);
    unsigned bits = 0;
    for (size_t i = 0; i < command_count; i++)
        bits |= is_on_page(&commands[i], page) ? (unsigned)commands[i].bit : 0;
    if (!bits)
        return;
    fputs(".SH OPTIONS\n", out);
    print_roff_section(out, text, "OPTIONS");
    if (command_is_family(page))
        fputs("The commands that take an option stand behind it.\n", out);
    int at = 0;
    for (const char *group; (group = next_group(bits, is_any, &at)) != NULL;)
        for (int i = 0; i < OPTION_COUNT; i++)
            if (is_any(bits, &option_table[i]) && strcmp(option_table[i].group, group) == 0)
                print_manual_option(out, &option_table[i], page, bits);
}

/* Prints the commands of a page: synopses, what each does with its examples, or for the page of the
 * program the list of all. */
static void print_manual_commands(FILE *out, const char *page)
{
    bool main_page = strcmp(page, HELP_MAIN) == 0;
    fputs(main_page ? ".SH COMMANDS\n" : "", out);
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &commands[i];
        char own[16];
        const char *examples;
        page_of(command, own, &examples);
        if (!main_page && strcmp(own, page) != 0)
            continue;
        fputs(main_page ? ".TP\n.B " : ".SH ", out);
        print_roff_text(out, main_page ? command->synopsis : command->name);
        fputc('\n', out);
        print_roff_text(out, command->summary);
        fputc('\n', out);
        if (!main_page)
            print_roff_section(out, page_text(page), examples);
    }
}

static void print_synopses(FILE *out, const char *page)
{
    const char *separator = "";
    if (strcmp(page, HELP_MAIN) == 0)
        fputs("mpsweep COMMAND [options]\n", out);
    for (size_t i = 0; i < command_count; i++)
        if (is_on_page(&commands[i], page)) {
            fputs(separator, out);
            print_roff_text(out, commands[i].synopsis);
            fputc('\n', out);
            separator = ".br\n";
        }
}

bool help_print_manual(FILE *out, const char *page)
{
    const char *text = page_text(page);
    const struct command *command = command_find(page);
    bool main_page = strcmp(page, HELP_MAIN) == 0;
    size_t length;
    if (!text)
        return false;
    const char *title = command ? command->summary : text;
    fputs(main_page ? ".TH " : ".TH MPSWEEP\\-", out);
    for (const char *letter = page; *letter; letter++)
        fputc(toupper((unsigned char)*letter), out);
    fprintf(out, " 1 \"\" \"mpsweep %s\" \"User Commands\"\n.ad l\n.nh\n", PACKAGE_VERSION);
    fprintf(out, ".SH NAME\nmpsweep%s%s \\- ", main_page ? "" : "\\-", main_page ? "" : page);
    print_roff(out, title, strcspn(title, "\n"));
    fputs("\n.SH SYNOPSIS\n", out);
    print_synopses(out, page);
    fputs(".SH DESCRIPTION\n", out);
    print_roff_section(out, text, "DESCRIPTION");
    print_manual_commands(out, page);
    print_manual_options(out, page);
    static const char *const last[] = {"OTHER COMMANDS", "WORDS",       "COMPLETION",
                                       "EXIT STATUS",    "ENVIRONMENT", "FILES"};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        find_section(text, last[i], &length);
        if (length == 0)
            continue;
        fprintf(out, ".SH %s\n", last[i]);
        print_roff_section(out, text, last[i]);
    }
    fputs(".SH SEE ALSO\n", out);
    fputs(main_page ? "" : "mpsweep(1)", out);
    find_section(text, "SEE ALSO", &length);
    fputs(length > 0 && !main_page ? ",\n" : "", out);
    print_roff_section(out, text, "SEE ALSO");
    fputs(length > 0 || main_page ? "" : "\n", out);
    return true;
}
