#include "orchestrator/console/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GREEN "32"
#define YELLOW "33"
#define RED "31"

static const struct {
    const char *word, *color;
} words[] = {
    {"ok", GREEN},      {"better", GREEN},   {"finished", GREEN},    {"unconverged", YELLOW},
    {"unsure", YELLOW}, {"warning", YELLOW}, {"overloaded", YELLOW}, {"infeasible", YELLOW},
    {"failed", RED},    {"worse", RED},      {"broken", RED},        {"problem", RED},
};

static enum { AUTO, ALWAYS, NEVER } choice;

void color_choose(const char *word)
{
    choice = strcmp(word, "always") == 0 ? ALWAYS : strcmp(word, "never") == 0 ? NEVER : AUTO;
}

bool color_takes_sequences(FILE *out)
{
    const char *terminal = getenv("TERM");
    return terminal && strcmp(terminal, "dumb") != 0 && isatty(fileno(out));
}

bool color_is_on(FILE *out)
{
    const char *refused = getenv("NO_COLOR");
    if (choice != AUTO)
        return choice == ALWAYS;
    return !(refused && *refused) && color_takes_sequences(out);
}

static void print_colored(FILE *out, const char *text, size_t length, const char *color)
{
    if (color && length > 0)
        fprintf(out, "\033[%sm%.*s\033[0m", color, (int)length, text);
    else
        fwrite(text, 1, length, out);
}

static const char *color_of(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && strncmp(words[i].word, word, length) == 0)
            return words[i].color;
    return NULL;
}

void color_print(FILE *out, const char *text)
{
    const char *word = text, *comma = strrchr(text, ',');
    size_t length = strcspn(word, ": ,");
    if (!color_is_on(out)) {
        fputs(text, out);
        return;
    }
    if (!color_of(word, length) && comma && comma[1] == ' ') {
        word = comma + 2;
        length = strcspn(word, ": ");
    }
    fwrite(text, 1, (size_t)(word - text), out);
    print_colored(out, word, length, color_of(word, length));
    fputs(word + length, out);
}

void color_print_error(FILE *out, const char *text)
{
    print_colored(out, text, strlen(text), color_is_on(out) ? RED : NULL);
}
