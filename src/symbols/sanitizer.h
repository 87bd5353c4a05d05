/* sanitizer.h - whether a program is built with a sanitizer */
#ifndef HWI_SYMBOLS_SANITIZER_H
#define HWI_SYMBOLS_SANITIZER_H

#include <stdbool.h>

/* Returns whether the file at `path` (absolute) needs the shared runtime of a sanitizer that replaces malloc, as gcc
 * links it, or contains one, as clang links it. Returns false if the file cannot be read. Thread-safe. */
bool hwi_has_sanitizer(const char *path);

#endif
