/* epoch.h - how one epoch changed a run's counters
 *
 * epoch      a part of the run with a certain number of its events. Events of different epochs never have the same
 *            time.
 * row        what is known of an epoch without reading it.
 * change     of a counter: its value at the end of the epoch minus its value at the start, modulo 2^64.
 * rise       of a level: its highest value within the epoch minus its value at the start.
 * older      an older block was born before the epoch and ends in it. The epoch's events need no other block from
 *            before the epoch, so that any epoch can be replayed on its own. A block that is born in the epoch, or
 *            lives through all of it, is in no list.
 */
#ifndef HWI_PROFILE_EPOCHS_EPOCH_H
#define HWI_PROFILE_EPOCHS_EPOCH_H

#include "profile/columns/pass.h"
#include "profile/counters/count_events.h"
#include "trace/grow.h"

/* A growing list of equal items. All zero: empty. */
struct hwi_list {
  void *items;
  size_t count, capacity;
};

static inline void hwi_list_release(struct hwi_list *list)
{
  free(list->items);
  *list = (struct hwi_list){0};
}

/* Adds an item and returns its address, or NULL if there is no memory. */
static inline void *hwi_list_add(struct hwi_list *list, size_t item_bytes)
{
  if (!hwi_grow(&list->items, &list->capacity, list->count + 1, item_bytes))
    return NULL;
  return (char *)list->items + list->count++ * item_bytes;
}

struct hwi_epoch_row {
  uint64_t first_tick, first_ns, last_ns; /* of its events */
  uint64_t event_count;
  uint64_t max_bytes;                      /* live at its start or within */
  uint64_t slice_width_ns, class_width_ns; /* of its timelines */
  uint32_t cells, stacks, sizes, threads;  /* how many the run has at the epoch's end: new ones get the next numbers */
};

struct hwi_epoch_cell {
  uint64_t calls, temporary_calls, live; /* changes */
  uint32_t number;
};

struct hwi_epoch_stack {
  uint64_t rise;                       /* of its bytes */
  uint64_t ended[HWI_LIFETIMES_ENDED]; /* changes; so are the next ones */
  uint64_t failed_calls, missed_frees;
  uint64_t first_ns, last_ns; /* of its allocations in the epoch; valid if `called` */
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
  uint64_t moving_address; /* value at the end; so are the next ones */
  uint32_t newest_cell, moving_cell;
  uint32_t number;
};

struct hwi_epoch_steps {
  struct hwi_cell_resizes changes;
  uint32_t cell;
};

/* An older block. */
struct hwi_epoch_block {
  uint64_t address;
  uint32_t cell;
  uint8_t lifetime; /* if it is not temporary */
};

/* An older block that was its thread's latest one. It counts as temporary only in a span that includes its birth. */
struct hwi_epoch_temporary {
  uint32_t cell;
  uint8_t lifetime; /* if it does not count as temporary */
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
  struct hwi_list lists[HWI_EPOCH_LISTS];
  struct hwi_totals totals; /* changes of the figures that can be added */
  struct hwi_timeline timeline;
  struct hwi_class_timeline classes; /* no moment at or before its first event */
};

void hwi_epoch_release(struct hwi_epoch *epoch);

/* Returns the size of one item of a list. */
size_t hwi_epoch_item_bytes(enum hwi_epoch_list list);

/* Writes or reads an epoch; one that is read must be all zero before. */
void hwi_epoch_pass(struct hwi_pass *pass, struct hwi_epoch *epoch);

extern const struct hwi_fields hwi_epoch_row_fields;

/* --- epochs in a file, one after the other: the length of each in bytes (u64), and these bytes --- */

/* Writes the epoch at offset *end of the file, and moves *end past it. Returns 0, or a negative status. */
int hwi_epoch_file_add(int fd, uint64_t *end, struct hwi_epoch *epoch);

/* All zero: none. */
struct hwi_epoch_file {
  int fd;
  uint64_t *offs;
  size_t count;
};

/* Finds the `count` epochs that are from `off` to `end` of the file, and takes ownership of `fd`. Returns false if there
 * are more or fewer epochs, or if there is no memory; then `fd` is still the caller's. */
bool hwi_epoch_file_open(struct hwi_epoch_file *file, int fd, uint64_t off, uint64_t end, size_t count);
void hwi_epoch_file_release(struct hwi_epoch_file *file);

/* Reads the epoch into one that is all zero or was released. None of its lists may be longer than `most_items`, or than
 * its bytes can plausibly hold. Returns 0, or a negative status. */
int hwi_epoch_file_read(const struct hwi_epoch_file *file, size_t number, uint64_t most_items, struct hwi_epoch *epoch);

/* --- adding an epoch to the counters of a replay that has reached its start; in epoch_sum.c --- */

/* Returns whether every number in the epoch belongs to a run that has as many cells, stacks, sizes and threads as the
 * row says. */
bool hwi_epoch_is_sound(const struct hwi_epoch *epoch, const struct hwi_epoch_row *row);

/* Goes on from the start of the epoch to its end, as if its events had been applied, except for the peak and the table
 * of live blocks. `counts`: the epoch is within the span; else only live blocks and the state that later events need
 * are updated. The epoch must be sound. Returns false if there is no memory. */
bool hwi_epoch_add(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_epoch *epoch,
                   const struct hwi_epoch_row *row, bool counts);

#endif
