/* needed.h - the libraries that a program names for the loader */
#ifndef HWI_SYMBOLS_NEEDED_H
#define HWI_SYMBOLS_NEEDED_H

#include <stdbool.h>

/* The file at `path` (absolute) needs the runtime of a sanitizer that replaces malloc, as a shared library. False also where it cannot be
 * read. Thread-safe. */
bool hwi_needs_sanitizer(const char *path);

#endif
