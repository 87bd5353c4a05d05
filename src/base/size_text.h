/* size_text.h - sizes as users write them */
#ifndef HWI_BASE_SIZE_TEXT_H
#define HWI_BASE_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a size as coreutils does: a whole number, then nothing or B (bytes), K M G T P E or KiB MiB ... (powers of
 * 1024), or kB MB GB ... (powers of 1000), the first letter in upper or lower case. Returns false and leaves *bytes
 * unchanged if the text is anything else or the size does not fit. Calls nothing but strchr and strcmp, because the
 * target reads its limits with it. */
bool hwi_size_parse(const char *text, uint64_t *bytes);

#endif
