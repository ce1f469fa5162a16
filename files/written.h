/*
 * What this process has written, for the error of what it prints afterwards: a user who sees
 * that error must know that the files are there all the same. For the main thread alone.
 */
#pragma once

/* Notes a file, or a directory, that is complete, or is written line by line. */
void written_note(const char *path);

/* The names, quoted, each once, with ", " between them; "" without any. *count is how many. */
const char *written_names(unsigned *count);
