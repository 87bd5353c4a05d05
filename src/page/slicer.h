/* slicer.h - the events of a run, summed up by slice for the rows of a document
 *
 * The second of two readings: the first one, the profile, told which stacks, sizes and threads are rows.
 */
#ifndef HWI_PAGE_SLICER_H
#define HWI_PAGE_SLICER_H

#include "page/cut.h"
#include "page/durations.h"
#include "page/handovers.h"
#include "page/pairs.h"
#include "page/sizes.h"
#include "page/slices.h"
#include "page/threads.h"
#include "report/replayer.h"

struct hwi_page_slicer {
  struct hwi_page_cut *cut; /* is lowered where it needs too much memory to be followed */
  const struct hwi_page_sizes *sizes;
  const struct hwi_page_threads *threads;
  const struct hwi_page_handovers *handovers;
  struct hwi_page_slices slices;
  struct hwi_page_series of_stacks, of_sizes, of_threads, of_handovers;
  struct hwi_page_pairs stack_threads, size_threads; /* where there are several threads; else there is none */
  struct hwi_page_series of_stack_threads, of_size_threads;
  struct hwi_report_durations durations;             /* where they were recorded */
  struct hwi_page_durations durations_along;         /* ... by slice */
  struct hwi_report_durations *durations_of_threads; /* by row of threads, where there are several; else NULL */
  bool is_timed;
  uint32_t slice;                 /* under way */
  uint64_t bytes, blocks, usable; /* live */
  uint64_t calls_left;            /* that the profile counted, too */
  bool failed;                    /* no memory */
  bool changed;                   /* what is there now is not what the profile was made from */
};

/* To be released, even after a failure. */
int hwi_page_slicer_run(struct hwi_page_slicer *watch, const struct hwi_replayer *replayer, struct hwi_error *error);
/* Lowers the cut, as hwi_page_cut_lower does, and what was followed with it. Between two slices. */
int hwi_page_slicer_lower(struct hwi_page_slicer *watch, uint32_t nodes_max, struct hwi_error *error);
/* When all was followed: makes the slices half as many, see hwi_page_slices_join. */
void hwi_page_slicer_coarsen(struct hwi_page_slicer *watch);

void hwi_page_slicer_release(struct hwi_page_slicer *watch);

#endif
