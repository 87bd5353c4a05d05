/* static_allocator.h - an allocator that is linked into a program, under names that no recorder can come before */
#ifndef HWI_SYMBOLS_STATIC_ALLOCATOR_H
#define HWI_SYMBOLS_STATIC_ALLOCATOR_H

#include "symbols/symbols.h"

/* What to call the allocator that the file at `program->path` (absolute) has linked in, as in "has ... linked in", or NULL:
 * none is known, the file cannot be read, or it has not the build-id that is asked for (`build_id_bytes` > 0). A program that
 * exports a malloc is not meant here: it is found when it runs. Neither is one that gets its allocator from a shared library,
 * or whose symbols were stripped. `bias` is not used. The text is static. Thread-safe. */
const char *hwi_static_allocator(const struct hwi_symbol_module *program);

/* The file at `path` (absolute) is ELF and exports a malloc, as a library that replaces it does. Thread-safe. */
bool hwi_exports_malloc(const char *path);

#endif
