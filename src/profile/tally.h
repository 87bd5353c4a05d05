/* tally.h - the counters of a replay
 *
 * cell    what one thread allocated from one stack in one size, requested and usable: the finest grain. Everything that adds
 *         up (calls, bytes, live, at the peak) is counted here alone and summed at the end by stack, by size, by thread, or by
 *         pairs of them.
 * tally   of a stack, size or thread: what does not add up, which is its own maximum, or hangs on the order of events.
 * peak    the cells as they were when most bytes were live, in one pass: a cell notes the generation of the peak at which it
 *         was last settled. When it is touched for the first time after a new peak, its count of live blocks is still that
 *         of the peak, and is kept. What was not touched since is settled at the end.
 */
#ifndef HWI_PROFILE_TALLY_H
#define HWI_PROFILE_TALLY_H

#include "profile/growth.h"
#include "profile/handovers.h"
#include "profile/resizes.h"
#include "profile/resolve.h"
#include "profile/sweeps.h"
#include "profile/tagged.h"
#include "profile/touched.h"

struct hwi_cell {
  uint64_t size, usable; /* of each block; usable: 0 where not recorded */
  uint32_t thread, stack;
  uint64_t calls, temporary_calls;
  uint64_t live, peak_live; /* blocks. peak_live is valid where generation is the tally's */
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
  uint32_t last_cell;         /* of its latest allocation: mostly that of the next one */
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
  uint32_t sweep;       /* the frees since its latest allocation, by their number; 0: none */
  uint32_t newest_cell; /* of the block that its latest event gave out; 0: that gave out none */
  uint32_t moving_cell; /* of the block that a realloc has ended; its new one is to come. 0: none */
  uint64_t moving_address;
};

/* Cells, stacks and sizes are numbered from 1, threads from 0. They move when new ones come. */
struct hwi_tally {
  struct hwi_cell *cells; /* a list of table.h, as are the stacks */
  size_t cell_capacity;
  uint32_t cell_count;
  uint64_t *ended; /* of each cell: blocks that were live when their image ended, before the run did */
  size_t ended_capacity;
  uint64_t *before; /* of each cell: blocks that were live when counting began anew */
  size_t before_capacity;
  struct hwi_tagged cell_numbers;
  bool
      complete; /* all cells, stacks and threads that are still to come lie behind those that count, and no others do */
  struct hwi_stack_tally *stacks;
  size_t stack_count, stack_capacity;
  struct hwi_size_tally *sizes;
  size_t size_count, size_capacity;
  struct hwi_tagged size_numbers;
  struct hwi_thread_tally *threads;
  size_t thread_count, thread_capacity;
  uint32_t generation; /* grows with every new peak of the run */
  uint32_t last_sweep;
  struct hwi_resize_tally resizes;
  struct hwi_handover_tally handovers;
  struct hwi_touched touched_cells, touched_stacks; /* of stacks: what their cells do not tell */
};

bool hwi_tally_init(struct hwi_tally *tally); /* false: no memory, here and below */
void hwi_tally_release(struct hwi_tally *tally);

/* Nothing is looked for any more: gives back what that took. */
void hwi_tally_freeze(struct hwi_tally *tally);

/* What the stacks were tallied for is done; their number stays. */
void hwi_tally_drop_stacks(struct hwi_tally *tally);
/* The same of the cells. */
void hwi_tally_drop_cells(struct hwi_tally *tally);

static inline struct hwi_cell *hwi_tally_cell(const struct hwi_tally *tally, uint32_t number)
{
  return &tally->cells[number];
}

/* The cell's number, made where there is none; 0: no memory, or there is none in a complete tally. */
uint32_t hwi_tally_look_for_cell(struct hwi_tally *tally, uint32_t thread, uint32_t stack, uint64_t size,
                                 uint64_t usable);

/* The same; mostly it is that of the stack's latest allocation again. */
static inline uint32_t hwi_tally_find_cell(struct hwi_tally *tally, uint32_t thread, uint32_t stack, uint64_t size,
                                           uint64_t usable)
{
  const uint32_t last = tally->stacks[stack].last_cell;
  const struct hwi_cell *cell = last ? hwi_tally_cell(tally, last) : NULL;
  if (cell && cell->size == size && cell->thread == thread && cell->usable == usable)
    return last;
  return hwi_tally_look_for_cell(tally, thread, stack, size, usable);
}

/* In a tally without cells: the cells [1, count), all zero; likewise stacks. False: no memory. */
bool hwi_tally_make_cells(struct hwi_tally *tally, uint32_t count);
bool hwi_tally_make_stacks(struct hwi_tally *tally, uint32_t count);

/* In a complete tally: an event to come may be about the cell. False: no memory. */
bool hwi_tally_know_cell(struct hwi_tally *tally, uint32_t number);

/* What an event is the first to name is there to be counted: a stack, a thread (from 0). In a complete tally it is there, and
 * only becomes part of what counts. False: no memory. */
bool hwi_tally_add_stack(struct hwi_tally *tally, uint32_t number, const struct hwi_new_stack *stack);
bool hwi_tally_add_thread(struct hwi_tally *tally, uint32_t number, const struct hwi_new_thread *thread);

/* A number for frees that follow each other. */
static inline uint32_t hwi_tally_next_sweep(struct hwi_tally *tally)
{
  tally->last_sweep += tally->last_sweep < UINT32_MAX ? 1 : 2; /* 0 is none */
  return tally->last_sweep;
}

/* Before any change of cell->live. */
static inline void hwi_tally_settle(const struct hwi_tally *tally, struct hwi_cell *cell)
{
  if (cell->generation != tally->generation) {
    cell->peak_live = cell->live;
    cell->generation = tally->generation;
  }
}

/* The run has more live bytes than ever, all cells up to date. */
void hwi_tally_new_peak(struct hwi_tally *tally);

/* Blocks of the cell that were live at the end of their images. */
static inline uint64_t hwi_tally_live_at_end(const struct hwi_tally *tally, uint32_t number)
{
  return hwi_tally_cell(tally, number)->live + (number < tally->ended_capacity ? tally->ended[number] : 0);
}

/* Counting begins anew, at the start of a span: what is live stays, and is the first peak. False: no memory. */
bool hwi_tally_restart(struct hwi_tally *tally);

/* Blocks of the cell that were live then; 0 where counting never began anew. */
static inline uint64_t hwi_tally_live_at_start(const struct hwi_tally *tally, uint32_t number)
{
  return number < tally->before_capacity ? tally->before[number] : 0;
}

/* At the end: peak_live of all cells becomes valid. */
void hwi_tally_settle_all(struct hwi_tally *tally);

#endif
