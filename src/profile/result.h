/* result.h - what a replay found, as the profile's consumers see it */
#ifndef HWI_PROFILE_RESULT_H
#define HWI_PROFILE_RESULT_H

#include "profile/epoch.h"
#include "profile/replay.h"
#include "profile/summary_images.h"

/* The stack that a node of the counted image is. */
struct hwi_stack_node {
  uint32_t node, stack;
};

/* A profile with the arrays that it owns. */
struct hwi_result {
  struct hwi_profile profile; /* first: its address is the result's */
  struct hwi_replay replay;   /* owns the frames, modules and points */
  struct hwi_trace **traces;  /* of profile.images; NULL: not opened */
  uint32_t trace_count;
  struct hwi_thread *described; /* of the tally's threads: what their traces say of them */
  size_t described_count;
  struct hwi_summary_images kept; /* where the replay was restored from a summary */
  struct hwi_rows epoch_rows;     /* struct hwi_epoch_row; none where no epochs are kept */
  struct hwi_rows nodes;          /* struct hwi_stack_node, likewise */
};

/* Asks the traces about the threads. False: no memory. */
bool hwi_result_describe_threads(struct hwi_result *result);

/* Sums the cells up. The replay has seen its last event. False: no memory. */
bool hwi_result_fill(struct hwi_result *result);
void hwi_result_release(struct hwi_result *result);

/* The part of it that is about cells: they themselves, and what they add up to by size and by pairs. */
bool hwi_result_fill_cells(struct hwi_result *result);

/* The part of it that is no sum over all cells: what died together, was handed over, or grew. While the stacks' tallies are
 * there. */
bool hwi_result_fill_lists(struct hwi_result *result);

#endif
