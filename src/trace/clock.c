/* clock.c - converts the ticks of events to nanoseconds since the start of the image
 *
 * The rate comes from the two anchors that are farthest apart. Reading both clocks takes about 100 ns, so that over
 * TRUSTED_SPAN_NS the anchors are accurate to one part in 10^5. Over a shorter time, the rate that the CPU states is
 * better.
 */
#include "trace/clock.h"

#include "base/wide.h"
#include "platform/arch.h"
#include "platform/os.h"

static const uint64_t TRUSTED_SPAN_NS = 10000000;
static const double NS_PER_SECOND = 1e9, LOWEST_HZ = 1e3, HIGHEST_HZ = 1e12;

/* Returns the units per second between two anchors, or 0 if they give no plausible rate. */
static double rate(const struct hw_anchor *from, const struct hw_anchor *to)
{
  if (to->clock <= from->clock || to->monotonic_ns <= from->monotonic_ns)
    return 0;
  double hz = (double)(to->clock - from->clock) * NS_PER_SECOND / (double)(to->monotonic_ns - from->monotonic_ns);
  return hz >= LOWEST_HZ && hz <= HIGHEST_HZ ? hz : 0;
}

static double best_rate(const struct hw_trace_header *header, const struct hw_anchor *anchors, uint32_t anchor_count)
{
  double hz = rate(&header->start, &header->last);
  uint64_t span = hz > 0 ? header->last.monotonic_ns - header->start.monotonic_ns : 0;
  for (uint32_t i = 0; i < anchor_count; i++) {
    double other = rate(&header->start, &anchors[i]);
    if (other > 0 && anchors[i].monotonic_ns - header->start.monotonic_ns > span) {
      hz = other;
      span = anchors[i].monotonic_ns - header->start.monotonic_ns;
    }
  }
  double hint = (double)header->clock_hz_hint;
  if (span < TRUSTED_SPAN_NS && hint >= LOWEST_HZ && hint <= HIGHEST_HZ)
    return hint;
  return hz > 0 ? hz : NS_PER_SECOND;
}

void hwi_clock_init(struct hwi_clock *clock, const struct hw_trace_header *header, const struct hw_anchor *anchors,
                    uint32_t anchor_count)
{
  double hz = header->clock == HW_CLOCK_MONOTONIC_NS ? NS_PER_SECOND : best_rate(header, anchors, anchor_count);
  clock->start = header->start.clock;
  clock->ns_per_unit = (uint64_t)(NS_PER_SECOND / hz * (double)(UINT64_C(1) << HWI_CLOCK_POINT_BITS) + 0.5);
  clock->tick_shift = header->tick_shift;
}

uint64_t hwi_clock_tick_ago(const struct hw_trace_header *header, uint64_t ns)
{
  uint64_t now_ns = hwi_os_monotonic_ns();
  uint64_t now = header->clock == HW_CLOCK_TSC ? hwi_arch_clock() : now_ns;
  if (now <= header->start.clock || now_ns <= header->start.monotonic_ns + ns)
    return 0;
  double units_a_ns = (double)(now - header->start.clock) / (double)(now_ns - header->start.monotonic_ns);
  double back = units_a_ns * (double)ns;
  return back < (double)now ? (now - (uint64_t)back) >> header->tick_shift : 0;
}

static uint64_t limited(struct hwi_wide ns)
{
  return ns.high == 0 && ns.low < HWI_TRACE_LATEST_NS ? ns.low : HWI_TRACE_LATEST_NS;
}

uint64_t hwi_clock_span_ns(const struct hwi_clock *clock, uint64_t units)
{
  const uint64_t half = UINT64_C(1) << (HWI_CLOCK_POINT_BITS - 1);
  struct hwi_wide ns = hwi_wide_product(units, clock->ns_per_unit);
  ns.low += half;
  ns.high += ns.low < half;
  return limited(hwi_wide_right(ns, HWI_CLOCK_POINT_BITS));
}

static uint64_t scale(const struct hwi_clock *clock, struct hwi_wide units)
{
  if (units.high == 0 && units.low <= clock->start)
    return 0;
  const struct hwi_wide since = {units.low - clock->start, units.high - (units.low < clock->start)};
  if (since.high >> 16) /* no valid time is that late, and the product must fit */
    return HWI_TRACE_LATEST_NS;
  if (since.high)
    return limited(hwi_wide_right(hwi_wide_product(hwi_wide_right(since, 16).low, clock->ns_per_unit), 16));
  return limited(hwi_wide_right(hwi_wide_product(since.low, clock->ns_per_unit), HWI_CLOCK_POINT_BITS));
}

uint64_t hwi_clock_unit_ns(const struct hwi_clock *clock, uint64_t units)
{
  return scale(clock, (struct hwi_wide){units, 0});
}

uint64_t hwi_clock_any_tick_ns(const struct hwi_clock *clock, uint64_t tick)
{
  return scale(clock, hwi_wide_product(tick, UINT64_C(1) << clock->tick_shift));
}
