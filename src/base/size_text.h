/* size_text.h - sizes as users write them */
#ifndef HWI_BASE_SIZE_TEXT_H
#define HWI_BASE_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* A size as coreutils reads it: "64M" is 64 MiB, "64MB" 64 * 10^6, "64" bytes. False: it is none. */
bool hwi_size_parse(const char *text, uint64_t *bytes);

#endif
