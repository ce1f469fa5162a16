/*
 * Runs a fuzz target on files, with any compiler: on those named on the command line (an input that
 * the fuzzer found), or else on the whole corpus, which must not be empty.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/target.h"

/* Returns false after an error, which it prints on standard error. */
static bool replay(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &info) != 0) {
        perror(path);
        if (file)
            fclose(file);
        return false;
    }
    /* Of the file's own size, so that a sanitizer sees what reads beyond it. */
    size_t bytes = (size_t)info.st_size;
    uint8_t *data = malloc(bytes ? bytes : 1);
    bool read = data && fread(data, 1, bytes, file) == bytes;
    fclose(file);
    if (read) {
        /* Printed first, since a target that fails ends the program. */
        fprintf(stderr, "%s\n", path);
        LLVMFuzzerTestOneInput(data, bytes);
    } else {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    free(data);
    return read;
}

static int replay_corpus(void)
{
    char folder[4096], path[8192];
    const char *source = getenv("MPSWEEP_SOURCE_DIR");
    unsigned count = 0, failed = 0;
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", source ? source : MPSWEEP_SOURCE_DIR,
             fuzz_target_name);
    DIR *directory = opendir(folder);
    if (!directory) {
        perror(folder);
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count++;
        failed += !replay(path);
    }
    closedir(directory);
    if (count == 0)
        fprintf(stderr, "%s: empty\n", folder);
    else
        printf("%u of %u inputs replayed\n", count - failed, count);
    return count == 0 || failed > 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc < 2)
        return replay_corpus();
    for (int i = 1; i < argc; i++)
        failed |= !replay(argv[i]);
    return failed;
}
