/* writer.h - the window of a raw trace: its header, and the chunks cut from it
 *
 * window     the part of the file that the program may write: the header, the tool area and the chunks. It is sparse
 *            and as large as the trace may become; the file's blocks are allocated page by page, before anything is
 *            written there.
 * segment    the part of the window that is mapped at one time. It is mapped without access; only chunks in use are
 *            writable. So the program's address space grows by megabytes, not by the size of the trace, and mlockall
 *            locks little. The address space of one more segment is held, so that recording goes on when the program
 *            has used up all there is, unless a thread keeps an older segment then.
 *
 * Chunks are taken from the window in order by one atomic operation and never given back. The target only writes the
 * window and never reads it (except for the control word and the limit), since another process may change it.
 * Async-signal-safe, lock-free, without malloc; after hwi_writer_open it uses neither a path nor a descriptor.
 */
#ifndef HWI_TRACE_WRITER_H
#define HWI_TRACE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

enum { HWI_WRITER_SEGMENTS = 2048 };

struct hwi_segment {
  _Atomic(uint8_t *) start;     /* NULL: not mapped yet */
  _Atomic uint64_t given_bytes; /* of the segment: retired chunks, and bytes that were never in a chunk */
};

struct hwi_writer {
  struct hw_trace_header *header; /* NULL: not open */
  uint64_t window_bytes, segment_bytes;
  _Atomic uint64_t next_off; /* where the next chunk begins */
  _Atomic(uint8_t *) spare;  /* the range for the next segment, without access; NULL: none */
  uint64_t image_tag;
  struct hwi_segment segments[HWI_WRITER_SEGMENTS];
};

/* Creates the file and its header. `header` has the caller's fields; magic, sizes and the window are filled in. Returns
 * 0, or a negative errno value (-EEXIST: the name is taken). */
int hwi_writer_open(struct hwi_writer *writer, const char *path, uint64_t window_bytes,
                    const struct hw_trace_header *header);

/* Unmaps all of the window; the file stays. No other thread may be using it. */
void hwi_writer_close(struct hwi_writer *writer);

/* Unmaps all of the window except the header and returns the header. The caller unmaps its HW_TRACE_HEADER_BYTES. */
struct hw_trace_header *hwi_writer_close_chunks(struct hwi_writer *writer);

/* Returns a new chunk of `bytes` (whole pages, at most a segment), whose header is `like` with size, offset and tag
 * filled in. The chunk is part of the trace once it is published; if it is never published, it is a hole that readers
 * skip. At first, only its first page is writable: *end is the end of that page. Returns NULL if the window or the disk
 * is full, or there is no memory; *reason then says which. */
struct hw_chunk_header *hwi_writer_chunk(struct hwi_writer *writer, uint32_t bytes, const struct hw_chunk_header *like,
                                         uint8_t **end, enum hw_trace_state *reason);

/* Makes the page at *end, which is within a chunk, writable, and moves *end to its end. Returns false if the disk is
 * full. It is done page by page, since an event has to wait for it. */
bool hwi_writer_extend(uint8_t **end);

/* Adds a new chunk to the trace. Calling it again has no effect, as long as the chunk is not retired. */
void hwi_writer_publish(struct hw_chunk_header *chunk);

/* Does the last store to a chunk of this writer and unmaps its `bytes` bytes. */
void hwi_writer_retire(struct hwi_writer *writer, struct hw_chunk_header *chunk, uint32_t bytes);

#endif
