/*
 * Demangles kernel names of C++ compilers with the C++ runtime library's own function, if that
 * library is installed. Nothing is linked with it.
 */
#pragma once

/* Makes "add(int*, int)" of "_Z3addPii"; the caller frees it. NULL if symbol is not such a name, or
 * was cut, or without the library. */
char *trace_demangle(const char *symbol);
