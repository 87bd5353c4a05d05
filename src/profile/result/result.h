/* result.h - the result of a replay, in the form of the profile */
#ifndef HWI_PROFILE_RESULT_RESULT_H
#define HWI_PROFILE_RESULT_RESULT_H

#include "profile/columns/image_columns.h"
#include "profile/columns/scope_columns.h"
#include "profile/counters/count_events.h"
#include "profile/epochs/epoch.h"
#include "trace/store.h"

/* The stack of a node of the counted image. */
struct hwi_stack_node {
  uint32_t node, stack;
};

/* A profile with the arrays that it owns. */
struct hwi_result {
  struct hwi_profile profile; /* first member: its address is the result's */
  struct hwi_replay replay;   /* owns the frames, modules and points */
  struct hwi_trace **traces;  /* by image, as profile.images; NULL: not opened */
  uint32_t trace_count;
  bool has_base;                /* events of a trace were dropped: their sums were added */
  struct hwi_thread *described; /* for each thread of the tally: its description from the trace */
  size_t described_count;
  struct hwi_restored_images restored; /* if it was restored from a summary; so are the next ones */
  struct hwi_restored_scopes restored_scopes;
  uint32_t *cell_numbers;          /* for each cell of the profile: its number in the tally */
  uint32_t *size_numbers;          /* for each size: likewise */
  struct hwi_list epoch_rows;      /* struct hwi_epoch_row; none if no epochs are stored */
  struct hwi_list nodes;           /* struct hwi_stack_node, likewise */
  struct hwi_store instance_texts; /* of the worst instances of scopes */
};

/* Reads the descriptions of the threads from the traces. Returns false if there is no memory. */
bool hwi_result_describe_threads(struct hwi_result *result);

/* Makes the profile's lists, except for the figures that are sums over cells. The replay must have seen its last event.
 * Returns false if there is no memory; so do the next functions that return a bool. */
bool hwi_result_fill(struct hwi_result *result);

/* Makes the sums over cells. Everything else must be in the profile, and the sums must be zero. */
void hwi_result_sum_up(struct hwi_result *result);

void hwi_result_release(struct hwi_result *result);

/* Releases the lists that hwi_result_fill made, except the timelines. */
void hwi_result_release_lists(struct hwi_result *result);

/* Makes the replay's frames and modules those of the profile. */
void hwi_result_publish_frames(struct hwi_result *result);

/* The part of hwi_result_fill that is about cells and sizes. */
bool hwi_result_fill_cells(struct hwi_result *result);

/* The part of hwi_result_fill that makes the lists of generations freed together, handovers and resizes. To be called
 * while the tallies of the stacks exist. */
bool hwi_result_fill_lists(struct hwi_result *result);

#endif
