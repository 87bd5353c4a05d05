/* epoch.h - what happened to a run's counters in one epoch
 *
 * epoch      a part of the run in which some share of its events lies. No two events of different epochs have the same time.
 * row        what is known of an epoch without reading it.
 * change     of a counter: its value at the end of the epoch less that at its start, modulo 2^64.
 * rise       of a level: its highest value within the epoch less that at its start.
 * outlived   a block that was born before the epoch and ends in it. These are all that the epoch's events need of what was
 *            before, so that any epoch can be replayed on its own: no event is about any other block of before. X is not Y: a
 *            block that is born in the epoch, or lives through all of it, is in no list.
 */
#ifndef HWI_PROFILE_EPOCH_H
#define HWI_PROFILE_EPOCH_H

#include "profile/class_timeline.h"
#include "profile/rows.h"
#include "profile/summary_pass.h"
#include "profile/timeline.h"

struct hwi_epoch_row {
  uint64_t first_tick, first_ns, last_ns; /* of its events */
  uint64_t event_count;
  uint64_t max_bytes;                      /* live at its start or within */
  uint64_t slice_width_ns, class_width_ns; /* of its timelines */
  uint32_t cells, stacks, sizes, threads;  /* how many the run has at its end: new ones get the next numbers */
};

struct hwi_epoch_cell {
  uint64_t calls, temporary_calls, live; /* changes */
  uint32_t number;
};

struct hwi_epoch_stack {
  uint64_t rise;                       /* of its bytes */
  uint64_t ended[HWI_LIFETIMES_ENDED]; /* changes, as the next ones */
  uint64_t failed_calls, missed_frees;
  uint64_t first_ns, last_ns; /* of its allocations in the epoch, where it has any */
  uint32_t number;
  bool called;
};

struct hwi_epoch_size {
  uint64_t rise; /* of its blocks */
  uint32_t number;
};

struct hwi_epoch_thread {
  uint64_t rise;                                                                            /* of its bytes */
  uint64_t free_calls, foreign_frees, failed_calls, late_allocation_calls, late_free_calls; /* changes */
  uint64_t last_address;                                                                    /* 0: it did not allocate */
  uint64_t moving_address; /* as at the end; so are the next ones */
  uint32_t newest_cell, moving_cell;
  uint32_t number;
};

struct hwi_epoch_steps {
  struct hwi_cell_resizes changes;
  uint32_t cell;
};

/* Outlived. */
struct hwi_epoch_block {
  uint64_t address;
  uint32_t cell;
  uint8_t lifetime; /* where it is not temporary */
};

/* An outlived block that was its thread's latest one: temporary only to those who saw it born. */
struct hwi_epoch_temporary {
  uint32_t cell;
  uint8_t lifetime; /* else */
};

enum hwi_epoch_list {
  HWI_EPOCH_CELLS = 0,
  HWI_EPOCH_STACKS,
  HWI_EPOCH_SIZES,
  HWI_EPOCH_THREADS,
  HWI_EPOCH_STEPS,
  HWI_EPOCH_HANDOVERS, /* struct hwi_handover; changes */
  HWI_EPOCH_BLOCKS,
  HWI_EPOCH_TEMPORARIES,
  HWI_EPOCH_LISTS
};

enum { HWI_EPOCH_SLICES = 256, HWI_EPOCH_CLASS_POINTS = 32 };

/* All zero: empty. */
struct hwi_epoch {
  struct hwi_rows lists[HWI_EPOCH_LISTS];
  struct hwi_totals totals; /* changes of what adds up */
  struct hwi_timeline timeline;
  struct hwi_class_timeline classes; /* no moment at or before its first event */
};

void hwi_epoch_release(struct hwi_epoch *epoch);

/* The size of a list's items. */
size_t hwi_epoch_item_bytes(enum hwi_epoch_list list);

/* Writes or reads it; one that is read was all zero. */
void hwi_epoch_pass(struct hwi_pass *pass, struct hwi_epoch *epoch);

extern const struct hwi_fields hwi_epoch_row_fields;

#endif
