/* encoder.h - writes traces for the tests, from format.h alone: it shares nothing with the recorder's writer
 *
 * Streams are encoded in memory and put into a file in one go, raw or (codec 0) packed.
 */
#ifndef HWI_TESTS_TRACE_ENCODER_H
#define HWI_TESTS_TRACE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

enum { ENC_MAX_CHUNKS = 256 };

struct enc_slot { /* an allocation */
  uint32_t node;
  uint64_t size, usable, address;
};

struct enc_heap_event { /* of a heap of the program's own; what its op does not have is not written */
  enum hw_heap_op op;
  uint32_t heap, name, node;
  uint64_t size, address;
};

struct enc_chunk {
  struct hw_chunk_header header;
  uint8_t *bytes;
  size_t count, capacity;
  uint64_t tick, address, node_address; /* after the last event */
  uint32_t node;                        /* of the last NODE */
  uint64_t took;                        /* of each event, if the header has HW_FIELD_DURATION; as in the file */
  struct enc_slot slots[HW_RECENT_SLOTS];
  bool in_raw, in_packed; /* where the chunk is written; a raw file may hold both */
};

struct enc {
  struct hw_trace_header header;
  struct enc_chunk chunks[ENC_MAX_CHUNKS];
  int chunk_count;
  int chunks_a_section; /* at most this many consecutive chunks of a stream in one section; 0: 1 */
  uint8_t tool[4096];
  size_t tool_bytes;
  uint8_t base[4096]; /* of a BASE section, after the sections; chunks of HW_BASE_STREAM become LEFT sections */
  size_t base_bytes;  /* 0: there is none */
  uint64_t base_tick;
};

/* A raw trace of pid 100, which has ended, with ticks of 1 ns from 1,000,000 on, a run ID of only 7s and an image ID of
 * only `image`. The start of pid 100 is known: otherwise it would be searched for among all processes, which takes
 * long. */
void enc_init(struct enc *enc, uint8_t image);
void enc_release(struct enc *enc);

/* Begins a new chunk. Returns its number, for later calls. */
int enc_chunk(struct enc *enc, uint32_t stream, uint32_t sequence, uint32_t thread, uint64_t base_tick);

void enc_alloc(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint64_t address);
void enc_alloc_usable(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint64_t usable,
                      uint64_t address); /* the chunk's header has HW_FIELD_USABLE */
void enc_aligned(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint8_t align_log2,
                 uint64_t address);
void enc_free(struct enc *enc, int chunk, uint64_t tick, uint64_t address);
void enc_free_via(struct enc *enc, int chunk, uint64_t tick, uint8_t entry, uint64_t address);
void enc_delete(struct enc *enc, int chunk, uint64_t tick, uint64_t address);
void enc_realloc(struct enc *enc, int chunk, uint64_t tick, uint64_t ticks, uint32_t node, uint64_t old, uint64_t size,
                 uint64_t address);
void enc_failed(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint8_t align_log2);
void enc_scope(struct enc *enc, int chunk, uint64_t tick, enum hw_scope_op op, uint64_t name, uint64_t value);
void enc_heap(struct enc *enc, int chunk, uint64_t tick, const struct enc_heap_event *event);
void enc_heap_in_part(struct enc *enc, int chunk, uint64_t tick, uint8_t tick_part, const struct enc_heap_event *event);
void enc_name(struct enc *enc, int chunk, uint8_t number, const char *name); /* of scopes and heaps; number below 128 */
void enc_node(struct enc *enc, int chunk, uint32_t number, uint32_t parent, uint32_t module, uint8_t entry,
              uint64_t address);
void enc_record(struct enc *enc, int chunk, uint8_t type, const void *payload, size_t bytes);
void enc_module(struct enc *enc, int chunk, uint32_t number, uint64_t start, uint64_t bytes, uint64_t bias,
                const char *build_id, const char *path);
/* Writes module 1, /bin/main at 0x400000, and nodes in it: node 1, and its child node 2, which has malloc's entry. */
void enc_main(struct enc *enc, int chunk);
void enc_thread(struct enc *enc, int chunk, uint32_t number, uint32_t tid, const char *name);
void enc_tool(struct enc *enc, uint32_t type, uint64_t monotonic_ns, const void *payload, uint32_t bytes);

/* Returns the whole file; malloc'd. header.kind selects raw (chunks in the window, those with in_packed after it) or
 * packed. */
uint8_t *enc_file(const struct enc *enc, size_t *bytes);
void enc_write(const struct enc *enc, const char *path);

#endif
