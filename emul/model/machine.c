#include "emul/model/machine.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field {
    const char *name;
    size_t offset;
    uint64_t least, most;
};

#define FIELD(name, initial, least, most)                                                          \
    {#name, offsetof(struct model_machine, name), least, most},
static const struct field fields[] = {MODEL_MACHINE_NUMBERS(FIELD)};

#define FIELDS (sizeof fields / sizeof fields[0])

static const struct field *find(const char *name, size_t length)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0)
            return &fields[i];
    return NULL;
}

static enum status unknown_name(const char *name, size_t length)
{
    char known[FIELDS * 24] = "";
    for (size_t i = 0; i < FIELDS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", fields[i].name);
    }
    return status_set(STATUS_USAGE, EMUL_MACHINE_VARIABLE ": unknown name '%.*s'; there are %s",
                      (int)length, name, known);
}

static enum status parse_item(const char *item, size_t length, struct model_machine *machine)
{
    const char *equals = memchr(item, '=', length);
    if (equals == NULL)
        return status_set(STATUS_USAGE, EMUL_MACHINE_VARIABLE ": '%.*s' is not NAME=NUMBER",
                          (int)length, item);
    size_t name_length = (size_t)(equals - item);
    const struct field *field = find(item, name_length);
    if (field == NULL)
        return unknown_name(item, name_length);
    /* Digits only: no sign, no space, no unit. Seventeen of them cannot overflow. */
    size_t digits = strspn(equals + 1, "0123456789");
    uint64_t value = digits > 0 && digits < 18 ? strtoull(equals + 1, NULL, 10) : UINT64_MAX;
    if (name_length + 1 + digits != length || value < field->least || value > field->most)
        return status_set(STATUS_USAGE,
                          EMUL_MACHINE_VARIABLE ": '%.*s': %s is a whole number from %llu to %llu",
                          (int)length, item, field->name, (unsigned long long)field->least,
                          (unsigned long long)field->most);
    memcpy((char *)machine + field->offset, &value, sizeof value);
    return STATUS_OK;
}

enum status machine_parse(const char *text, struct model_machine *out)
{
    struct model_machine machine = model_machine_default;
    const char *at = text != NULL ? text : "";
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        enum status status = parse_item(at, length, &machine);
        if (status != STATUS_OK)
            return status;
        at += length;
        if (*at == ',' && *++at == '\0')
            return status_set(STATUS_USAGE, EMUL_MACHINE_VARIABLE " ends with a comma");
    }
    *out = machine;
    return STATUS_OK;
}
