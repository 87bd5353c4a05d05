/* totals.c - counts the totals of one image, event by event */
#include "profile/counters/totals.h"

#include <stdlib.h>

#include "profile/blocks/sample.h"
#include "profile/counters/base_sums.h"
#include "trace/grow.h"

enum { BATCH_EVENTS = 512 };

bool hwi_counter_init(struct hwi_counter *counter, const struct hw_trace_header *header)
{
  *counter = (struct hwi_counter){
      .forked = header->origin == HW_ORIGIN_FORK, .header = header, .sample_bytes = header->sample_bytes};
  return hwi_live_init(&counter->freed_inherited);
}

void hwi_counter_release(struct hwi_counter *counter)
{
  hwi_blocks_release(&counter->blocks);
  hwi_live_release(&counter->freed_inherited);
  free(counter->births);
  free(counter->last_addresses);
  hwi_hash_table_release(&counter->threads);
  hwi_call_counts_release(&counter->calls);
  *counter = (struct hwi_counter){0};
}

bool hwi_counter_is_live(void *counter, uint64_t address)
{
  struct hwi_counter *c = counter;
  return hwi_blocks_has(&c->blocks, address);
}

/* --- threads --- */

/* Sets last_thread. */
static bool find_thread(struct hwi_counter *c, uint32_t number)
{
  uint32_t index = hwi_hash_table_first(&c->threads, number)->number;
  if (!index) {
    index = (uint32_t)c->thread_count + 1;
    if (c->thread_count >= UINT32_MAX - 1 ||
        !hwi_grow((void **)&c->last_addresses, &c->address_capacity, c->thread_count + 1, sizeof *c->last_addresses) ||
        !hwi_hash_table_add(&c->threads, number, index))
      return false;
    c->thread_count++;
  }
  c->last_thread = (struct hwi_hash_slot){number, index};
  return true;
}

/* --- events --- */

/* Counts a free of an address that is not live. */
static bool add_unknown_free(struct hwi_counter *c, uint64_t address)
{
  struct hwi_live_slot *slot = c->forked ? hwi_live_slot(&c->freed_inherited, address) : NULL;
  if (!slot || slot->address) {
    c->counts.unknown_frees++;
    return true;
  }
  if (!hwi_live_grow(&c->freed_inherited))
    return false;
  hwi_live_slot(&c->freed_inherited, address)->address = address;
  c->freed_inherited.count++;
  c->counts.inherited_frees++;
  return true;
}

static inline void uncount_block(struct hwi_counts *counts, const struct hwi_block *block)
{
  counts->live_bytes -= block->weight * block->size;
  counts->live_blocks -= block->weight;
}

/* Counts the end of the block. */
static void end_block(struct hwi_counter *c, const struct hwi_block *block, const struct hwi_event *event)
{
  const bool is_latest = c->last_addresses[block->thread] == event->address;
  const bool is_temporary = c->sample_bytes ? event->temporary : is_latest;
  c->counts.temporary_calls += is_temporary ? block->weight : 0;
  uncount_block(&c->counts, block);
}

static bool add_free(struct hwi_counter *c, const struct hwi_event *event)
{
  c->counts.free_calls += !c->sample_bytes;
  const struct hwi_block *block = hwi_blocks_take(&c->blocks, event->address);
  if (!block)
    return add_unknown_free(c, event->address);
  end_block(c, block, event);
  return true;
}

/* Counts the end of a block whose free was missed. */
static void end_missed(struct hwi_counter *c, const struct hwi_block *block)
{
  c->counts.missed_frees++;
  uncount_block(&c->counts, block);
}

static inline struct hwi_block block_of(const struct hwi_counter *c, const struct hwi_event *event)
{
  struct hwi_block block = {event->size, c->last_thread.number - 1, 1};
  if (c->sample_bytes)
    block.weight = hwi_sample_weight(c->header, &(struct hwi_sample_birth){event->size, event->tick, event->address});
  return block;
}

static inline void count_birth(struct hwi_counter *c, const struct hwi_event *event, uint32_t weight)
{
  struct hwi_counts *counts = &c->counts;
  c->last_addresses[c->last_thread.number - 1] = event->address;
  counts->realloc_calls += event->moved;
  if (!c->sample_bytes) {
    counts->allocation_calls++;
    counts->allocated_bytes += event->size;
  }
  counts->live_bytes += weight * event->size;
  counts->live_blocks += weight;
  if (counts->live_bytes > counts->peak_bytes) {
    counts->peak_bytes = counts->live_bytes;
    counts->peak_blocks = counts->live_blocks;
  }
}

static inline bool know_thread(struct hwi_counter *c, uint32_t number)
{
  return (c->last_thread.number && c->last_thread.tag == number) || find_thread(c, number);
}

static bool add_alloc(struct hwi_counter *c, const struct hwi_event *event)
{
  if (!know_thread(c, event->thread))
    return false;
  const struct hwi_block *replaced, block = block_of(c, event);
  if (!hwi_blocks_put(&c->blocks, event->address, &block, &replaced))
    return false;
  if (replaced)
    end_missed(c, replaced);
  count_birth(c, event, block.weight);
  return true;
}

/* How many events a packer counts: a realloc is one. */
static void count_sampled(struct hwi_counter *c, const struct hwi_event *events, int count)
{
  for (int i = 0; i < count && c->sample_bytes; i++)
    c->counts.sampled_events += !(events[i].moved && events[i].kind == HWI_EVENT_FREE);
}

bool hwi_counter_add(struct hwi_counter *c, const struct hwi_event *events, int count)
{
  bool done = true;
  for (int i = 0; i < count && done; i++) {
    if (events[i].kind == HWI_EVENT_FREE)
      done = add_free(c, &events[i]);
    else if (events[i].kind == HWI_EVENT_ALLOC)
      done = add_alloc(c, &events[i]);
    else
      c->counts.failed_calls += events[i].kind == HWI_EVENT_FAILED;
  }
  count_sampled(c, events, count);
  return done;
}

/* --- events of a section --- */

/* Returns the birth's block, or NULL if it has ended. */
static inline struct hwi_block *live_birth(const struct hwi_counter *c, uint32_t birth)
{
  return birth && c->births[birth].thread != HWI_BIRTH_ENDED ? &c->births[birth] : NULL;
}

/* A block from before the section is looked up only at the first event of its address in the section. */
static inline bool add_paired_free(struct hwi_counter *c, const struct hwi_event *event, uint32_t birth)
{
  if (!birth)
    return add_free(c, event);
  c->counts.free_calls += !c->sample_bytes;
  struct hwi_block *block = live_birth(c, birth);
  if (!block)
    return add_unknown_free(c, event->address);
  end_block(c, block, event);
  block->thread = HWI_BIRTH_ENDED;
  return true;
}

static inline bool add_paired_alloc(struct hwi_counter *c, const struct hwi_event *event, uint32_t birth)
{
  if (!know_thread(c, event->thread))
    return false;
  struct hwi_block *before = live_birth(c, birth);
  const struct hwi_block *older = birth ? NULL : hwi_blocks_take(&c->blocks, event->address);
  if (before || older)
    end_missed(c, before ? before : older);
  if (before)
    before->thread = HWI_BIRTH_ENDED;
  const struct hwi_block block = block_of(c, event);
  c->births[c->birth_count++] = block;
  count_birth(c, event, block.weight);
  return true;
}

/* Births are numbered from 1. */
static bool make_room_for_births(struct hwi_counter *c, int more)
{
  c->birth_count += !c->birth_count;
  return hwi_grow((void **)&c->births, &c->birth_room, c->birth_count + (size_t)more, sizeof *c->births);
}

bool hwi_counter_add_paired(struct hwi_counter *c, const struct hwi_event *events, const uint32_t *births, int count)
{
  bool done = make_room_for_births(c, count);
  for (int i = 0; i < count && done; i++) {
    if (events[i].kind == HWI_EVENT_FREE)
      done = add_paired_free(c, &events[i], births[i]);
    else if (events[i].kind == HWI_EVENT_ALLOC)
      done = add_paired_alloc(c, &events[i], births[i]);
    else
      c->counts.failed_calls += events[i].kind == HWI_EVENT_FAILED;
  }
  count_sampled(c, events, count);
  return done;
}

bool hwi_counter_end_section(struct hwi_counter *c, const uint64_t *addresses)
{
  const struct hwi_block *replaced;
  bool done = true;
  for (size_t i = 1; i < c->birth_count && done; i++)
    if (c->births[i].thread != HWI_BIRTH_ENDED)
      done = hwi_blocks_put(&c->blocks, addresses[i], &c->births[i], &replaced);
  c->birth_count = 0;
  return done;
}

/* --- all calls, in a sample --- */

static void add_calls(struct hwi_counts *sum, const struct hwi_chunk_counts *more)
{
  sum->allocation_calls += more->counts[HW_COUNT_ALLOCATIONS];
  sum->allocated_bytes += more->counts[HW_COUNT_BYTES];
  sum->free_calls += more->counts[HW_COUNT_FREES];
}

bool hwi_counter_take_calls(struct hwi_counter *c, const uint8_t *payload, size_t bytes)
{
  struct hwi_chunk_counts more;
  if (!hwi_call_counts_take(&c->calls, payload, bytes, &more))
    return false;
  if (c->sample_bytes)
    add_calls(&c->counts, &more);
  return true;
}

/* --- from a file --- */

static int count_open_trace(struct hwi_counter *counter, struct hwi_trace *trace, struct hwi_error *error)
{
  struct hwi_event *events = malloc(BATCH_EVENTS * sizeof *events);
  bool ready = hwi_counter_init(counter, &hwi_trace_info(trace)->header) && events;
  int count = 1;
  hwi_trace_set_liveness(trace, hwi_counter_is_live, counter);
  while (ready && count > 0) {
    count = hwi_trace_next(trace, events, BATCH_EVENTS, error);
    ready = count <= 0 || hwi_counter_add(counter, events, count);
  }
  const struct hwi_chunk_counts *chunks;
  for (size_t i = counter->sample_bytes ? hwi_trace_call_counts(trace, &chunks) : 0; i-- > 0;)
    add_calls(&counter->counts, &chunks[i]);
  free(events);
  return ready ? count : hwi_error_set(error, HW_ERR_MEMORY, "no memory to count the totals of the recording");
}

/* Of a sample, the calls that were dropped are counted with all others. */
static void add_base(struct hwi_counts *counts, const struct hwi_base *base, bool is_sample)
{
  struct hwi_totals sums = {0};
  hwi_base_add_to_totals(base, &sums);
  if (!is_sample) {
    counts->allocation_calls += sums.allocation_calls;
    counts->allocated_bytes += sums.allocated_bytes;
    counts->free_calls += sums.free_calls;
  }
  counts->temporary_calls += sums.temporary_calls;
  counts->failed_calls += sums.failed_calls;
  counts->missed_frees += sums.missed_frees;
  counts->inherited_frees += sums.inherited_frees;
  counts->unknown_frees += sums.unmatched_frees;
  if (base->about.peak_bytes > counts->peak_bytes) {
    counts->peak_bytes = base->about.peak_bytes;
    counts->peak_blocks = base->about.peak_blocks;
  }
}

int hwi_count_trace(struct hwi_counts *counts, const char *path, struct hwi_error *error)
{
  struct hwi_trace *trace;
  struct hwi_counter counter;
  int status = hwi_trace_open(&trace, path, error);
  if (status < 0)
    return status;
  status = count_open_trace(&counter, trace, error);
  *counts = counter.counts;
  if (hwi_trace_base(trace))
    add_base(counts, hwi_trace_base(trace), counter.sample_bytes);
  hwi_counter_release(&counter);
  hwi_trace_close(trace);
  return status;
}
