#include "orchestrator/plan/shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/digest.h"
#include "mps/settings.h"

/* The smallest share that a driver may give, whatever is asked for: this part of all. */
#define SMALLEST_PART 8

int64_t shares_at(const struct point_shares *shares, unsigned process)
{
    return shares->count ? shares->values[process % shares->count] : OPTION_SHARE_DEFAULT;
}

static bool repeats_after(const struct point_shares *shares, unsigned count, unsigned processes)
{
    for (unsigned p = count; p < processes; p++)
        if (shares_at(shares, p) != shares->values[p % count])
            return false;
    return true;
}

struct point_shares shares_canonical(const struct point_shares *shares, unsigned processes)
{
    struct point_shares shortest = *shares;
    if (shares->count == 0)
        return (struct point_shares){0};
    shortest.count = 1;
    while (!repeats_after(shares, shortest.count, processes))
        shortest.count++;
    if (shortest.count == 1 && shortest.values[0] == OPTION_SHARE_DEFAULT)
        return (struct point_shares){0};
    return shortest;
}

/* One entry with what stands before it. Returns its length. */
static size_t entry_text(const struct point_shares *shares, unsigned index, bool sizes, char *out,
                         size_t size)
{
    char number[24];
    const char *joint = index ? "/" : "";
    int64_t value = shares->values[index];
    if (value == OPTION_SHARE_DEFAULT)
        snprintf(out, size, "%sdefault", joint);
    else if (sizes)
        snprintf(out, size, "%s%s", joint,
                 mps_settings_size_text((uint64_t)value, number, sizeof number));
    else
        snprintf(out, size, "%s%" PRId64, joint, value);
    return strlen(out);
}

const char *shares_text(const struct point_shares *shares, bool sizes, char *out, size_t size)
{
    char entry[32];
    size_t whole = 0, used = 0;
    uint64_t digest = DIGEST_EMPTY;
    for (unsigned i = 0; i < shares->count; i++) {
        whole += entry_text(shares, i, sizes, entry, sizeof entry);
        digest = digest_add(digest, entry, strlen(entry));
    }
    char mark[16] = "";
    if (whole >= size)
        snprintf(mark, sizeof mark, "/…%08" PRIx32, (uint32_t)digest);
    size_t room = size - strlen(mark);
    *out = '\0';
    for (unsigned i = 0; i < shares->count; i++) {
        size_t length = entry_text(shares, i, sizes, entry, sizeof entry);
        if (used + length >= room)
            break;
        memcpy(out + used, entry, length + 1);
        used += length;
    }
    memcpy(out + used, mark, strlen(mark) + 1);
    return out;
}

bool shares_fit_multiprocessors(int64_t percentage, int found, int all)
{
    if (percentage == OPTION_SHARE_DEFAULT)
        percentage = 100;
    int64_t given = found;
    return given > 0 && (given * 100 <= percentage * all || given * SMALLEST_PART <= all);
}
