/* Files to merge: any bytes, cut into files at lines of '=' alone. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "orchestrator/merge/internal.h"
#include "tests/fuzz/target.h"

const char fuzz_target_name[] = "merge";

#define FILES_MOST 4

/* Whatever was read: the records can be made, and each point is kept once at most. */
static void check_merged(const struct merge *merge)
{
    size_t kept = 0, points = 0;
    for (size_t i = 0; i < merge->entry_count; i++) {
        kept += merge->entries[i].kept;
        points += i == 0 || merge->entries[i].id != merge->entries[i - 1].id;
        check(!merge->entries[i].kept || !merge->entries[i].dropped);
        check(merge->entries[i].id < merge->plan);
    }
    check(kept == points);
    json_t *records[] = {merge_header(merge),
                         merge_merge_record(merge),
                         merge_footer(merge),
                         merge->fleet ? merge_fleet_record(merge) : json_null(),
                         merge->fleet && merge->entry_count > 0
                             ? merge_fleet_point_record(merge, merge->entries[0].id)
                             : json_null(),
                         merge->gpus.compared > 0 ? merge_gpus_record(merge) : json_null()};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        check(records[i] != NULL);
        json_decref(records[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int files[FILES_MOST];
    char paths[FILES_MOST][FUZZ_PATH];
    const char *names[FILES_MOST];
    size_t count = 0;
    for (size_t begin = 0; begin <= bytes && count < FILES_MOST; count++) {
        const uint8_t *cut = memmem(data + begin, bytes - begin, "=\n", 2);
        size_t end = cut ? (size_t)(cut - data) : bytes;
        files[count] = fuzz_file(data + begin, end - begin, paths[count]);
        names[count] = paths[count];
        begin = cut ? end + 2 : bytes + 1;
    }
    struct merge merge = {0};
    enum status status = merge_read(&merge, names, count);
    if (status == STATUS_OK)
        status = merge_check(&merge, false);
    if (status == STATUS_OK)
        status = merge_choose(&merge);
    if (status == STATUS_OK)
        status = merge_judge(&merge);
    if (status == STATUS_OK)
        check_merged(&merge);
    else
        check(*status_text() != '\0' && !strchr(status_text(), '\n'));
    merge_release(&merge);
    for (size_t i = 0; i < count; i++)
        close(files[i]);
    return 0;
}
