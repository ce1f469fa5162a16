/*
 * Fields of JSON objects that may lack them: records of other versions, or edited by hand.
 */
#pragma once

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* The text of object's field key; "" if it has no text there. It belongs to object. */
static inline const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The same, but `otherwise` where there is no text or an empty one. */
static inline const char *text_or(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = text_at(object, key);
    return *text ? text : otherwise;
}

/* The integer of object's field key; 0 if it has none there. */
static inline json_int_t integer_at(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* The value as a finite number; NAN if it is not one, or is NULL. */
static inline double number_of(const json_t *value)
{
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    return isfinite(number) ? number : NAN;
}

/* The number of object's field key; NAN if it has none there. */
static inline double number_at(const json_t *object, const char *key)
{
    return number_of(json_object_get(object, key));
}

/* The number at index of the array at object's field key, an end of an interval for example; NAN
 * if there is none. */
static inline double number_in(const json_t *object, const char *key, size_t index)
{
    return number_of(json_array_get(json_object_get(object, key), index));
}

/* The place that the object `places` has for a text; a text that is new there gets `next`. -1: no
 * memory. */
static inline json_int_t json_place(json_t *places, const char *text, json_int_t next)
{
    const json_t *known = json_object_get(places, text);
    if (known)
        return json_integer_value(known);
    return json_object_set_new_nocheck(places, text, json_integer(next)) == 0 ? next : -1;
}

/* Adds the fields of more, which it releases; NULL is fine. */
static inline void json_add(json_t *object, json_t *more)
{
    json_object_update(object, more);
    json_decref(more);
}

/* Makes a JSON string of a text from the system; U+FFFD replaces bytes that are not UTF-8. NULL
 * without memory. */
static inline json_t *json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    size_t size = 3 * strlen(text) + 1;
    char *replaced = malloc(size);
    string = replaced ? json_string(text_displayed(text, replaced, size)) : NULL;
    free(replaced);
    return string;
}
