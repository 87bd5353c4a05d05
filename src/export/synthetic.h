/* synthetic.h - a packed trace made by a tool: what other recorders kept, as one stream of events */
#ifndef HWI_EXPORT_SYNTHETIC_H
#define HWI_EXPORT_SYNTHETIC_H

#include <stdbool.h>

#include "launch/pack/section_file.h"
#include "trace/format.h"

enum { HWI_SYNTHETIC_CHUNK_BYTES = 1 << 16 };

/* After the first thing that went wrong, `status` says what, and the rest does nothing. */
struct hwi_synthetic {
  struct hwi_section_file file;
  struct hw_trace_header header;
  struct hw_chunk_header chunk; /* the open one */
  uint8_t *plain;               /* chunks that wait to be packed; the open one is the last */
  size_t plain_bytes;           /* before the open one */
  uint8_t *at;                  /* where its next event goes */
  uint64_t tick;                /* that later events have */
  uint64_t event_tick;          /* of the last event */
  uint64_t address, node_address;
  uint64_t took; /* by later calls, in nanoseconds and 1 more; 0: not known */
  uint32_t node;
  int status;
};

/* The trace goes to `fd`, an empty file. To be ended by hwi_synthetic_end. Ticks are nanoseconds since the start. `is_timed`:
 * calls have durations. */
void hwi_synthetic_begin(struct hwi_synthetic *trace, int fd, bool is_timed);

/* Payloads as src/trace/format.h has them; copied. */
void hwi_synthetic_record(struct hwi_synthetic *trace, enum hw_record_type type, const void *payload, size_t bytes);
void hwi_synthetic_note(struct hwi_synthetic *trace, enum hw_note note, const char *text);
struct hwi_synthetic_module {
  const char *path;
  uint64_t start, end, bias;
  const uint8_t *build_id;
  uint8_t build_id_bytes; /* 0: none */
};
/* Numbers rise from 1. What is given is copied. */
void hwi_synthetic_module(struct hwi_synthetic *trace, uint32_t number, const struct hwi_synthetic_module *module);
/* Numbers rise from 1; `parent` is a smaller one, or 0; `address` as that of struct hwi_node. */
void hwi_synthetic_node(struct hwi_synthetic *trace, uint32_t number, uint32_t parent, uint32_t module,
                        uint64_t address);
/* A stack of which nothing is known but what was called. */
void hwi_synthetic_entry(struct hwi_synthetic *trace, uint32_t number, enum hw_entry entry);

/* Later events have this time, which never falls. */
void hwi_synthetic_time(struct hwi_synthetic *trace, uint64_t ns);
/* Later calls took this long; 0: that is not known. */
void hwi_synthetic_took(struct hwi_synthetic *trace, uint64_t ns);
/* At the address 0 there is no block: what failed, or frees nothing, is left out, and a realloc of it allocates. */
void hwi_synthetic_alloc(struct hwi_synthetic *trace, uint32_t node, uint64_t size, uint64_t address);
void hwi_synthetic_aligned(struct hwi_synthetic *trace, uint32_t node, uint8_t alignment_log2, uint64_t size,
                           uint64_t address);
void hwi_synthetic_free(struct hwi_synthetic *trace, uint64_t address);
void hwi_synthetic_realloc(struct hwi_synthetic *trace, uint32_t node, uint64_t old_address, uint64_t size,
                           uint64_t address);

/* Writes the rest. 0, or the first thing that went wrong (HW_ERR_IO: errno is set). */
int hwi_synthetic_end(struct hwi_synthetic *trace);

#endif
