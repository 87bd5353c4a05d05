/* tick_order.h - the order of events of different streams that carry the same tick */
#ifndef HWI_TRACE_READ_TICK_ORDER_H
#define HWI_TRACE_READ_TICK_ORDER_H

#include "trace/reader.h"

/* The events of one stream at one tick, in order. */
struct hwi_tick_order_stretch {
  const struct hwi_event *events;
  int count;
};

enum { HWI_TICK_ORDER_MAX_EVENTS = 64 }; /* of all stretches together */

struct hwi_liveness {
  bool (*is_live)(void *context, uint64_t address); /* NULL: unknown */
  void *context;
};

/* Returns whether two stretches have events of the same block, so that their order matters. */
bool hwi_tick_order_matters(const struct hwi_tick_order_stretch *stretches, int stretch_count);

/* Copies the events of all stretches, at most HWI_TICK_ORDER_MAX_EVENTS, to `ordered`. The order within each stretch
 * stays. If possible, every free comes after its block's allocation, and no allocation is at the address of a live
 * block. Returns the number of events. */
int hwi_tick_order_sort(const struct hwi_tick_order_stretch *stretches, int stretch_count,
                        const struct hwi_liveness *liveness, struct hwi_event *ordered);

/* For stretches that are too long for hwi_tick_order_sort: returns the index of the stretch whose first event comes
 * next. */
int hwi_tick_order_pick(const struct hwi_tick_order_stretch *stretches, int stretch_count,
                        const struct hwi_liveness *liveness);

#endif
