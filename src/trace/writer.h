/* writer.h - the window of a raw trace: the mapped file, its header, and the chunks cut from it
 *
 * The window is sparse and as large as the trace may become. Chunks are cut from it in order by one atomic addition and
 * never given back: the file's blocks come into being when a chunk is populated, before anything is written to it.
 * What lies in the window is only written here, never read back (but for the control word): another process may change it.
 * Async-signal-safe, lock-free, without malloc.
 */
#ifndef HWI_TRACE_WRITER_H
#define HWI_TRACE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

struct hwi_writer {
  uint8_t *window; /* NULL: not open */
  uint64_t window_bytes;
  _Atomic uint64_t next_off; /* where the next chunk begins */
  uint64_t image_tag;
};

/* Creates the file and its header. `header` has what the caller knows; magic, sizes and the window are filled in. Fails
 * with a negative errno value (-EEXIST: the name is taken). The window shrinks to half until the kernel grants it. */
int hwi_writer_open(struct hwi_writer *writer, const char *path, uint64_t window_bytes, const struct hw_trace_header *header);

/* Unmaps the window; the file stays. */
void hwi_writer_close(struct hwi_writer *writer);

static inline struct hw_trace_header *hwi_writer_header(const struct hwi_writer *writer)
{
  return (struct hw_trace_header *)writer->window;
}

/* A new chunk of `bytes` (whole pages) whose header is `like` with magic, size, place and tag filled in. NULL where the
 * window is full or the disk is; *reason then says which. */
struct hw_chunk_header *hwi_writer_chunk(struct hwi_writer *writer, uint32_t bytes, const struct hw_chunk_header *like,
                                         enum hw_trace_state *reason);

/* The last store to a chunk. Its pages leave this address space. */
void hwi_writer_retire(struct hw_chunk_header *chunk, uint32_t bytes);

#endif
