#include "common/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

static _Thread_local char last_text[STATUS_TEXT_BYTES];

void status_record(const char *format, ...)
{
    /* Built aside first: an argument may be the recorded text itself. */
    char text[sizeof last_text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_end_whole(text, strlen(text));
    memcpy(last_text, text, sizeof text);
}

void status_record_before(const char *format, ...)
{
    char text[sizeof last_text];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof text)
        snprintf(text + length, sizeof text - (size_t)length, "%s", last_text);
    text_end_whole(text, strlen(text));
    memcpy(last_text, text, sizeof text);
}

const char *status_text(void)
{
    return last_text;
}

void status_save(enum status code, struct status_saved *out)
{
    out->code = code;
    memcpy(out->text, last_text, sizeof out->text);
}

enum status status_restore(const struct status_saved *saved)
{
    memcpy(last_text, saved->text, sizeof last_text);
    return saved->code;
}
