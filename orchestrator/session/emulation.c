#include "orchestrator/session/emulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/paths.h"
#include "emul/model/effects.h"
#include "emul/model/machine.h"
#include "emul/model/state.h"

enum status emulation_find_control(char path[PATH_MAX])
{
    return path_find_helper("mpsweep-emulated-mps-control", path, PATH_MAX);
}

enum status emulation_make(char driver_path[PATH_MAX], char control_program[PATH_MAX], int *fd)
{
    enum status status = emulation_find_control(control_program);
    if (status == STATUS_OK)
        status = path_find_helper("mpsweep-emulated-cuda.so", driver_path, PATH_MAX);
    return status == STATUS_OK ? emul_state_create(fd) : status;
}

const char *emulation_variable(int fd, char text[EMULATION_TEXT])
{
    snprintf(text, EMULATION_TEXT, EMUL_STATE_VARIABLE "=%d", fd);
    return text;
}

const char *emulation_machine(void)
{
    return getenv(EMUL_MACHINE_VARIABLE);
}

const char *emulation_effects(void)
{
    return getenv(EMUL_EFFECTS_VARIABLE);
}

enum status emulation_check(const char *file, const char *machine)
{
    const char *now = emulation_machine();
    if (strcmp(machine ? machine : "", now ? now : "") == 0)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "'%s' was measured on another emulated machine: set " EMUL_MACHINE_VARIABLE
                      "='%s'",
                      file, machine ? machine : "");
}
