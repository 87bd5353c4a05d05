/* clock.h - converts the ticks of events to nanoseconds since the start of the image */
#ifndef HWI_TRACE_CLOCK_H
#define HWI_TRACE_CLOCK_H

#include <stdbool.h>

#include "base/wide.h"
#include "trace/reader.h"

enum { HWI_CLOCK_POINT_BITS = 32 };

struct hwi_clock {
  uint64_t start;       /* in clock units */
  uint64_t ns_per_unit; /* fixed point with HWI_CLOCK_POINT_BITS fraction bits */
  unsigned tick_shift;
};

/* `anchors`: moments on both clocks, in addition to those in the header. */
void hwi_clock_init(struct hwi_clock *clock, const struct hw_trace_header *header, const struct hw_anchor *anchors,
                    uint32_t anchor_count);

/* Return nanoseconds since the start of the image, clamped to 0 before the start and to about 146 years. */
uint64_t hwi_clock_unit_ns(const struct hwi_clock *clock, uint64_t units);
uint64_t hwi_clock_any_tick_ns(const struct hwi_clock *clock, uint64_t tick);

/* The fast form, called for every event of a recording: one multiplication if the time is plausible. */
static inline uint64_t hwi_clock_tick_ns(const struct hwi_clock *clock, uint64_t tick)
{
  const uint64_t units = tick << clock->tick_shift;
  const struct hwi_wide product = hwi_wide_product(units - clock->start, clock->ns_per_unit);
  const bool is_plain = units >> clock->tick_shift == tick && units >= clock->start &&
                        product.high < HWI_TRACE_LATEST_NS >> HWI_CLOCK_POINT_BITS;
  if (__builtin_expect(is_plain, 1))
    return hwi_wide_right(product, HWI_CLOCK_POINT_BITS).low;
  return hwi_clock_any_tick_ns(clock, tick);
}

/* Returns the tick of the moment `ns` ago, or 0 if it is unknown. */
uint64_t hwi_clock_tick_ago(const struct hw_trace_header *header, uint64_t ns);

/* Returns the duration of `units` clock units, rounded to the nearest nanosecond. */
uint64_t hwi_clock_span_ns(const struct hwi_clock *clock, uint64_t units);

#endif
