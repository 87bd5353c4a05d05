/* totals.h - counts the totals of one image, event by event
 *
 * These are the figures of a recording's summary, with as little time and memory as possible: no stacks, no sizes, only
 * which blocks are live. Each figure is the one of the same name in struct hwi_totals.
 */
#ifndef HWI_PROFILE_COUNTERS_TOTALS_H
#define HWI_PROFILE_COUNTERS_TOTALS_H

#include "profile/blocks/blocks.h"
#include "profile/blocks/live.h"
#include "trace/hash_table.h"
#include "trace/read/call_counts.h"
#include "trace/reader.h"

struct hwi_counts {
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls;
  uint64_t allocated_bytes;
  uint64_t peak_bytes, peak_blocks;
  uint64_t live_blocks, live_bytes;
  uint64_t unknown_frees; /* unmatched, or of blocks that were allocated while recording was paused */
  uint64_t missed_frees, inherited_frees;
  uint64_t realloc_calls;  /* each also counts as an allocation and as a free */
  uint64_t sampled_events; /* of a sample: how many events were counted */
};

enum { HWI_BIRTH_ENDED = UINT32_MAX };

struct hwi_counter {
  struct hwi_counts counts;
  struct hwi_blocks blocks; /* the live blocks, except those in `births` */
  struct hwi_block *births; /* of the section, from [1]; `thread` is HWI_BIRTH_ENDED if the block has ended */
  size_t birth_count, birth_room;
  struct hwi_live freed_inherited; /* addresses of blocks that were inherited by a fork and were freed here */
  bool forked;
  const struct hw_trace_header *header;
  uint64_t sample_bytes;    /* of the header: then peak, live and temporary are estimates */
  uint64_t *last_addresses; /* of each thread's latest block, by index */
  size_t thread_count, address_capacity;
  struct hwi_hash_table threads; /* indices plus 1 */
  struct hwi_hash_slot last_thread;
  struct hwi_call_count_list calls; /* of a sample */
};

/* `header` is that of the trace, and must outlive the counter. This function and the next ones return false if there is no memory; the
 * counter must be released even then. */
bool hwi_counter_init(struct hwi_counter *counter, const struct hw_trace_header *header);
void hwi_counter_release(struct hwi_counter *counter);

/* Takes the payload of a COUNTS record: in a sample, all calls are counted there. */
bool hwi_counter_take_calls(struct hwi_counter *counter, const uint8_t *payload, size_t bytes);

/* Counts events in order, as hwi_trace_next returns them. */
bool hwi_counter_add(struct hwi_counter *counter, const struct hwi_event *events, int count);

/* The same if the caller already knows which events of a section are about one block: `births` as in struct
 * hwi_recoded_batch. Within a section, all events must be counted this way. */
bool hwi_counter_add_paired(struct hwi_counter *counter, const struct hwi_event *events, const uint32_t *births,
                            int count);

/* Ends the section; births count from 1 again. `addresses` has those of its births, from [1]. */
bool hwi_counter_end_section(struct hwi_counter *counter, const uint64_t *addresses);

/* For hwi_trace_set_liveness, between sections; `counter` is a struct hwi_counter. */
bool hwi_counter_is_live(void *counter, uint64_t address);

/* Counts a trace from its file. Returns 0, or a negative status that is described in `error`. */
int hwi_count_trace(struct hwi_counts *counts, const char *path, struct hwi_error *error);

#endif
