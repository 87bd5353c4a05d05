/* written.h - a text in memory, written through a stream
 *
 * It replaces open_memstream, whose stream does not report that there was no memory for a part of the text, and
 * continues after the gap.
 */
#ifndef HWI_REPORT_WORDS_WRITTEN_H
#define HWI_REPORT_WORDS_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Initialize it with {0}. */
struct hwi_written {
  char *text; /* after hwi_written_end: `bytes` of it, and a NUL */
  size_t bytes, room;
};

/* Returns a stream whose text replaces the present one; NULL if there is no memory. */
FILE *hwi_written_begin(struct hwi_written *written);

/* Closes the stream. Returns false if there was no memory for all of the text. */
bool hwi_written_end(struct hwi_written *written, FILE *stream);

void hwi_written_release(struct hwi_written *written);

#endif
