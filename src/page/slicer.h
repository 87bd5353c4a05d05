/* slicer.h - sums up the events of a run by slice, for the rows of a document
 *
 * This is the second of two passes: the first one, the profile, determined which stacks, sizes and threads are rows.
 */
#ifndef HWI_PAGE_SLICER_H
#define HWI_PAGE_SLICER_H

#include "page/durations.h"
#include "page/handovers.h"
#include "page/instances.h"
#include "page/sizes.h"
#include "page/slices.h"
#include "page/threads.h"
#include "page/tree.h"
#include "profile/counters/class_peaks.h"
#include "report/replayer.h"

/* The tables whose rows are followed. */
enum hwi_page_table {
  HWI_PAGE_OF_STACKS = 0,
  HWI_PAGE_OF_SIZES,
  HWI_PAGE_OF_THREADS,
  HWI_PAGE_OF_STACK_THREADS, /* pairs; no rows unless there are several threads */
  HWI_PAGE_OF_SIZE_THREADS,  /* the same */
  HWI_PAGE_OF_HANDOVERS,     /* a block that is handed over counts as a call */
  HWI_PAGE_TABLES
};

struct hwi_page_slicer {
  struct hwi_page_tree *tree; /* reduced if following it needs too much memory */
  const struct hwi_page_sizes *sizes;
  const struct hwi_page_threads *threads;
  const struct hwi_page_handovers *handovers;
  struct hwi_instance_list *instances;
  struct hwi_page_slices slices;
  struct hwi_page_series series[HWI_PAGE_TABLES];
  struct hwi_page_pairs stack_threads, size_threads; /* empty unless there are several threads */
  struct hwi_report_durations durations;             /* if they were recorded */
  struct hwi_sliced_durations durations_along;       /* ... by slice */
  struct hwi_report_durations *durations_of_threads; /* by row of threads; NULL unless there are several threads */
  bool is_timed;
  uint32_t slice; /* the current slice */
  struct hwi_live_sum live;
  struct hwi_class_peaks class_peaks;
  uint64_t calls_left; /* calls that the profile counted, too */
  bool failed;         /* no memory */
  bool changed;        /* the recording is not the one that the profile was made from */
};

/* Follows the events a second time through `replayer`, and adds them to slices. Returns 0 or a negative status. Release
 * `slicer` even after a failure. */
int hwi_page_slicer_run(struct hwi_page_slicer *slicer, const struct hwi_replayer *replayer, struct hwi_error *error);
/* Lowers the tree, as hwi_page_tree_reduce does, and merges the followed rows. Call it between two slices. Returns 0 or
 * a negative status. */
int hwi_page_slicer_reduce(struct hwi_page_slicer *slicer, uint32_t nodes_max, struct hwi_error *error);
/* Halves the number of slices, see hwi_page_slices_join. Call it at the end of the pass. */
void hwi_page_slicer_coarsen(struct hwi_page_slicer *slicer);

void hwi_page_slicer_release(struct hwi_page_slicer *slicer);

#endif
