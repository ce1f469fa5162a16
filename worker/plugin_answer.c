#include "worker/internal.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "wire/plugin_answer.h"
#include "worker/engines/plugin_load.h"

/* Standard output as it was, for the answer alone. */
static int take_output(void)
{
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (out < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        return -1;
    close(nowhere);
    return out;
}

int plugin_answer_run(const char *path, const char *options)
{
    struct plugin_answer answer;
    struct plugin plugin;
    const struct rlimit no_core = {0};
    memset(&answer, 0, sizeof answer);
    setrlimit(RLIMIT_CORE, &no_core);
    /* The plug-in may ignore anything milder. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int out = take_output();
    if (out < 0) {
        fprintf(stderr, "cannot set standard output aside: %s\n", strerror(errno));
        return STATUS_SYSTEM;
    }
    answer.magic = PLUGIN_ANSWER_MAGIC;
    answer.version = PLUGIN_ANSWER_VERSION;
    enum status status = plugin_load(path, options, &plugin);
    answer.status = (int32_t)status;
    if (status == STATUS_OK) {
        answer.abi = plugin.calls->abi;
        answer.capabilities = plugin.capabilities;
        memcpy(answer.name, plugin.name, sizeof plugin.name);
        memcpy(answer.plugin_version, plugin.version, sizeof plugin.version);
    } else {
        snprintf(answer.error, sizeof answer.error, "%s", status_text());
    }
    if (descriptor_write(out, &answer, sizeof answer) != 0) {
        fprintf(stderr, "cannot write what was found out: %s\n", strerror(errno));
        return STATUS_SYSTEM;
    }
    /* Without the plug-in's own exit handlers, which may do anything. */
    _exit(EXIT_SUCCESS);
}
