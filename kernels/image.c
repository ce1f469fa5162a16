#include "kernels/image.h"

/*
 * The images are copied in by the assembler, which finds them by the -I paths it is given: the PTX
 * in the source tree, the fat binary where the build runs. A fat binary's header has 8-byte fields;
 * PTX is text, whose end the driver knows by a NUL.
 */
#define EMBED(name, path, tail)                                                                    \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 64\n"                                                                         \
            ".global " #name "\n"                                                                  \
            ".hidden " #name "\n" #name ":\n"                                                      \
            ".incbin \"" path "\"\n"                                                               \
            ".global " #name "_end\n"                                                              \
            ".hidden " #name "_end\n" #name "_end:\n" tail ".popsection\n");                       \
    /* NOLINTNEXTLINE(bugprone-macro-parentheses): a name to declare */                            \
    extern const unsigned char name[] __attribute__((visibility("hidden")));                       \
    extern const unsigned char name##_end[] __attribute__((visibility("hidden")))

EMBED(mpsweep_kernels_ptx, "kernels/workload.ptx", ".byte 0\n");

const void *kernels_ptx(size_t *bytes)
{
    if (bytes)
        /* cppcheck-suppress comparePointers */
        *bytes = (size_t)(mpsweep_kernels_ptx_end - mpsweep_kernels_ptx);
    return mpsweep_kernels_ptx;
}

#ifdef MPSWEEP_NATIVE_KERNELS

EMBED(mpsweep_kernels_native, "kernels/workload.fatbin", "");

const void *kernels_image(size_t *bytes)
{
    if (bytes)
        *bytes = (size_t)(mpsweep_kernels_native_end - mpsweep_kernels_native);
    return mpsweep_kernels_native;
}

#else

const void *kernels_image(size_t *bytes)
{
    return kernels_ptx(bytes);
}

#endif
