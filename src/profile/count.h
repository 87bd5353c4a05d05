/* count.h - the totals of one image, event by event
 *
 * What a recording's summary says, in as little time and memory as that takes: no stacks, no sizes, only which blocks live.
 * The figures are those of struct hwi_totals, one by one.
 */
#ifndef HWI_PROFILE_COUNT_H
#define HWI_PROFILE_COUNT_H

#include "profile/blocks.h"
#include "profile/live.h"
#include "trace/numbers.h"
#include "trace/reader.h"

struct hwi_counts {
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls;
  uint64_t allocated_bytes;
  uint64_t peak_bytes, peak_blocks;
  uint64_t live_blocks, live_bytes;
  uint64_t unknown_frees; /* unmatched, or of blocks born while recording was paused */
  uint64_t missed_frees, inherited_frees;
  uint64_t realloc_calls; /* each is one of the allocations and one of the frees */
};

enum { HWI_BIRTH_ENDED = UINT32_MAX };

struct hwi_counter {
  struct hwi_counts counts;
  struct hwi_blocks blocks; /* the live ones, but for those of `births` */
  struct hwi_block *births; /* of the section, from [1]; `thread` is HWI_BIRTH_ENDED where the block is gone */
  size_t birth_count, birth_room, live_births;
  struct hwi_live freed_inherited; /* addresses of blocks that came with a fork and were freed here */
  bool forked;
  uint64_t *last_addresses; /* of each thread's latest block, by index */
  size_t thread_count, address_capacity;
  struct hwi_numbers threads; /* indices plus 1 */
  struct hwi_number_slot last_thread;
};

/* `forked`: the image began with a fork. False: no memory, here and below; the counter is to be released all the same. */
bool hwi_counter_init(struct hwi_counter *counter, bool forked);
void hwi_counter_release(struct hwi_counter *counter);

/* Events in order, as hwi_trace_next has them. */
bool hwi_counter_add(struct hwi_counter *counter, const struct hwi_event *events, int count);

/* The same where somebody knows already which events of a section are about one block: `births` as in struct hwi_recoded_batch.
 * Within a section these are all events. */
bool hwi_counter_add_paired(struct hwi_counter *counter, const struct hwi_event *events, const uint32_t *births,
                            int count);

/* The section ends, and births count from 1 again. `addresses` of its births, from [1]. */
bool hwi_counter_end_section(struct hwi_counter *counter, const uint64_t *addresses);

/* For hwi_trace_set_liveness, between sections; `counter` is a struct hwi_counter. */
bool hwi_counter_is_live(void *counter, uint64_t address);

/* Counts a trace from its file. */
int hwi_count_trace(struct hwi_counts *counts, const char *path, struct hwi_error *error);

#endif
