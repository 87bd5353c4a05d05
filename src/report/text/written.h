/* written.h - a text in memory, written through a stream
 *
 * As open_memstream has it, whose stream forgets that there was no memory for a part of the text, and goes on behind the gap.
 */
#ifndef HWI_REPORT_TEXT_WRITTEN_H
#define HWI_REPORT_TEXT_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Begins as {0}. */
struct hwi_written {
  char *text; /* after hwi_written_end: `bytes` of it, and a NUL */
  size_t bytes, room;
};

/* A stream whose text takes the place of the one that is there. NULL: no memory. */
FILE *hwi_written_begin(struct hwi_written *written);

/* Closes the stream. False: there was no memory for all of the text. */
bool hwi_written_end(struct hwi_written *written, FILE *stream);

void hwi_written_release(struct hwi_written *written);

#endif
