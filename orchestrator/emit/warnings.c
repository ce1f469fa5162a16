#include "orchestrator/emit/warnings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/results/point.h"

/* Whether a character may be of what a placeholder stands for: numbers, and a GPU's UUID. */
static bool is_of(enum placeholder placeholder, char character)
{
    return placeholder == PLACEHOLDER_GPU ? character != '\0' : isdigit((unsigned char)character);
}

/* Whether a checked word can become text. Takes the least for each placeholder, and more where what
 * is behind it does not fit. */
static bool can_become(const char *word, const char *text)
{
    const char *after = NULL, *from = NULL; /* the last placeholder: behind it, and its end */
    enum placeholder last = PLACEHOLDER_LETTERS;
    struct placeholder_piece piece;
    for (;;) {
        const char *next = word;
        if (!placeholders_next(&next, &piece)) {
            if (!*text)
                return true;
        } else if (piece.placeholder != PLACEHOLDER_LETTERS && is_of(piece.placeholder, *text)) {
            last = piece.placeholder;
            after = word = next;
            from = ++text;
            continue;
        } else if (piece.placeholder == PLACEHOLDER_LETTERS &&
                   strncmp(text, piece.text, piece.bytes) == 0) {
            word = next;
            text += piece.bytes;
            continue;
        }
        if (!after || !is_of(last, *from))
            return false;
        word = after;
        text = ++from;
    }
}

/* Whether two words differ in no more than what their placeholders stand for. */
static bool is_same_word(const char *deployed, const char *measured)
{
    const struct placeholders none = {.gpu = "GPU"};
    if (strcmp(deployed, measured) == 0)
        return true;
    if (placeholders_check(measured) != STATUS_OK)
        return false;
    char *one = placeholders_fill(deployed, &none), *other = placeholders_fill(measured, &none);
    bool same = one && other && (can_become(deployed, other) || can_become(measured, one));
    free(one);
    free(other);
    return same;
}

/* A word that is not known, since it is not UTF-8, may be any. */
static bool is_same_command(char *const *deployed, const json_t *measured)
{
    const json_t *word;
    size_t index;
    json_array_foreach(measured, index, word)
    {
        if (!deployed[index] ||
            (json_is_string(word) && !is_same_word(deployed[index], json_string_value(word))))
            return false;
    }
    return deployed[json_array_size(measured)] == NULL;
}

static json_t *words_of(char *const *command)
{
    json_t *words = json_array();
    for (; *command; command++)
        json_array_append_new(words, json_string(*command));
    return words;
}

/* "the built-in workload", as it is in a sentence; "": it is not known. */
static const char *workload_of(const struct emit_request *request, char *out, size_t size)
{
    char shown[256];
    const char *name = text_at(request->point, "workload");
    if (!*name)
        name = text_at(json_object_get(request->header, "workload"), "name");
    *out = '\0';
    if (strcmp(name, "builtin") == 0 || strcmp(name, "delay") == 0)
        snprintf(out, size, "the %s workload", *name == 'b' ? "built-in" : name);
    else if (*name)
        snprintf(out, size, "the workload '%s'", text_displayed(name, shown, sizeof shown));
    return out;
}

/* Of a program, its words; NULL: of another workload. */
static const json_t *measured_words(const struct emit_request *request)
{
    const json_t *words = json_object_get(json_object_get(request->header, "workload"), "argv");
    return json_is_array(words) ? words : NULL;
}

static json_t *warning_of_command(const struct emit_request *request)
{
    char workload[512] = "";
    long long point = (long long)integer_at(request->point, "id");
    const json_t *measured = measured_words(request);
    bool given = request->command && request->command[0];
    bool same = measured ? !given || is_same_command(request->command, measured)
                         : !*workload_of(request, workload, sizeof workload);
    if (same)
        return NULL;
    if (!given)
        return json_sprintf("point %lld measured %s, and no program: the figures are not those "
                            "of the one that will run ('mpsweep sweep ... -- COMMAND' measures it)",
                            point, workload);
    json_t *words = words_of(request->command);
    char *deployed = json_dumps(words, JSON_ENSURE_ASCII);
    char *other = measured ? json_dumps(measured, JSON_ENSURE_ASCII) : NULL;
    json_t *text =
        measured ? json_sprintf("point %lld measured the command %s, and %s is deployed: the "
                                "figures are those of the measured one",
                                point, other ? other : "", deployed ? deployed : "")
                 : json_sprintf("point %lld measured %s, and the command %s is deployed: the "
                                "figures are not those of this command ('mpsweep sweep ... -- "
                                "COMMAND' measures it)",
                                point, workload, deployed ? deployed : "");
    json_decref(words);
    free(deployed);
    free(other);
    return text;
}

static bool has_port(const char *word)
{
    return placeholders_check(word) == STATUS_OK && placeholders_use(word, PLACEHOLDER_PORT);
}

/* Each measured process took a port of its own, and the deployed command names none. */
static bool shares_port(const struct emit_request *request)
{
    const json_t *measured = measured_words(request), *word;
    bool had = false, has = false;
    size_t index;
    json_array_foreach(measured, index, word)
    {
        had |= json_is_string(word) && has_port(json_string_value(word));
    }
    for (size_t i = 0; request->command[i]; i++)
        has |= has_port(request->command[i]);
    return had && !has && integer_at(request->point, "processes") > 1;
}

json_t *emit_warnings(const struct emit_request *request)
{
    json_t *warnings = json_array();
    json_t *text = warning_of_command(request);
    if (text)
        json_array_append_new(warnings, text);
    if (request->command && request->command[0] && shares_port(request))
        json_array_append_new(
            warnings, json_sprintf("each of the %lld processes measured had a port of its own by "
                                   "{port}, and the command has no {port}: unless it reads "
                                   "MPSWEEP_PORT, all of them take one port and only the first "
                                   "starts",
                                   (long long)integer_at(request->point, "processes")));
    const char *failed = point_warning(request->point, "bad_answers");
    if (*failed)
        json_array_append_new(
            warnings,
            json_sprintf("point %lld: %s", (long long)integer_at(request->point, "id"), failed));
    if (strcmp(text_at(request->point, "status"), "unconverged") == 0)
        json_array_append_new(warnings,
                              json_sprintf("point %lld is unconverged: its figures are not certain",
                                           (long long)integer_at(request->point, "id")));
    return warnings;
}
