/* image.h - one trace during its replay: maps its numbers to those of the profile */
#ifndef HWI_PROFILE_BLOCKS_IMAGE_H
#define HWI_PROFILE_BLOCKS_IMAGE_H

#include "profile/blocks/frames.h"
#include "profile/blocks/heap_blocks.h"
#include "profile/blocks/live.h"
#include "profile/profile.h"
#include "trace/clock.h"
#include "trace/hash_table.h"

/* The frame and the stack of a node. */
struct hwi_mapped_node {
  uint32_t frame; /* 0: not looked at yet */
  uint32_t stack; /* 0: no event names it so far */
};

/* Node numbers of an image, in two ranges: inherited ones, and its own. Both are lists of table.h. Only known nodes are
 * added, so that the definitions in the traces limit the memory. */
struct hwi_node_map {
  uint32_t first_own;
  struct hwi_mapped_node *own, *inherited;
  size_t own_capacity, inherited_capacity;
};

enum { HWI_LATEST_THREADS = 16 };

struct hwi_resolver;

struct hwi_replay_image {
  struct hwi_trace *trace;
  uint32_t number;               /* in the run */
  const struct hwi_clock *clock; /* the trace's */
  uint64_t offset_ns;            /* of its start, from the run's start */
  struct hwi_node_map nodes;
  uint32_t *path; /* nodes on the way from a new one to one that has a frame */
  size_t path_capacity;
  struct hwi_hash_table modules;     /* of the trace -> of the profile */
  struct hwi_hash_table threads;     /* of the trace -> of the profile, plus 1 */
  struct hwi_hash_table scope_names; /* of the trace -> of the resolver */
  /* The latest threads, by number modulo HWI_LATEST_THREADS: found without a search. */
  struct hwi_hash_slot latest_threads[HWI_LATEST_THREADS];
  struct hwi_error error;             /* why an event could not be resolved or counted; status 0: for lack of memory */
  struct hwi_live live;               /* the numbers are the resolver's */
  struct hwi_live freed_inherited;    /* addresses of blocks that came with a fork and were freed here */
  struct hwi_heap_blocks heap_blocks; /* of the program's own heaps; their names are the resolver's */
  bool forked, has_usable, has_durations;
  uint64_t sample_bytes;   /* see sample.h; 0: the events are all there */
  uint64_t first_pause_ns; /* when recording was paused for the first time; UINT64_MAX: never */
  /* From here on: used by the thread that counts, which may differ from the thread that resolves. */
  struct hwi_totals totals;
  uint64_t live_blocks, live_bytes, live_usable;
  struct hwi_call_counts calls; /* all calls, of an image with sample_bytes */
};

/* Takes ownership of the trace, which has this number in the run. Returns false if there is no memory. */
bool hwi_replay_image_init(struct hwi_replay_image *image, struct hwi_trace *trace, uint32_t number);
void hwi_replay_image_release(struct hwi_replay_image *image);

/* To be called when the trace was looked at again. */
void hwi_replay_image_update(struct hwi_replay_image *image);

/* Returns the profile's stack for an event's node. Returns 0 if there is no memory, or if image->error says why the
 * stack cannot be known. */
uint32_t hwi_replay_image_find_stack(struct hwi_replay_image *image, uint32_t node, struct hwi_resolver *resolver);

/* The same; usually the node is one of the image's own nodes and was seen before. */
static inline uint32_t hwi_replay_image_stack(struct hwi_replay_image *image, uint32_t node,
                                              struct hwi_resolver *resolver)
{
  const struct hwi_node_map *nodes = &image->nodes;
  const size_t index = (size_t)node - nodes->first_own; /* too large if the node is another image's */
  if (index < nodes->own_capacity && nodes->own[index].stack)
    return nodes->own[index].stack;
  return hwi_replay_image_find_stack(image, node, resolver);
}

/* Returns the innermost frame of an event's node that has a stack, or 0 if it is not known. */
uint32_t hwi_replay_image_frame(const struct hwi_replay_image *image, uint32_t node);

/* Returns the profile's thread for an event's thread number, plus 1. Returns 0 if there is no memory, or if a complete
 * resolver does not know the thread. */
uint32_t hwi_replay_image_find_thread(struct hwi_replay_image *image, uint32_t number, struct hwi_resolver *resolver);

/* The same; usually it is one of the latest threads. */
static inline uint32_t hwi_replay_image_thread(struct hwi_replay_image *image, uint32_t number,
                                               struct hwi_resolver *resolver)
{
  const struct hwi_hash_slot *latest = &image->latest_threads[number % HWI_LATEST_THREADS];
  if (latest->number && latest->tag == number)
    return latest->number;
  return hwi_replay_image_find_thread(image, number, resolver);
}

/* Returns the resolver's number for the name of scopes, or of a heap, that an event names. Returns 0 if there is no memory, or if
 * image->error says why the name cannot be known. */
uint32_t hwi_replay_image_scope_name(struct hwi_replay_image *image, uint64_t number, struct hwi_resolver *resolver);

/* Add a node or a thread that the image is known to have, before any of its events is read. Return false if there is no
 * memory; so do the next functions. */
bool hwi_replay_image_know_node(struct hwi_replay_image *image, uint32_t node, uint32_t stack);
bool hwi_replay_image_know_thread(struct hwi_replay_image *image, uint32_t number, uint32_t thread);

/* Calls `take` with each node that an event named, and its stack. Returns false if `take` returned false. */
bool hwi_replay_image_each_node(const struct hwi_replay_image *image,
                                bool (*take)(void *context, uint32_t node, uint32_t stack), void *context);

/* For a free of an address that is not live: *what becomes HWI_RESOLVED_FREE_INHERITED or HWI_RESOLVED_FREE_UNKNOWN.
 * Returns false if there is no memory. */
bool hwi_replay_image_free_unknown(struct hwi_replay_image *image, uint64_t address, uint8_t *what);

/* Returns the time of a tick, from the run's start. */
static inline uint64_t hwi_replay_image_ns(const struct hwi_replay_image *image, uint64_t tick)
{
  return image->offset_ns + hwi_clock_tick_ns(image->clock, tick);
}

/* Returns whether a block that is freed at `ns` of the run may have been allocated during a pause. */
static inline bool hwi_replay_image_was_paused(const struct hwi_replay_image *image, uint64_t ns)
{
  return ns - image->offset_ns >= image->first_pause_ns;
}

/* Returns the usable size of a new block, or 0 if the image does not record it. */
static inline uint64_t hwi_replay_usable(const struct hwi_replay_image *image, const struct hwi_event *event)
{
  if (!image->has_usable)
    return 0;
  return event->usable ? event->usable : event->size;
}

#endif
