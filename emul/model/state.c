#include "emul/model/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emul/model/machine.h"

static enum status map(int fd, struct emul_state **state)
{
    void *memory = mmap(NULL, sizeof(struct emul_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return status_set(STATUS_SYSTEM, "cannot map the emulated machine's state: %s",
                          strerror(errno));
    *state = memory;
    return STATUS_OK;
}

static int init_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error != 0)
        return error;
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    error = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static enum status parse_devices(const char *text, uint32_t *devices)
{
    if (text == NULL || *text == '\0') {
        *devices = 1;
        return STATUS_OK;
    }
    if (text[0] < '1' || text[0] > '0' + EMUL_DEVICES_MAX || text[1] != '\0')
        return status_set(STATUS_USAGE,
                          EMUL_DEVICES_VARIABLE ": '%s' is not a whole number from 1 to %d", text,
                          EMUL_DEVICES_MAX);
    *devices = (uint32_t)(text[0] - '0');
    return STATUS_OK;
}

enum status emul_state_create(int *fd)
{
    struct model_machine machine;
    effects_off off = 0;
    uint32_t devices = 1;
    struct emul_state *state;
    int error;
    enum status status = machine_parse(getenv(EMUL_MACHINE_VARIABLE), &machine);
    if (status == STATUS_OK)
        status = parse_devices(getenv(EMUL_DEVICES_VARIABLE), &devices);
    if (status == STATUS_OK)
        status = effects_parse(getenv(EMUL_EFFECTS_VARIABLE), &off);
    if (status != STATUS_OK)
        return status;
    int memory = memfd_create(EMUL_STATE_NAME, MFD_CLOEXEC);
    if (memory < 0)
        return status_set(STATUS_SYSTEM, "cannot create the emulated machine's state: %s",
                          strerror(errno));
    if (ftruncate(memory, sizeof *state) != 0) {
        status = status_set(STATUS_SYSTEM, "cannot size the emulated machine's state: %s",
                            strerror(errno));
        goto out_close;
    }
    status = map(memory, &state);
    if (status != STATUS_OK)
        goto out_close;
    error = init_mutex(&state->mutex);
    if (error != 0) {
        status = status_set(STATUS_SYSTEM, "cannot make a shared mutex: %s", strerror(error));
        goto out_unmap;
    }
    for (uint32_t i = 0; i < devices; i++) {
        state->models[i].machine = machine;
        state->models[i].effects_off = off;
    }
    state->devices = devices;
    state->effects_off = off;
    state->version = EMUL_STATE_VERSION;
    state->length = sizeof *state;
    state->magic = EMUL_STATE_MAGIC;
    munmap(state, sizeof *state);
    *fd = memory;
    return STATUS_OK;

out_unmap:
    munmap(state, sizeof *state);
out_close:
    close(memory);
    return status;
}

enum status emul_state_attach(int fd, struct emul_state **out)
{
    struct stat file;
    struct emul_state *state;
    if (fstat(fd, &file) != 0)
        return status_set(STATUS_SYSTEM, "cannot use descriptor %d as the emulated machine: %s", fd,
                          strerror(errno));
    if (file.st_size != (off_t)sizeof *state)
        return status_set(STATUS_PROTOCOL,
                          "the emulated machine's state has %lld bytes, not %zu: another version?",
                          (long long)file.st_size, sizeof *state);
    enum status status = map(fd, &state);
    if (status != STATUS_OK)
        return status;
    if (state->magic != EMUL_STATE_MAGIC)
        status =
            status_set(STATUS_PROTOCOL, "descriptor %d is not an emulated machine's state", fd);
    else if (state->version != EMUL_STATE_VERSION)
        status = status_set(STATUS_PROTOCOL, "the emulated machine's state has version %u, not %u",
                            state->version, EMUL_STATE_VERSION);
    else if (state->length != sizeof *state)
        status = status_set(STATUS_PROTOCOL, "the emulated machine's state claims %llu bytes",
                            (unsigned long long)state->length);
    if (status != STATUS_OK) {
        munmap(state, sizeof *state);
        return status;
    }
    *out = state;
    return STATUS_OK;
}

struct model *emul_state_lock(struct emul_state *state)
{
    if (pthread_mutex_lock(&state->mutex) == EOWNERDEAD) {
        for (uint32_t i = 0; i < state->devices; i++)
            model_repair(&state->models[i]);
        pthread_mutex_consistent(&state->mutex);
    }
    return state->models;
}

void emul_state_unlock(struct emul_state *state)
{
    pthread_mutex_unlock(&state->mutex);
}
