/* Makes the batch scripts of a run: short, so that a user can read there what the nodes do. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "files/template.h"
#include "orchestrator/slurm/internal.h"

static const struct template_quoting quotings[] = {{"shell", shell_word_quote}, {NULL, NULL}};

/* Whether a task needs the variable as it was where the run was submitted: a node may have another
 * value, or none (sbatch --export=NONE). */
static bool is_needed(const char *variable)
{
    static const char *const names[] = {"PATH=", "LD_LIBRARY_PATH=", "MPSWEEP_"};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    bool is_named = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_named |= strncmp(variable, names[i], strlen(names[i])) == 0;
    return is_named && variable[strspn(variable, letters)] == '=' && text_is_utf8(variable);
}

static json_t *make_environment(void)
{
    json_t *list = json_array();
    for (char **variable = environ; *variable; variable++) {
        size_t name = strcspn(*variable, "=");
        if (is_needed(*variable))
            json_array_append_new(list, json_pack("{s:s%,s:s}", "variable", *variable, name,
                                                  "value", *variable + name + 1));
    }
    return list;
}

enum status slurm_script_make(const struct slurm_run *run, const char *name, unsigned gpus,
                              char **out)
{
    char program[PATH_MAX], file[64];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return status_set(STATUS_SYSTEM, "cannot find the program mpsweep: %s", strerror(errno));
    program[length] = '\0';
    snprintf(file, sizeof file, "emit/%s", name);
    json_t *own =
        json_pack("{s:s,s:s,s:b,s:i,s:o}", "package", PACKAGE_STRING, "run", run->directory,
                  "fleet", run->fleet, "gpus", (int)gpus, "environment", make_environment());
    json_object_set_new(own, "executable", json_string_nocheck(program));
    const struct template_values manifest = {.value = run->manifest};
    const struct template_values values = {.value = own, .outer = &manifest};
    enum status status = template_file(file, &values, quotings, out);
    json_decref(own);
    return status;
}
