/* ties.h - the order of events of different streams that carry the same tick */
#ifndef HWI_TRACE_TIES_H
#define HWI_TRACE_TIES_H

#include "trace/reader.h"

/* The events of one stream at the tick in question, in their order. */
struct hwi_tick_order_run {
  const struct hwi_event *events;
  int count;
};

enum { HWI_TICK_ORDER_MAX_EVENTS = 64 }; /* of all runs together */

struct hwi_liveness {
  bool (*is_live)(void *context, uint64_t address); /* NULL: nobody knows */
  void *context;
};

/* Two runs speak of the same block, so that their order matters. */
bool hwi_tick_order_matters(const struct hwi_tick_order_run *runs, int run_count);

/* Writes all events of the runs in an order that keeps each run's own and in which, where there is such an order, every free
 * finds its block and no allocation hits a live one. At most HWI_TICK_ORDER_MAX_EVENTS. Returns their number. */
int hwi_tick_order_order(const struct hwi_tick_order_run *runs, int run_count, const struct hwi_liveness *liveness,
                         struct hwi_event *ordered);

/* Of runs too long for that: which one's first event goes next. */
int hwi_tick_order_pick(const struct hwi_tick_order_run *runs, int run_count, const struct hwi_liveness *liveness);

#endif
