/* ring.h - bounds the size of a trace that is packed while its program runs: old sections are dropped
 *
 * turn   a base is written for a moment (launch/pack/base.h); then the sections that have only older events are given back to
 *        the file system. A process that reads the trace delays that (trace/read/hold.h), but not for ever.
 * A ring is turned when as many bytes can be dropped as the latest base has, and at least an eighth of what is kept: so half
 * of what is written are bases at most.
 */
#ifndef HWI_LAUNCH_FOLLOW_RING_H
#define HWI_LAUNCH_FOLLOW_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/pack/pack.h"

/* How much is kept of each trace; all zero: everything. */
struct hwi_keep {
  uint64_t bytes; /* of sections */
  uint64_t ns;
  uint64_t unpacked_bytes; /* the most that the program may be ahead of the packer: then it is not recorded any more */
};

struct hwi_ring_section {
  uint64_t off, bytes; /* with its header */
  uint64_t last_tick;
  uint32_t type;
  bool is_empty; /* its contents were given back */
};

/* All zero: nothing is known of the trace. */
struct hwi_ring {
  struct hwi_ring_section *sections; /* in the order of the file */
  size_t count, capacity;
  uint64_t known_off;  /* sections below this offset are known; 0: none */
  uint64_t from_tick;  /* of the latest base; 0: none */
  uint64_t base_bytes; /* of it */
  uint64_t base_off;   /* where it begins */
  bool has_more;       /* sections are to be given back */
  uint64_t blocked_ns; /* when a reader was first found to delay that; 0: none does */
};

/* What a ring works on. */
struct hwi_ring_trace {
  int fd;
  const struct hw_trace_header *header; /* as last read */
  uint64_t *append_off;                 /* where the next section goes; a base moves it */
  bool is_over;                         /* no process writes it any more */
};

void hwi_ring_release(struct hwi_ring *ring);

/* Lets the program write on from where it is: if no packer does this any more, the trace stops growing. */
void hwi_ring_move_limit(const struct hwi_ring_trace *trace, const struct hwi_keep *keep);

/* Turns the ring if that is due. Returns 0; HW_ERR_IO, with errno set; or HW_ERR_MEMORY. On failure the trace is as it
 * was. */
int hwi_ring_work(struct hwi_ring *ring, const struct hwi_ring_trace *trace, const struct hwi_keep *keep,
                  struct hwi_packer *packer);

#endif
