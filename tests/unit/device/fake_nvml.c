/*
 * An NVML with one GPU, for tests/unit/device/test_device. It lacks the newer name of the clock
 * reasons and the persistence mode, and keeps the power to itself. FAKE_NVML, some of these words:
 * "no-driver" fails to start, "crowded" has more processes than anybody asks for.
 *
 * Built with FAKE_NVML_WHOLE it knows every GPU (GPU-slow has a lower clock), has the persistence
 * mode, which is on, and draws 300 W all the time; the words are then also "alone" (no process),
 * "calm" (nothing holds the clocks down), "mig", "no-persistence", "ours" (its processes are the
 * children of the one that asks), "far" (as many, by numbers that no process has here), "stranger"
 * (one more, process 1), "slow" (a lower clock), "busy" and "full" (utilisation and memory),
 * "no-energy", "no-power", "hang" and "hang-start" (calls that end when the word is gone). A
 * program that has loaded it changes the words with fake_nvml_say().
 */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/nvml.h"

#define nvmlDeviceGetCurrentClocksEventReasons fake_withheld_reasons
#ifndef FAKE_NVML_WHOLE
#define nvmlDeviceGetPersistenceMode fake_withheld_persistence
#endif
#ifndef FAKE_NVML_WHOLE
#define nvmlDeviceGetTotalEnergyConsumption fake_withheld_energy
#define nvmlDeviceGetMemoryInfo_v2 fake_withheld_memory
#endif
#define DECLARE(field, symbol, version, need, result, parameters) result symbol parameters;
NVML_SYMBOLS(DECLARE)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char said[256];

void fake_nvml_say(const char *words);
void fake_nvml_say(const char *words)
{
    pthread_mutex_lock(&lock);
    snprintf(said, sizeof said, "%s", words);
    pthread_mutex_unlock(&lock);
}

/* Whole words: "hang" is not "hang-start". */
static int has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; at && (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    return 0;
}

static int mode_is(const char *mode)
{
    pthread_mutex_lock(&lock);
    int found = has_word(*said ? said : getenv("FAKE_NVML"), mode);
    pthread_mutex_unlock(&lock);
    return found;
}

static atomic_int hanging, samples, ends;

int fake_nvml_hanging(void);
int fake_nvml_hanging(void)
{
    return hanging;
}

int fake_nvml_samples(void);
int fake_nvml_samples(void)
{
    return samples;
}

int fake_nvml_ends(void);
int fake_nvml_ends(void)
{
    return ends;
}

static void hang_while(const char *word)
{
    while (mode_is(word)) {
        hanging = 1;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    hanging = 0;
}

nvml_return nvmlInit_v2(void)
{
    hang_while("hang-start");
    return mode_is("no-driver") ? 9 : 0;
}

nvml_return nvmlShutdown(void)
{
    ends++;
    return 0;
}

const char *nvmlErrorString(nvml_return result)
{
    return result == 9 ? "Driver Not Loaded" : "Not Found";
}

nvml_return nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    if (length < 10)
        return 7;
    memcpy(version, "580.65.06", 10);
    return 0;
}

static nvml_device slow_device;

nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
    static char gpus[2];
#ifdef FAKE_NVML_WHOLE
    if (strncmp(uuid, "GPU-", 4) != 0)
        return 6;
#else
    if (strcmp(uuid, "GPU-one") != 0)
        return 6;
#endif
    slow_device = (nvml_device)(void *)&gpus[1];
    *device = strcmp(uuid, "GPU-slow") == 0 ? slow_device : (nvml_device)(void *)&gpus[0];
    return 0;
}

/* Children of the asking process, whichever of its threads started them. */
static unsigned int children(struct nvml_process *infos, unsigned int capacity)
{
    unsigned int count = 0;
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
        char path[300], text[512] = "", state;
        int parent;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "re") : NULL;
        if (!file)
            continue;
        const char *end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
        fclose(file);
        if (end && sscanf(end + 1, " %c %d", &state, &parent) == 2 && parent == (int)getpid() &&
            count < capacity)
            infos[count++].pid = (unsigned int)atoi(entry->d_name);
    }
    if (directory)
        closedir(directory);
    return count;
}

nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned int *count,
                                                    struct nvml_process *infos)
{
    (void)device;
    unsigned int capacity = *count;
    if (mode_is("crowded")) {
        *count = capacity + 1;
        return 7;
    }
    memset(infos, 0, capacity * sizeof *infos);
    *count = mode_is("alone") ? 0 : 2;
    if (mode_is("ours") || mode_is("far"))
        *count = children(infos, capacity);
    /* Without the guard, which uses no GPU. */
    if (mode_is("far") && *count > 0)
        --*count;
    for (unsigned int i = 0; i < *count; i++) {
        unsigned int pid = mode_is("ours") ? infos[i].pid : (mode_is("far") ? 99000000 : 100) + i;
        infos[i] = (struct nvml_process){pid, 1 << 20, ~0u, ~0u};
    }
    if (mode_is("stranger") && *count < capacity)
        infos[(*count)++].pid = 1;
    return 0;
}

nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned int *current, unsigned int *pending)
{
    (void)device;
    *current = (unsigned int)mode_is("mig");
    *pending = 1;
    return 0;
}

#ifdef FAKE_NVML_WHOLE
nvml_return nvmlDeviceGetPersistenceMode(nvml_device device, int *mode)
{
    (void)device;
    *mode = !mode_is("no-persistence");
    return 0;
}
#endif

nvml_return nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned int *mhz)
{
    bool slow = mode_is("slow") || (slow_device && device == slow_device);
    *mhz = type != 1 ? 345 : slow ? 1200 : 1980;
    return 0;
}

#ifdef FAKE_NVML_WHOLE
nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = 300000;
    return mode_is("no-power") ? 3 : 0;
}

nvml_return nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *millijoules)
{
    (void)device;
    struct timespec now;
    hang_while("hang");
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = 300ull * ((unsigned long long)now.tv_sec * 1000 +
                             (unsigned long long)now.tv_nsec / 1000000);
    return mode_is("no-energy") ? 3 : 0;
}

nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *memory)
{
    (void)device;
    if (memory->version != (sizeof *memory | 2u << 24))
        return 2;
    memory->total = 80ull << 30;
    memory->reserved = 1ull << 29;
    memory->used = mode_is("full") ? 40ull << 30 : 4ull << 20;
    memory->free = memory->total - memory->reserved - memory->used;
    samples++;
    return 0;
}
#else
nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = 1;
    return 3;
}
#endif

nvml_return nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
    (void)device;
    *memory = (struct nvml_memory){80ull << 30, 79ull << 30, 1ull << 30};
    return 0;
}

nvml_return nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilisation *rates)
{
    (void)device;
    *rates = (struct nvml_utilisation){mode_is("busy") ? 90 : 0, 1};
    return 0;
}

nvml_return nvmlDeviceGetMaxClockInfo(nvml_device device, int type, unsigned int *mhz)
{
    (void)device;
    *mhz = type == 1 ? 2010 : 3201;
    return 0;
}

nvml_return nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = 700000;
    return 0;
}

nvml_return nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned int *celsius)
{
    (void)device;
    *celsius = 40;
    return sensor == 0 ? 0 : 2;
}

nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
                                                      unsigned long long *reasons)
{
    (void)device;
    *reasons = mode_is("calm") ? 1 : 0x44;
    return 0;
}
