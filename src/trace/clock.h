/* clock.h - from the ticks of events to nanoseconds since the start of the image */
#ifndef HWI_TRACE_CLOCK_H
#define HWI_TRACE_CLOCK_H

#include "trace/format.h"

struct hwi_clock {
  uint64_t start;       /* in clock units */
  uint64_t ns_per_unit; /* fixed point, 32 bits behind the point */
  unsigned tick_shift;
};

/* `anchors`: further moments on both clocks, beside those in the header. */
void hwi_clock_init(struct hwi_clock *clock, const struct hw_trace_header *header, const struct hw_anchor *anchors,
                    uint32_t anchor_count);

/* Clamped to 0 before the start, and to some 146 years. */
uint64_t hwi_clock_unit_ns(const struct hwi_clock *clock, uint64_t units);
uint64_t hwi_clock_tick_ns(const struct hwi_clock *clock, uint64_t tick);

#endif
