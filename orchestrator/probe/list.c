#include <string.h>

#include "orchestrator/console/columns.h"
#include "orchestrator/probe/internal.h"

void probe_print_list(FILE *out, const struct probe_outcome *outcomes, size_t count)
{
    for (size_t p = 0; p < count; p++) {
        const struct probe *probe = outcomes[p].probe;
        char label[64];
        size_t width = 0;
        snprintf(label, sizeof label, "%s: ", probe->name);
        if (p)
            fputc('\n', out);
        print_wrapped(out, label, strlen(label), probe->question);
        print_wrapped(out, "    ", 4, probe->method);
        for (size_t a = 0; a < probe->arm_count; a++)
            width = strlen(probe->arms[a].name) > width ? strlen(probe->arms[a].name) : width;
        for (size_t a = 0; a < probe->arm_count; a++) {
            const struct probe_arm *arm = &probe->arms[a];
            fprintf(out, "    %-*s  %s", (int)width, arm->name, arm->what);
            if (arm->series)
                fprintf(out, ", %s %.0f", probe->xlabel, arm->x);
            fprintf(out, "%s%s%s\n", arm->control ? "" : " (control)",
                    arm->flags & PROBE_ARM_OVER_MPS ? " (over MPS)" : "",
                    arm->flags & PROBE_ARM_EXTRA ? " (only with --arms)" : "");
        }
    }
}
