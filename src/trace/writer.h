/* writer.h - the window of a raw trace: its header, and the chunks cut from it
 *
 * window     the part of the file that the program may write: the header, the tool area and the chunks. It is sparse and as
 *            large as the trace may become; the file's blocks come into being page by page, before anything is
 *            written there.
 * segment    the stretch of the window that is mapped at a time, without access; only chunks in use can be written. So the
 *            program's address space grows by megabytes, not by the trace, and mlockall finds little to lock.
 *
 * Chunks are cut from the window in order by one atomic step and never given back. What lies in the window is only written
 * here, never read back (but for the control word): another process may change it.
 * Async-signal-safe, lock-free, without malloc; after hwi_writer_open, without path or descriptor.
 */
#ifndef HWI_TRACE_WRITER_H
#define HWI_TRACE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

enum { HWI_WRITER_SEGMENTS = 1024 };

struct hwi_segment {
  _Atomic(uint8_t *) start;     /* NULL: not mapped yet, or not any more */
  _Atomic uint64_t given_bytes; /* of it: chunks that are no longer in use, and what was never cut */
};

struct hwi_writer {
  struct hw_trace_header *header; /* NULL: not open */
  uint64_t window_bytes, segment_bytes;
  _Atomic uint64_t next_off; /* where the next chunk begins */
  uint64_t image_tag;
  struct hwi_segment segments[HWI_WRITER_SEGMENTS];
};

/* Creates the file and its header. `header` has what the caller knows; magic, sizes and the window are filled in. Fails
 * with a negative errno value (-EEXIST: the name is taken). */
int hwi_writer_open(struct hwi_writer *writer, const char *path, uint64_t window_bytes,
                    const struct hw_trace_header *header);

/* Unmaps all of the window; the file stays. No other thread may be using it. */
void hwi_writer_close(struct hwi_writer *writer);

/* The same, but for the header, which is the caller's to unmap: HW_TRACE_HEADER_BYTES. */
struct hw_trace_header *hwi_writer_close_chunks(struct hwi_writer *writer);

/* A new chunk of `bytes` (whole pages, at most a segment) whose header is `like` with size, place and tag filled in. It is in
 * the trace once it is published; abandoned before, it is a hole that readers skip. Only its first page may be written yet:
 * *end is the end of that. NULL where the window is full or the disk or the memory is; *reason then says which. */
struct hw_chunk_header *hwi_writer_chunk(struct hwi_writer *writer, uint32_t bytes, const struct hw_chunk_header *like,
                                         uint8_t **end, enum hw_trace_state *reason);

/* Makes the page at *end, which lies within a chunk, one that may be written, and moves *end behind it. False: the disk is full.
 * Page by page, since an event has to wait for it. */
bool hwi_writer_extend(uint8_t **end);

/* Puts a new chunk into the trace. To do it again changes nothing, as long as the chunk is not retired. */
void hwi_writer_publish(struct hw_chunk_header *chunk);

/* The last store to a chunk (of this writer, of this many bytes). Its pages leave this address space. */
void hwi_writer_retire(struct hwi_writer *writer, struct hw_chunk_header *chunk, uint32_t bytes);

#endif
