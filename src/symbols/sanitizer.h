/* sanitizer.h - whether a program is built with a sanitizer */
#ifndef HWI_SYMBOLS_SANITIZER_H
#define HWI_SYMBOLS_SANITIZER_H

#include <stdbool.h>

/* The file at `path` (absolute) needs the runtime of a sanitizer that replaces malloc, as gcc links it, or has one in itself, as
 * clang does. False also where it cannot be read. Thread-safe. */
bool hwi_has_sanitizer(const char *path);

#endif
