/* tally.h - the counters of a replay
 *
 * cell    what one thread in one path of scopes allocated from one stack in one size, requested and usable: the finest
 *         counter. All figures
 *         that can be added (calls, bytes, live, at the peak) are counted here only, and are summed at the end by
 *         stack, by size, by thread, or by pairs of these.
 * tally   counters of a stack, size or thread that cannot be added: its own maximum, and figures that depend on the
 *         order of events.
 * peak    the state of the cells when most bytes were live, found in one pass. A cell stores the generation of the peak
 *         at which it was last settled. When it is changed for the first time after a new peak, its count of live
 *         blocks is still the one at the peak, and is saved. Cells that were not changed since then are settled at the
 *         end.
 */
#ifndef HWI_PROFILE_COUNTERS_TALLY_H
#define HWI_PROFILE_COUNTERS_TALLY_H

#include "profile/blocks/resolve.h"
#include "profile/counters/annotations.h"
#include "profile/counters/growth.h"
#include "profile/counters/handovers.h"
#include "profile/counters/heaps.h"
#include "profile/counters/resizes.h"
#include "profile/counters/scopes.h"
#include "profile/counters/sweeps.h"
#include "trace/grow.h"
#include "trace/hash_table.h"

/* --- which counters have changed --- */

enum { HWI_TOUCHED_WORD_BITS = 64 };

/* All zero: changes are not recorded. */
struct hwi_touched {
  uint64_t *words;
  size_t capacity;
};

static inline void hwi_touched_release(struct hwi_touched *touched)
{
  free(touched->words);
  *touched = (struct hwi_touched){0};
}

/* From now on, changes of numbers below `count` are recorded. Returns false if there is no memory. */
static inline bool hwi_touched_cover(struct hwi_touched *touched, size_t count)
{
  return hwi_grow((void **)&touched->words, &touched->capacity, count / HWI_TOUCHED_WORD_BITS + 1,
                  sizeof *touched->words);
}

static inline void hwi_touch(struct hwi_touched *touched, uint32_t number)
{
  if (touched->words)
    touched->words[number / HWI_TOUCHED_WORD_BITS] |= UINT64_C(1) << number % HWI_TOUCHED_WORD_BITS;
}

/* Clears the bit of the next changed number from *at on and returns the number; *at moves on, so that the search can
 * continue. Returns 0 if there is none; 0 is not a valid number. */
static inline uint32_t hwi_touched_take(struct hwi_touched *touched, size_t *at)
{
  for (; *at < touched->capacity; ++*at) {
    uint64_t word = touched->words[*at];
    if (!word)
      continue;
    touched->words[*at] = word & (word - 1);
    return (uint32_t)(*at * HWI_TOUCHED_WORD_BITS) + (uint32_t)__builtin_ctzll(word);
  }
  return 0;
}

/* --- counters --- */

struct hwi_cell {
  uint64_t size, usable;   /* of each block; usable: 0 if not recorded */
  uint32_t context, stack; /* context: of scopes.h; without scopes, the thread */
  uint64_t calls, temporary_calls;
  uint64_t live, peak_live; /* blocks. peak_live is valid if generation is the tally's */
  uint32_t generation;
  uint32_t size_number;
};

struct hwi_stack_tally {
  uint64_t live_bytes, own_peak_bytes;
  struct hwi_growth growth;
  uint64_t ended[HWI_LIFETIMES_ENDED]; /* blocks that were freed */
  uint64_t first_ns, last_ns;
  uint64_t failed_calls, missed_frees;
  uint32_t frame;
  bool called;                /* first_ns is known */
  uint32_t last_cell;         /* of its latest allocation: usually also that of the next one */
  struct hwi_frame innermost; /* the frame itself */
  struct hwi_sweeps sweeps;
};

struct hwi_size_tally {
  uint64_t size;
  uint64_t live, own_peak; /* blocks */
};

struct hwi_thread_tally {
  uint64_t last_address; /* of its latest allocation */
  uint64_t live_bytes, own_peak_bytes;
  uint64_t free_calls, foreign_frees, failed_calls;
  uint64_t first_ns; /* of its first event */
  uint64_t late_allocation_calls, late_free_calls;
  uint32_t image, number;
  uint32_t sweep;       /* ID of the sequence of frees since its latest allocation; 0: none */
  uint32_t newest_cell; /* of the block that its latest event allocated; 0: that event allocated none */
  uint32_t moving_cell; /* of the block that a realloc has ended, and whose new block is still to come. 0: none */
  uint64_t moving_address;
  struct hwi_call_counts calls; /* of a sample: all calls of the thread */
};

/* Cells, stacks and sizes are numbered from 1, threads from 0. They move when new ones come. */
struct hwi_tally {
  struct hwi_cell *cells; /* a list of table.h, as are the stacks */
  size_t cell_capacity;
  uint32_t cell_count;
  uint64_t *ended; /* of each cell: blocks that were live when their image ended, before the run did */
  size_t ended_capacity;
  uint64_t *before; /* of each cell: blocks that were live when counting restarted */
  size_t before_capacity;
  struct hwi_hash_table cell_numbers;
  /* all cells, stacks and threads that are still to come are known, and have numbers after those that count */
  bool complete;
  struct hwi_stack_tally *stacks;
  size_t stack_count, stack_capacity;
  struct hwi_size_tally *sizes;
  size_t size_count, size_capacity;
  struct hwi_hash_table size_numbers;
  struct hwi_thread_tally *threads;
  size_t thread_count, thread_capacity;
  struct hwi_scopes *scopes;           /* NULL: no thread has been in a scope so far */
  bool wants_instance_details;         /* see hwi_scopes_want_details */
  struct hwi_annotations *annotations; /* NULL: no mark and no counter so far */
  struct hwi_heap_tally *heaps;        /* NULL: no heap of the program's own so far */
  uint32_t generation;                 /* grows with every new peak of the run */
  uint32_t last_sweep;
  struct hwi_resize_tally resizes;
  struct hwi_handover_tally handovers;
  struct hwi_touched touched_cells, touched_stacks; /* of stacks: for changes that their cells do not show */
};

/* Returns false if there is no memory, as do the other functions below that return a bool. */
bool hwi_tally_init(struct hwi_tally *tally);
void hwi_tally_release(struct hwi_tally *tally);

/* Releases what only searches need: nothing is searched for any more. */
void hwi_tally_freeze(struct hwi_tally *tally);

/* Releases the tallies of the stacks, which are no longer needed; the number of stacks stays. */
void hwi_tally_drop_stacks(struct hwi_tally *tally);
/* The same of the cells. */
void hwi_tally_drop_cells(struct hwi_tally *tally);

static inline struct hwi_cell *hwi_tally_cell(const struct hwi_tally *tally, uint32_t number)
{
  return &tally->cells[number];
}

/* Returns the context that the thread is in. */
static inline uint32_t hwi_tally_context(const struct hwi_tally *tally, uint32_t thread)
{
  return __builtin_expect(tally->scopes != NULL, 0) ? hwi_scopes_context(tally->scopes, thread) : thread;
}

/* Returns the thread of a cell. */
static inline uint32_t hwi_tally_thread_of(const struct hwi_tally *tally, const struct hwi_cell *cell)
{
  return __builtin_expect(tally->scopes != NULL, 0) ? hwi_scopes_context_at(tally->scopes, cell->context).thread
                                                    : cell->context;
}

/* Returns the cell's number; a new cell is made if there is none. Returns 0 if there is no memory, or if a complete
 * tally has no such cell. */
uint32_t hwi_tally_look_for_cell(struct hwi_tally *tally, uint32_t context, uint32_t stack, uint64_t size,
                                 uint64_t usable);

/* The same; usually it is the cell of the stack's latest allocation. */
static inline uint32_t hwi_tally_find_cell(struct hwi_tally *tally, uint32_t context, uint32_t stack, uint64_t size,
                                           uint64_t usable)
{
  const uint32_t last = tally->stacks[stack].last_cell;
  const struct hwi_cell *cell = last ? hwi_tally_cell(tally, last) : NULL;
  if (cell && cell->size == size && cell->context == context && cell->usable == usable)
    return last;
  return hwi_tally_look_for_cell(tally, context, stack, size, usable);
}

/* In a tally without cells: makes the cells [1, count), all zero; and likewise for stacks. Returns false if there is no
 * memory. */
bool hwi_tally_make_cells(struct hwi_tally *tally, uint32_t count);
bool hwi_tally_make_stacks(struct hwi_tally *tally, uint32_t count);

/* In a complete tally: makes the cell known, since a later event may be about it. Returns false if there is no
 * memory. */
bool hwi_tally_know_cell(struct hwi_tally *tally, uint32_t number);

/* Adds counters for a stack or a thread (from 0) that an event is the first to name. In a complete tally the counters
 * exist already, and only become part of those that count. Returns false if there is no memory. */
bool hwi_tally_add_stack(struct hwi_tally *tally, uint32_t number, const struct hwi_new_stack *stack);
bool hwi_tally_add_thread(struct hwi_tally *tally, uint32_t number, const struct hwi_new_thread *thread);

/* Returns an ID for a sequence of frees. */
static inline uint32_t hwi_tally_next_sweep(struct hwi_tally *tally)
{
  tally->last_sweep += tally->last_sweep < UINT32_MAX ? 1 : 2; /* 0 is none */
  return tally->last_sweep;
}

/* To be called before any change of cell->live. */
static inline void hwi_tally_settle(const struct hwi_tally *tally, struct hwi_cell *cell)
{
  if (cell->generation != tally->generation) {
    cell->peak_live = cell->live;
    cell->generation = tally->generation;
  }
}

/* To be called when the run has more live bytes than ever before, and all cells are up to date. */
void hwi_tally_new_peak(struct hwi_tally *tally);

/* Blocks of the cell that were live at the end of their images. */
static inline uint64_t hwi_tally_live_at_end(const struct hwi_tally *tally, uint32_t number)
{
  return hwi_tally_cell(tally, number)->live + (number < tally->ended_capacity ? tally->ended[number] : 0);
}

/* Restarts counting, at the start of a span: the live blocks stay, and are the first peak. Returns false if there is no
 * memory. */
bool hwi_tally_restart(struct hwi_tally *tally);

/* Blocks of the cell that were live then; 0 if counting was never restarted. */
static inline uint64_t hwi_tally_live_at_start(const struct hwi_tally *tally, uint32_t number)
{
  return number < tally->before_capacity ? tally->before[number] : 0;
}

/* At the end: peak_live of all cells becomes valid. */
void hwi_tally_settle_all(struct hwi_tally *tally);

#endif
