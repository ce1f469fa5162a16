#include "orchestrator/session/emulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/paths.h"
#include "emul/model/device_names.h"
#include "emul/model/effects.h"
#include "emul/model/machine.h"
#include "emul/model/state.h"

#define CONTROL_PROGRAM "mpsweep-emulated-mps-control"

enum status emulation_find_control(char path[PATH_MAX])
{
    return path_find(PATH_HELPER, CONTROL_PROGRAM, path, PATH_MAX);
}

const char *emulation_gpu_of(const char *control_program)
{
    return strcmp(path_file_name(control_program), CONTROL_PROGRAM) == 0 ? DEVICE_NAME : NULL;
}

enum status emulation_make(char driver_path[PATH_MAX], char control_program[PATH_MAX], int *fd)
{
    enum status status = emulation_find_control(control_program);
    if (status == STATUS_OK)
        status = path_find(PATH_HELPER, "mpsweep-emulated-cuda.so", driver_path, PATH_MAX);
    return status == STATUS_OK ? emul_state_create(fd) : status;
}

const char *emulation_variable(int fd, char text[EMULATION_TEXT])
{
    snprintf(text, EMULATION_TEXT, EMUL_STATE_VARIABLE "=%d %d", fd, (int)getpid());
    return text;
}

void emulation_each_setting(void (*take)(void *data, const char *field, const char *value),
                            void *data)
{
    static const struct {
        const char *field, *variable;
    } settings[] = {
        {"emulated_machine", EMUL_MACHINE_VARIABLE},
        {"emulated_effects", EMUL_EFFECTS_VARIABLE},
        {"emulated_devices", EMUL_DEVICES_VARIABLE},
        {"emulated_faults", FAULT_VARIABLE},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = getenv(settings[i].variable);
        if (value && *value)
            take(data, settings[i].field, value);
    }
}
