/*
 * One file that each test of a program fills anew: the setup of a group makes it, its teardown
 * removes it.
 */
#pragma once

#include <stddef.h>

/* Its path, once scratch_make() has run. */
extern char scratch_path[];

int scratch_make(void **state);
int scratch_remove(void **state);

/* Replaces what is in it. Ends the test that calls it where it cannot. */
void scratch_write(const void *bytes, size_t count);
