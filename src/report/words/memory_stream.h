/* memory_stream.h - a text in memory, written through a stream
 *
 * It replaces open_memstream, whose stream does not report that there was no memory for a part of the text, and
 * continues after the gap.
 */
#ifndef HWI_REPORT_WORDS_MEMORY_STREAM_H
#define HWI_REPORT_WORDS_MEMORY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Initialize it with {0}. */
struct hwi_memory_stream {
  char *text; /* after hwi_memory_stream_end: `bytes` of it, and a NUL */
  size_t bytes, room;
};

/* Returns a stream whose text replaces the present one; NULL if there is no memory. */
FILE *hwi_memory_stream_begin(struct hwi_memory_stream *written);

/* Closes the stream. Returns false if there was no memory for all of the text. */
bool hwi_memory_stream_end(struct hwi_memory_stream *written, FILE *stream);

void hwi_memory_stream_release(struct hwi_memory_stream *written);

#endif
