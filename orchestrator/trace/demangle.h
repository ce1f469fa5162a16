/*
 * What a C++ compiler calls a kernel, as a programmer reads it: by the C++ runtime library's own
 * function, where that library is. Nothing is linked with it.
 */
#pragma once

/* "add(int*, int)" of "_Z3addPii", to be freed by the caller; NULL of what is no such name, of one
 * that was cut, or where there is no such library. */
char *trace_names_read(const char *symbol);
