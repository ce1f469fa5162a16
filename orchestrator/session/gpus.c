#include "orchestrator/session/gpus.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

const struct device_info *gpu_at(const struct gpu_set *gpus, unsigned gpu)
{
    return &gpus->list.devices[gpus->numbers[gpu]];
}

const struct device_info *gpu_beside(const struct gpu_set *gpus)
{
    unsigned other = gpus->numbers[0] == 0;
    return other < gpus->list.count ? &gpus->list.devices[other] : NULL;
}

const char *gpu_name(const struct gpu_set *gpus, unsigned gpu, char text[GPU_NAME_TEXT])
{
    unsigned number = gpu < DEVICE_LIST_MAX ? gpus->numbers[gpu] : gpu;
    if (number == gpu)
        snprintf(text, GPU_NAME_TEXT, "GPU %u", gpu);
    else
        snprintf(text, GPU_NAME_TEXT, "GPU %u = device %u", gpu, number);
    return text;
}

bool gpu_models_differ(const struct gpu_set *gpus, char *text, size_t size)
{
    struct text out = {.at = text, .size = size};
    bool differ = false;
    for (unsigned i = 1; i < gpus->count; i++)
        differ |= strcmp(gpu_at(gpus, i)->name, gpu_at(gpus, 0)->name) != 0 ||
                  gpu_at(gpus, i)->sms != gpu_at(gpus, 0)->sms;
    for (unsigned i = 0; differ && i < gpus->count; i++)
        text_append(&out, "%s%u is %s with %d multiprocessors", i ? ", " : "", i,
                    gpu_at(gpus, i)->name, (int)gpu_at(gpus, i)->sms);
    return differ;
}

static enum status check_usable(const struct device_info *gpu)
{
    if (gpu->major < 7 || (gpu->major == 7 && gpu->minor < 5))
        return status_set(STATUS_UNSUPPORTED,
                          "'%s' has compute capability %d.%d; mpsweep needs 7.5 (Turing) or newer",
                          gpu->name, gpu->major, gpu->minor);
    if (gpu->compute_mode == CUDA_COMPUTE_MODE_PROHIBITED)
        return status_set(STATUS_UNSUPPORTED,
                          "'%s' is in compute mode PROHIBITED: an administrator sets it back with "
                          "'nvidia-smi -c DEFAULT'",
                          gpu->name);
    return STATUS_OK;
}

enum status gpu_set_choose(struct gpu_set *gpus, const struct device_choice *choice)
{
    char name[GPU_NAME_TEXT];
    enum status status = device_choice_find(choice, &gpus->list, gpus->numbers, &gpus->count);
    for (unsigned i = 0; i < gpus->count && status == STATUS_OK; i++) {
        status = check_usable(gpu_at(gpus, i));
        if (status != STATUS_OK && gpus->count > 1)
            status = status_prefix(status, "%s: ", gpu_name(gpus, i, name));
    }
    return status;
}
