/* size_text.h - sizes as users write them */
#ifndef HWI_BASE_SIZE_TEXT_H
#define HWI_BASE_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* A size as coreutils reads it: a whole number, then nothing or B (bytes), K M G T P E or KiB MiB ... (powers of 1024), or kB MB GB
 * ... (powers of 1000), the first letter in either case. False, and *bytes as it was, where it is anything else or does not fit.
 * Calls nothing but strchr and strcmp: the target reads its limits with it. */
bool hwi_size_parse(const char *text, uint64_t *bytes);

#endif
