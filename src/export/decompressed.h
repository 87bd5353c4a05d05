/* decompressed.h - files that may be compressed, as text */
#ifndef HWI_EXPORT_DECOMPRESSED_H
#define HWI_EXPORT_DECOMPRESSED_H

#include <stdio.h>

/* Opens a file for reading: gzip and zstd by what is in it, anything else as it is. What is damaged or cut short
 * reads as an error, EBADMSG. NULL: errno says why. */
FILE *hwi_decompressed_open(const char *path);

#endif
