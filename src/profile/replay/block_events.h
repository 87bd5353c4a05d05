/* block_events.h - reports the events of a run, each with its block
 *
 * Nothing is counted here, so this takes a fraction of the memory and time of a profile.
 */
#ifndef HWI_PROFILE_REPLAY_BLOCK_EVENTS_H
#define HWI_PROFILE_REPLAY_BLOCK_EVENTS_H

#include "profile/blocks/resolve.h"
#include "profile/counters/scopes.h"

struct hwi_block_events {
  const struct hwi_block_sink *sink;
  struct hwi_resolver *resolver;
  struct hwi_batch *batch;
  uint64_t now_ns;                   /* since the run's start; never decreases */
  struct hwi_reported_block *blocks; /* by number: a list of table.h */
  size_t block_capacity;
  uint8_t *entries; /* by stack: enum hw_entry */
  size_t entries_capacity;
  uint64_t *last_addresses; /* by thread: of its latest allocation */
  size_t thread_capacity;
  bool has_all_threads;      /* the profile of these events has threads of a sample that have none */
  struct hwi_scopes *scopes; /* NULL: no thread has been in a scope so far */
};

enum hwi_applied {
  HWI_APPLIED = 1,
  HWI_APPLIED_STOP = 0,       /* the sink wants no more */
  HWI_APPLIED_NO_MEMORY = -1, /* or the error in image->error */
};

/* `resolver` must not have seen any event. Returns false if there is no memory. The events must be released even
 * then. */
bool hwi_block_events_init(struct hwi_block_events *events, struct hwi_resolver *resolver,
                           const struct hwi_block_sink *sink);
void hwi_block_events_release(struct hwi_block_events *events);

/* Passes at most HWI_BATCH_EVENTS events of one image to the sink, in order. */
enum hwi_applied hwi_block_events_apply(struct hwi_block_events *events, struct hwi_replay_image *image,
                                        const struct hwi_event *read, int count);

/* The image ends: reports that its scopes end. Returns false if the sink wants no more. */
bool hwi_block_events_end_scopes(const struct hwi_block_events *events, const struct hwi_replay_image *image);

/* The image ends at `ns` of the run, while others go on: reports each of its blocks. Returns false if the sink wants no
 * more. */
bool hwi_block_events_leave(const struct hwi_block_events *events, const struct hwi_replay_image *image, uint64_t ns);

#endif
