#include "orchestrator/doctor/internal.h"

#include <stdarg.h>

void doctor_say(struct doctor *doctor, enum verdict verdict, const char *advice, const char *format,
                ...)
{
    static const char *const words[] = {"ok", "warning", "problem"};
    va_list args;
    fprintf(doctor->out, "%-8s ", words[verdict]);
    va_start(args, format);
    vfprintf(doctor->out, format, args);
    va_end(args);
    fputc('\n', doctor->out);
    if (advice && verdict != VERDICT_OK)
        fprintf(doctor->out, "         -> %s\n", advice);
    doctor->warnings += verdict == VERDICT_WARNING;
    doctor->problems += verdict == VERDICT_PROBLEM;
}

void doctor_end_group(struct doctor *doctor)
{
    fputc('\n', doctor->out);
}

void doctor_sum_up(const struct doctor *doctor)
{
    fprintf(doctor->out, "%s: %u problem%s, %u warning%s\n",
            doctor->problems ? "not ready" : "ready", doctor->problems,
            doctor->problems == 1 ? "" : "s", doctor->warnings, doctor->warnings == 1 ? "" : "s");
}
