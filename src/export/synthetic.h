/* synthetic.h - makes a packed trace from another recorder's data, as one stream of events */
#ifndef HWI_EXPORT_SYNTHETIC_H
#define HWI_EXPORT_SYNTHETIC_H

#include <stdbool.h>

#include "launch/pack/section_file.h"
#include "trace/format.h"
#include "trace/reader.h"

enum { HWI_SYNTHETIC_CHUNK_BYTES = 1 << 16 };

/* After the first error, `status` has the error, and all later calls do nothing. */
struct hwi_synthetic {
  struct hwi_section_file file;
  struct hw_trace_header header;
  struct hw_chunk_header chunk; /* the open one */
  uint8_t *plain;               /* chunks to be packed; the open one is the last */
  size_t plain_bytes;           /* before the open one */
  uint8_t *at;                  /* where the next event is written */
  uint64_t tick;                /* of later events */
  uint64_t event_tick;          /* of the last event */
  uint64_t address, node_address;
  uint64_t took; /* duration of later calls in nanoseconds, plus 1; 0: unknown */
  uint32_t node;
  int status;
};

/* Begins a trace in `fd`, an empty file. End it with hwi_synthetic_end. Ticks are nanoseconds since the start.
 * `is_timed`: calls have durations. */
void hwi_synthetic_begin(struct hwi_synthetic *trace, int fd, bool is_timed);

/* Adds a record. The payload is as in src/trace/format.h, and is copied. */
void hwi_synthetic_record(struct hwi_synthetic *trace, enum hw_record_type type, const void *payload, size_t bytes);
void hwi_synthetic_note(struct hwi_synthetic *trace, enum hw_note note, const char *text);
struct hwi_synthetic_module {
  const char *path;
  uint64_t start, end, bias;
  const uint8_t *build_id;
  uint8_t build_id_bytes; /* 0: none */
};
/* Adds a module. Numbers increase from 1. The argument is copied. */
void hwi_synthetic_module(struct hwi_synthetic *trace, uint32_t number, const struct hwi_synthetic_module *module);
/* Adds a node. Numbers increase from 1; its parent is a smaller number or 0. */
void hwi_synthetic_node(struct hwi_synthetic *trace, uint32_t number, const struct hwi_node *node);
/* Adds a stack of which only the called function is known. */
void hwi_synthetic_entry(struct hwi_synthetic *trace, uint32_t number, enum hw_entry entry);

/* Sets the time of later events, which never decreases. */
void hwi_synthetic_time(struct hwi_synthetic *trace, uint64_t ns);
/* Sets the duration of later calls; 0: unknown. */
void hwi_synthetic_took(struct hwi_synthetic *trace, uint64_t ns);
/* The address 0 is no block: failed allocations and frees of it are left out, and a realloc of it allocates. */
void hwi_synthetic_alloc(struct hwi_synthetic *trace, uint32_t node, uint64_t size, uint64_t address);
void hwi_synthetic_aligned(struct hwi_synthetic *trace, uint32_t node, uint8_t alignment_log2, uint64_t size,
                           uint64_t address);
void hwi_synthetic_free(struct hwi_synthetic *trace, uint64_t address);
void hwi_synthetic_realloc(struct hwi_synthetic *trace, uint32_t node, uint64_t old_address, uint64_t size,
                           uint64_t address);

/* Writes the rest. Returns 0 or the first error (HW_ERR_IO: errno is set). */
int hwi_synthetic_end(struct hwi_synthetic *trace);

#endif
