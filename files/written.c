#include "files/written.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

static char names[2048];
static struct text text = {.at = names, .size = sizeof names};
static unsigned noted;

void written_note(const char *path)
{
    char quoted[PATH_MAX + 2];
    snprintf(quoted, sizeof quoted, "'%s'", path);
    if (strstr(names, quoted))
        return;
    text_append(&text, "%s%s", noted > 0 ? ", " : "", quoted);
    noted++;
}

const char *written_names(unsigned *count)
{
    *count = noted;
    return names;
}
