/* Manual pages: the same texts and tables as help, in roff (man 7 groff_man). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "orchestrator/help/help.h"
#include "orchestrator/help/parts.h"

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
    const char *line = help_section(text, heading, &length), *end = line + length;
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
    char form[HELP_FORM_BYTES], help[COMMAND_HELP_BYTES];
    fputs(".TP\n.B ", out);
    if (row->letter)
        fprintf(out, "\\-%c, ", row->letter);
    fputs("\\-\\-", out);
    print_roff_text(out, row->name);
    if (help_value_of(row, form)) {
        fputs(" \\fI", out);
        print_roff_text(out, help_value_of(row, form));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    print_roff_text(out, command_option_help(row, bits, help));
    for (const struct option_choice *choice = NULL; (choice = help_next_choice(row, choice));) {
        fputs("\n.br\n", out);
        print_roff_text(out, choice->word);
        fputs(": ", out);
        print_roff_text(out, choice->help);
    }
    if (row->initial && help_value_of(row, form)) {
        fputs(help_next_choice(row, NULL) ? "\n.br\nDefault: " : "\nDefault: ", out);
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
    const char *text = help_page_text(page);
    unsigned bits = 0;
    for (size_t i = 0; i < command_count; i++)
        bits |= help_is_on_page(&commands[i], page) ? (unsigned)commands[i].bit : 0;
    if (!bits)
        return;
    fputs(".SH OPTIONS\n", out);
    print_roff_section(out, text, "OPTIONS");
    if (command_is_family(page))
        fputs("The commands that take an option follow it.\n", out);
    int at = 0;
    for (const char *group; (group = help_next_group(bits, help_is_any, &at)) != NULL;)
        for (int i = 0; i < OPTION_COUNT; i++)
            if (help_is_any(bits, &option_table[i]) && strcmp(option_table[i].group, group) == 0)
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
        help_page_of(command, own, &examples);
        if (!main_page && strcmp(own, page) != 0)
            continue;
        fputs(main_page ? ".TP\n.B " : ".SH ", out);
        print_roff_text(out, main_page ? command->synopsis : command->name);
        fputc('\n', out);
        print_roff_text(out, command->summary);
        fputc('\n', out);
        if (!main_page)
            print_roff_section(out, help_page_text(page), examples);
    }
}

static void print_synopses(FILE *out, const char *page)
{
    const char *separator = "";
    if (strcmp(page, HELP_MAIN) == 0)
        fputs("mpsweep COMMAND [options]\n", out);
    for (size_t i = 0; i < command_count; i++)
        if (help_is_on_page(&commands[i], page)) {
            fputs(separator, out);
            print_roff_text(out, commands[i].synopsis);
            fputc('\n', out);
            separator = ".br\n";
        }
}

bool help_print_manual(FILE *out, const char *page)
{
    const char *text = help_page_text(page);
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
    static const char *const last[] = {"OTHER COMMANDS", "WORDS",       "CEILINGS", "COMPLETION",
                                       "EXIT STATUS",    "ENVIRONMENT", "FILES"};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        help_section(text, last[i], &length);
        if (length == 0)
            continue;
        fprintf(out, ".SH %s\n", last[i]);
        print_roff_section(out, text, last[i]);
    }
    fputs(".SH SEE ALSO\n", out);
    fputs(main_page ? "" : "mpsweep(1)", out);
    help_section(text, "SEE ALSO", &length);
    fputs(length > 0 && !main_page ? ",\n" : "", out);
    print_roff_section(out, text, "SEE ALSO");
    fputs(length > 0 || main_page ? "" : "\n", out);
    return true;
}
