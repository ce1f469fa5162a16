#include "orchestrator/help/parts.h"

#include <stdio.h>
#include <string.h>

/* The assembler copies the texts in, so that a program that is not installed has them. */
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

const char *help_page_text(const char *name)
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

const char *help_section(const char *text, const char *heading, size_t *length)
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

void help_page_of(const struct command *command, char page[16], const char **examples)
{
    const char *space = strchr(command->name, ' ');
    size_t length = strcspn(command->name, " ");
    snprintf(page, 16, "%.*s", (int)length, command->name);
    *examples = space ? space + 1 : "EXAMPLES";
}

bool help_is_on_page(const struct command *command, const char *page)
{
    return strcmp(command->name, page) == 0 || command_is_of(command, page);
}

const char *help_value_of(const struct option_row *row, char form[HELP_FORM_BYTES])
{
    return row->kind == OPTION_KIND_SWITCH ? NULL : option_value_form(row, form, HELP_FORM_BYTES);
}

const struct option_choice *help_next_choice(const struct option_row *row,
                                             const struct option_choice *choice)
{
    choice = choice ? choice + 1 : row->choices;
    while (choice && choice->word && !choice->help)
        choice++;
    return choice && choice->word ? choice : NULL;
}

bool help_is_any(unsigned bits, const struct option_row *row)
{
    return row->commands & bits;
}

const char *help_next_group(unsigned bits, help_chosen *is_chosen, int *at)
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
