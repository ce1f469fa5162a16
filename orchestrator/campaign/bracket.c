#include "orchestrator/campaign/bracket.h"

uint64_t bracket_next(const struct bracket *bracket)
{
    uint64_t held = bracket->held_units, failed = bracket->failed_units;
    if (failed == 0)
        return held ? 2 * held : bracket->first_units;
    uint64_t middle = held + (failed - held) / 2;
    if (held == 0)
        return middle >= bracket->lowest_units ? middle : 0;
    bool wide = (double)(failed - held) > bracket->width * (double)failed;
    return wide && middle > held ? middle : 0;
}

void bracket_note(struct bracket *bracket, uint64_t rate_units, bool held)
{
    if (held)
        bracket->held_units = rate_units;
    else
        bracket->failed_units = rate_units;
}
