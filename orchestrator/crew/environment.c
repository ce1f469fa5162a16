#include "orchestrator/crew/environment.h"

#include <stdarg.h>
#include <stdio.h>

#include "orchestrator/plan/settings.h"
#include "orchestrator/session/emulation.h"

__attribute__((format(printf, 2, 3))) static void add(struct gpu_environment *environment,
                                                      const char *format, ...)
{
    if (environment->count == GPU_ENVIRONMENT_SET) {
        environment->overflow = true;
        return;
    }
    char *text = environment->texts[environment->count];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, MPS_ENVIRONMENT_TEXT, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= MPS_ENVIRONMENT_TEXT)
        environment->overflow = true;
    environment->set[environment->count++] = text;
}

enum status gpu_environment_make(const struct session *session, const struct point *point,
                                 unsigned gpu, unsigned process, struct gpu_environment *out)
{
    char value[MPS_ENVIRONMENT_TEXT];
    *out = (struct gpu_environment){0};
    mps_environment_inherited(out->unset);
    char emulation[EMULATION_TEXT];
    size_t unset = 0;
    while (out->unset[unset])
        unset++;
    out->unset[unset++] = "CUDA_LAUNCH_BLOCKING";
    out->unset[unset++] = "CUDA_VISIBLE_DEVICES";
    add(out, "CUDA_MPS_PIPE_DIRECTORY=%s",
        point_over_mps(point) ? daemons_at(session->daemons, gpu)->control.pipe_directory
                              : daemons_at(session->daemons, 0)->off_directory);
    add(out, "CUDA_MODULE_LOADING=EAGER");
    add(out, "MPSWEEP_PROCESS=%u", process);
    if (session->emulated)
        add(out, "%s", emulation_variable(session->machine_fd, emulation));
    add(out, "CUDA_VISIBLE_DEVICES=%s", gpu_at(session->gpus, gpu)->uuid);
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        if (row->setting.variable && unset < GPU_ENVIRONMENT_UNSET)
            out->unset[unset++] = row->setting.variable;
        if (setting_variable(row, point, point_number_on_gpu(point, process), value, sizeof value))
            add(out, "%s=%s", row->setting.variable, value);
    }
    return out->overflow
               ? status_set(STATUS_SYSTEM, "process %u has too large an environment", process)
               : STATUS_OK;
}
