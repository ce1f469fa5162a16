#include "mps/reply_error.h"

#include <limits.h>

#include "common/text.h"

#define QUOTE_BYTES 61 /* of what came, and a NUL */

enum status mps_reply_complaint(struct mps_scan line)
{
    struct mps_scan rest = line;
    uint64_t number;
    if (mps_scan_text(&rest, "Unknown command \"") && mps_scan_text_end(&rest, "\"")) {
        char command[QUOTE_BYTES];
        return status_set(STATUS_UNSUPPORTED, "this MPS daemon has no command '%s'",
                          text_printable(rest.at, rest.bytes, command, sizeof command));
    }
    if (mps_scan_is(line, "Cannot find MPS control daemon process"))
        return status_set(STATUS_NOT_FOUND, "no MPS control daemon answers");
    if (mps_scan_is(line, "Server not found"))
        return status_set(STATUS_NOT_FOUND, "the MPS daemon has no server");
    rest = line;
    if (mps_scan_text(&rest, "Server ") && mps_scan_number(&rest, INT_MAX, &number) &&
        (mps_scan_is(rest, " not found") || mps_scan_is(rest, " not found!")))
        return status_set(STATUS_NOT_FOUND, "the MPS daemon has no server %d", (int)number);
    rest = line;
    if (mps_scan_text(&rest, "Invalid process ") && mps_scan_number(&rest, INT_MAX, &number) &&
        mps_scan_is(rest, "!"))
        return status_set(STATUS_NOT_FOUND, "the MPS server has no client %d", (int)number);
    rest = line;
    if (mps_scan_text(&rest, "Invalid priority value"))
        return status_set(STATUS_USAGE, "the MPS daemon does not take this client priority: it is "
                                        "0 or 1");
    return STATUS_OK;
}

enum status mps_reply_odd(struct mps_scan line, const char *wanted)
{
    char quote[QUOTE_BYTES];
    return status_set(STATUS_PROTOCOL, "the MPS daemon answered '%s', which is not %s",
                      text_printable(line.at, line.bytes, quote, sizeof quote), wanted);
}

enum status mps_reply_refused(struct mps_scan line, const char *wanted)
{
    enum status status = mps_reply_complaint(line);
    return status != STATUS_OK ? status : mps_reply_odd(line, wanted);
}
