#include "orchestrator/console/metrics.h"

#include <ctype.h>
#include <math.h>

void metrics_family(FILE *out, const char *name, const char *help)
{
    fprintf(out, "# TYPE %s gauge\n# HELP %s %s\n", name, name, help);
}

static void write_label(FILE *out, const struct metrics_label *label)
{
    for (const char *at = label->name; *at; at++)
        putc(isalnum((unsigned char)*at) ? *at : '_', out);
    fputs("=\"", out);
    for (const char *at = label->value; *at; at++) {
        if (*at == '\n')
            fputs("\\n", out);
        else {
            if (*at == '"' || *at == '\\')
                putc('\\', out);
            putc(*at, out);
        }
    }
    putc('"', out);
}

void metrics_value(FILE *out, const char *name, const struct metrics_label *labels, size_t count,
                   double value)
{
    if (isnan(value))
        return;
    fputs(name, out);
    for (size_t i = 0; i < count; i++) {
        putc(i ? ',' : '{', out);
        write_label(out, &labels[i]);
    }
    fprintf(out, "%s %.10g\n", count ? "}" : "", value);
}

void metrics_end(FILE *out)
{
    fputs("# EOF\n", out);
}
