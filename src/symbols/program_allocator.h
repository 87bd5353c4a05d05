/* program_allocator.h - whose malloc a program's file has: a sanitizer's, that of an allocator linked into it, or the recorder's */
#ifndef HWI_SYMBOLS_PROGRAM_ALLOCATOR_H
#define HWI_SYMBOLS_PROGRAM_ALLOCATOR_H

#include <stdbool.h>

#include "symbols/symbols.h"

/* Returns the name of the allocator that the file at `program->path` (absolute) has linked in, as in "has ... linked
 * in", if its calls do not reach the recorder. Returns NULL if there is no known one, the file cannot be read, or its
 * build-id is not the given one (`build_id_bytes` > 0). Returns NULL for an allocator that the recorder redirects, which
 * is detected when the program runs, as is an exported malloc; and for a program that gets its allocator from a shared library. Of a
 * static program that has the recorder linked in, and whose malloc is the allocator's, the name is that of the allocator's other
 * functions. `bias` is not used. The text is static. Thread-safe. */
const char *hwi_static_allocator(const struct hwi_symbol_module *program);

/* Returns what the user can do, as in "to record them, ...", for a text that hwi_static_allocator returned; NULL: nothing. */
const char *hwi_static_allocator_advice(const char *text);

/* What hwi_static_allocator finds in a file, and what is detected when it runs. */
struct hwi_program_allocator {
  const char *linked_in; /* its name, as in "has ... linked in"; NULL: none is known, or malloc is exported */
  bool is_redirected;    /* the recorder sees its calls */
  bool exports_malloc;   /* as a library that replaces malloc does; false if that is the recorder's */
};

/* Returns what the file at `path` (absolute) has; nothing if it is not ELF or cannot be read. Thread-safe. */
struct hwi_program_allocator hwi_program_allocator(const char *path);

/* Returns whether the file at `path` is a program that has the recorder linked in. Returns false if it cannot be read. Thread-safe. */
bool hwi_has_linked_recorder(const char *path);

/* Returns whether the file at `path` (absolute) needs the shared runtime of a sanitizer that replaces malloc, as gcc
 * links it, or contains one, as clang links it. Returns false if the file cannot be read. Thread-safe. */
bool hwi_has_sanitizer(const char *path);

#endif
