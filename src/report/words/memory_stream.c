/* memory_stream.c - a text in memory, written through a stream */
#include "report/words/memory_stream.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

static ssize_t append(void *cookie, const char *bytes, size_t count)
{
  struct hwi_memory_stream *written = cookie;
  if (!hwi_grow((void **)&written->text, &written->room, written->bytes + count + 1, 1))
    return 0; /* an error, which the stream records */
  memcpy(written->text + written->bytes, bytes, count);
  written->bytes += count;
  written->text[written->bytes] = '\0';
  return (ssize_t)count;
}

FILE *hwi_memory_stream_begin(struct hwi_memory_stream *written)
{
  written->bytes = 0;
  return fopencookie(written, "w", (cookie_io_functions_t){.write = append});
}

bool hwi_memory_stream_end(struct hwi_memory_stream *written, FILE *stream)
{
  bool failed = ferror(stream) != 0;
  failed |= fclose(stream) != 0;
  return !failed && (written->bytes > 0 || append(written, "", 0) == 0) && written->text;
}

void hwi_memory_stream_release(struct hwi_memory_stream *written)
{
  free(written->text);
  *written = (struct hwi_memory_stream){0};
}
