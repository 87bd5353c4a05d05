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
  struct hwi_summary_images kept; /* where it was restored from a summary */
  uint32_t *cell_numbers;         /* of the profile's cells, in the tally */
  uint32_t *size_numbers;         /* of its sizes */
  struct hwi_rows epoch_rows;     /* struct hwi_epoch_row; none where no epochs are kept */
  struct hwi_rows nodes;          /* struct hwi_stack_node, likewise */
};

/* Asks the traces about the threads. False: no memory. */
bool hwi_result_describe_threads(struct hwi_result *result);

/* Makes the profile's lists, all but what adds up over cells. The replay has seen its last event. False: no memory, here and
 * below. */
bool hwi_result_fill(struct hwi_result *result);

/* What adds up. The profile has everything else, the sums of it being zero. */
void hwi_result_sum_up(struct hwi_result *result);

void hwi_result_release(struct hwi_result *result);

/* The lists that it has from hwi_result_fill, but for those along time. */
void hwi_result_release_lists(struct hwi_result *result);

/* The replay's frames and modules are the profile's. */
void hwi_result_publish_frames(struct hwi_result *result);

/* The part of hwi_result_fill that is about cells and sizes. */
bool hwi_result_fill_cells(struct hwi_result *result);

/* The part of it that is no sum over all cells: what died together, was handed over, or grew. While the stacks' tallies are
 * there. */
bool hwi_result_fill_lists(struct hwi_result *result);

#endif
