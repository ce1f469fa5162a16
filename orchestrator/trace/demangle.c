#include "orchestrator/trace/demangle.h"

#include <stddef.h>
#include <string.h>

#include "device/library.h"

/* The C++ ABI's: allocates the text. */
struct reader {
    char *(*read)(const char *symbol, char *text, size_t *size, int *status);
};

static const char *const places[] = {"libstdc++.so.6", "libc++abi.so.1"};

/* Once asked for it stays loaded. */
static const struct reader *find_reader(void)
{
    static const struct library_symbol row = {"__cxa_demangle", 0, LIBRARY_REQUIRED,
                                              offsetof(struct reader, read)};
    static struct reader reader;
    static int searched;
    const char *reason;
    for (size_t i = 0; !searched && !reader.read && i < sizeof places / sizeof places[0]; i++) {
        void *library = library_open(places[i], &reason);
        if (library && library_bind(library, &row, 1, &reader) != NULL)
            library_close(library);
    }
    searched = 1;
    return reader.read ? &reader : NULL;
}

char *trace_demangle(const char *symbol)
{
    int status;
    /* Others may be read as names of types: "i" would be an int. */
    if (strncmp(symbol, "_Z", 2) != 0)
        return NULL;
    const struct reader *reader = find_reader();
    return reader ? reader->read(symbol, NULL, NULL, &status) : NULL;
}
