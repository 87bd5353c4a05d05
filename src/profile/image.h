/* image.h - one trace under replay: from its numbers to those of the profile */
#ifndef HWI_PROFILE_IMAGE_H
#define HWI_PROFILE_IMAGE_H

#include "profile/frames.h"
#include "profile/live.h"
#include "profile/profile.h"
#include "trace/clock.h"
#include "trace/numbers.h"

/* What became of a node. */
struct hwi_node_place {
  uint32_t frame; /* 0: not looked at yet */
  uint32_t stack; /* 0: no event names it so far */
};

/* Node numbers of an image, in two ranges: inherited ones, and its own; both are lists of table.h. Only known nodes get places, so
 * that memory is bounded by what the traces define. */
struct hwi_places {
  uint32_t first_own;
  struct hwi_node_place *own, *inherited;
  size_t own_capacity, inherited_capacity;
};

enum { HWI_LATEST_THREADS = 16 };

struct hwi_resolver;

struct hwi_replay_image {
  struct hwi_trace *trace;
  uint32_t number;               /* in the run */
  const struct hwi_clock *clock; /* the trace's */
  uint64_t offset_ns;            /* of its start, since the run's */
  struct hwi_places places;
  uint32_t *path; /* nodes on the way from a new one to one that is placed */
  size_t path_capacity;
  struct hwi_numbers modules; /* of the trace -> of the profile */
  struct hwi_numbers threads; /* of the trace -> of the profile, plus 1 */
  /* By number, modulo their count: found without a look at all. */
  struct hwi_number_slot latest_threads[HWI_LATEST_THREADS];
  struct hwi_error error;          /* why the trace could not be read ahead; status 0: it could, or need not be */
  struct hwi_live live;            /* the numbers are the resolver's */
  struct hwi_live freed_inherited; /* addresses of blocks that came with a fork and were freed here */
  bool forked, has_usable;
  uint64_t silent_since_ns; /* recording was paused for the first time; UINT64_MAX: never */
  struct hwi_totals totals; /* from here on: what is counted, by another thread than resolves the events */
  uint64_t live_blocks, live_bytes, live_usable;
};

/* Takes the trace over, which has that number in the run. False: no memory. */
bool hwi_replay_image_init(struct hwi_replay_image *image, struct hwi_trace *trace, uint32_t number);
void hwi_replay_image_release(struct hwi_replay_image *image);

/* The profile's stack for an event's node; 0: no memory, or image->error says why it cannot be known. */
uint32_t hwi_replay_image_find_stack(struct hwi_replay_image *image, uint32_t node, struct hwi_resolver *resolver);

/* The same; mostly the node is one of its own that was seen before. */
static inline uint32_t hwi_replay_image_stack(struct hwi_replay_image *image, uint32_t node,
                                              struct hwi_resolver *resolver)
{
  const struct hwi_places *places = &image->places;
  const size_t index = (size_t)node - places->first_own; /* of another node it is too large */
  if (index < places->own_capacity && places->own[index].stack)
    return places->own[index].stack;
  return hwi_replay_image_find_stack(image, node, resolver);
}

/* The innermost frame of an event's node that has a stack; 0: it is not known. */
uint32_t hwi_replay_image_frame(const struct hwi_replay_image *image, uint32_t node);

/* The profile's thread for an event's thread number, from 1. 0: no memory, or a complete resolver does not know it. */
uint32_t hwi_replay_image_find_thread(struct hwi_replay_image *image, uint32_t number, struct hwi_resolver *resolver);

/* The same; mostly it is one of the latest again. */
static inline uint32_t hwi_replay_image_thread(struct hwi_replay_image *image, uint32_t number,
                                               struct hwi_resolver *resolver)
{
  const struct hwi_number_slot *latest = &image->latest_threads[number % HWI_LATEST_THREADS];
  if (latest->index && latest->number == number)
    return latest->index;
  return hwi_replay_image_find_thread(image, number, resolver);
}

/* What the image is known to have before any of its events is seen. False: no memory, here and below. */
bool hwi_replay_image_know_node(struct hwi_replay_image *image, uint32_t node, uint32_t stack);
bool hwi_replay_image_know_thread(struct hwi_replay_image *image, uint32_t number, uint32_t thread);

/* Calls `take` with each node that an event named, and its stack. False: it returned false. */
bool hwi_replay_image_each_node(const struct hwi_replay_image *image,
                                bool (*take)(void *context, uint32_t node, uint32_t stack), void *context);

/* Of a free of an address that is not live: *what becomes HWI_RESOLVED_FREE_INHERITED or HWI_RESOLVED_FREE_UNKNOWN. False: no
 * memory. */
bool hwi_replay_image_free_unknown(struct hwi_replay_image *image, uint64_t address, uint8_t *what);

/* When something happened, since the run's start. */
static inline uint64_t hwi_replay_image_ns(const struct hwi_replay_image *image, uint64_t tick)
{
  return image->offset_ns + hwi_clock_tick_ns(image->clock, tick);
}

/* Usable size of a new block; 0 where the image does not tell. */
static inline uint64_t hwi_replay_usable(const struct hwi_replay_image *image, const struct hwi_event *event)
{
  if (!image->has_usable)
    return 0;
  return event->usable ? event->usable : event->size;
}

#endif
