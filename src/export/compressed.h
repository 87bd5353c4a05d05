/* compressed.h - streams that compress what is written to them */
#ifndef HWI_EXPORT_COMPRESSED_H
#define HWI_EXPORT_COMPRESSED_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum hwi_compression { HWI_COMPRESSION_NONE = 0, HWI_COMPRESSION_GZIP, HWI_COMPRESSION_ZSTD };

/* By the end of `path`: ".gz", ".zst". */
enum hwi_compression hwi_compression_of(const char *path);

/* How many bytes of `path` are left without that end. */
size_t hwi_compression_stem(const char *path);

/* A stream whose bytes go to `out` compressed. `out` stays open when it is closed; only then is all of it there, and fclose
 * fails where it could not be written (hwi_compressed_close says why). NULL: no memory. */
FILE *hwi_compressed_open(FILE *out, enum hwi_compression compression);

/* Closes it; `out` stays open. 0 or a negative status; where writing to `out` failed, that is for its owner to say, and none. */
int hwi_compressed_close(FILE *compressed, FILE *out, struct hwi_error *error);

#endif
