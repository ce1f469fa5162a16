#include "observer/has_client.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "wire/program.h"

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

/* Whether there is the client's note among those of an object. */
static bool has_note(const char *notes, size_t bytes)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        const char *name = notes + at + sizeof *note;
        if (at + sizeof *note + sizeof CLIENT_NOTE_NAME <= bytes && note->n_type == CLIENT_NOTE &&
            note->n_namesz == sizeof CLIENT_NOTE_NAME &&
            memcmp(name, CLIENT_NOTE_NAME, sizeof CLIENT_NOTE_NAME) == 0)
            return true;
        at += sizeof *note + padded(note->n_namesz) + padded(note->n_descsz);
    }
    return false;
}

/* In the program itself, which comes first: the client may be linked into it. */
static int look_into(struct dl_phdr_info *object, size_t bytes, void *found)
{
    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_NOTE && part->p_align <= 4 &&
            has_note((const char *)object->dlpi_addr + part->p_vaddr, part->p_filesz))
            *(bool *)found = true;
    }
    return 1;
}

bool has_client(void)
{
    bool found = false;
    void *library = dlopen(CLIENT_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    dl_iterate_phdr(look_into, &found);
    return library || found;
}
