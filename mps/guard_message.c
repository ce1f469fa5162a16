#include "mps/guard.h"

bool guard_message_check(struct guard_message *message, ssize_t received)
{
    struct mps_settings *settings = &message->settings;
    if (received != (ssize_t)sizeof *message || message->magic != GUARD_MAGIC ||
        settings->memory_limits > MPS_SETTINGS_GPUS ||
        settings->partitions > MPS_SETTINGS_PARTITIONS)
        return false;
    message->text[sizeof message->text - 1] = '\0';
    for (unsigned i = 0; i < settings->memory_limits; i++)
        settings->memory_limit[i].gpu[sizeof settings->memory_limit[i].gpu - 1] = '\0';
    for (unsigned i = 0; i < settings->partitions; i++)
        settings->partition[i].gpu[sizeof settings->partition[i].gpu - 1] = '\0';
    return true;
}
