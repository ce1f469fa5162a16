/* Texts that a user types: the first byte chooses what reads the rest. */
#include <math.h>

#include "common/shell_word.h"
#include "emul/cuda/fault.h"
#include "emul/model/effects.h"
#include "emul/model/machine.h"
#include "emul/model/mps_link.h"
#include "emul/model/visible.h"
#include "job/options.h"
#include "mps/settings.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/results/number_ranges.h"
#include "tests/fuzz/target.h"

const char fuzz_target_name[] = "words";

#define RANGE_MOST 64

static bool worked(enum status status)
{
    if (status != STATUS_OK)
        check_error(status_text());
    return status == STATUS_OK;
}

/* The second byte is the option's number. What a record keeps of a value means the same. */
static void read_option(const char *text)
{
    struct options options, again;
    const struct option_row *row = &option_table[(unsigned char)*text % OPTION_COUNT];
    check(options_init(&options) == STATUS_OK && options_init(&again) == STATUS_OK);
    if (*text && worked(options_set(&options, row, text + 1, 1))) {
        const struct option_value *value = &options.values[row->id];
        check(value->count > 0);
        for (size_t i = 0; i < value->count; i++) {
            check(row->flags & OPTION_NOT_IN_JOB || text_is_utf8(value->items[i].text));
            check(options_set(&again, row, value->items[i].text, 1) == STATUS_OK);
        }
    }
    options_release(&options);
    options_release(&again);
}

static void read_rate(const char *text)
{
    struct rate rate, same;
    char back[64];
    if (!rate_parse(text, &rate) || rate.units == 0)
        return;
    check(rate_parse(rate_text(rate.units, back, sizeof back), &same) && same.units == rate.units);
}

/* What is read is written, and read again. */
static void read_range(const char *text)
{
    bool set[RANGE_MOST] = {false}, again[RANGE_MOST] = {false};
    size_t found, same;
    if (!number_ranges_read(text, RANGE_MOST, set, &found))
        return;
    char *back = number_ranges_text(set, RANGE_MOST);
    check(back && number_ranges_read(back, RANGE_MOST, again, &same));
    check(memcmp(set, again, sizeof set) == 0 && same <= found);
    free(back);
}

static void read_devices(const char *text)
{
    struct device_choice choice;
    if (worked(device_choice_parse(text, &choice)))
        check(choice.count <= DEVICE_LIST_MAX && device_choice_count(&choice) <= DEVICE_LIST_MAX);
}

static void read_word(const char *text)
{
    static const struct placeholders values = {.processes = 1, .threads = 1, .gpu = "GPU-1"};
    char word[64];
    check(strlen(shell_word(text, word, sizeof word)) < sizeof word);
    worked(placeholders_check_file(text));
    if (!worked(placeholders_check(text)))
        return;
    char *filled = placeholders_fill(text, &values);
    check(filled != NULL);
    free(filled);
}

static void read_memory(const char *text)
{
    struct mps_settings settings;
    mps_settings_init(&settings);
    if (worked(mps_settings_add_memory(&settings, text)))
        check(settings.memory_limits <= MPS_SETTINGS_GPUS);
}

static void read_emulated(const char *text)
{
    struct model_machine machine;
    effects_off off;
    struct fault_plan plan;
    if (worked(machine_parse(text, &machine)))
        check(machine.slots >= 1 && machine.slots <= 64);
    if (worked(effects_parse(text, &off)))
        check(off >> EFFECT_COUNT == 0);
    if (worked(fault_plan_parse(text, "1", &plan)))
        check(plan.count <= FAULT_MAX);
    struct visible visible = visible_parse(text, EMUL_DEVICES_MAX);
    check(visible.count <= EMUL_DEVICES_MAX);
    for (uint32_t i = 0; i < visible.count; i++)
        check(visible.devices[i] < EMUL_DEVICES_MAX);
    mps_link_parse_mib(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static void (*const readers[])(const char *) = {
        read_option, read_rate, read_range, read_devices, read_word, read_memory, read_emulated,
    };
    if (bytes == 0)
        return 0;
    char *text = fuzz_text(data + 1, bytes - 1);
    readers[data[0] % (sizeof readers / sizeof *readers)](text);
    free(text);
    return 0;
}
