/* growth.c - finds stacks that hold more and more memory */
#include "profile/counters/growth.h"

enum { TENTHS = 10, TENTHS_OF_GROWTH = 7 };

void hwi_tenths_init(struct hwi_tenths *tenths, uint64_t expected_ns)
{
  *tenths = (struct hwi_tenths){.width_ns = UINT64_MAX, .end_ns = UINT64_MAX};
  if (expected_ns)
    tenths->end_ns = tenths->width_ns = expected_ns / TENTHS + 1; /* so that the last moment is in the last tenth */
}

void hwi_tenths_advance(struct hwi_tenths *tenths, uint64_t ns)
{
  uint64_t number = ns / tenths->width_ns;
  tenths->current = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
  tenths->end_ns = (ns / tenths->width_ns + 1) * tenths->width_ns;
}

/* Adds the next tenth of a stack, with its minimum. */
static void add_tenth(struct hwi_growth *growth, uint64_t minimum)
{
  if (growth->rise && minimum > growth->previous_minimum) {
    growth->rise++;
  } else {
    growth->rise = 1;
    growth->first_minimum = minimum;
  }
  growth->previous_minimum = minimum;
}

void hwi_growth_end_tenth(struct hwi_growth *growth, uint32_t tenth, uint64_t live_bytes)
{
  add_tenth(growth, growth->minimum);
  /* The tenths between have the same minimum, and `tenth` begins with it, so that no rise continues. */
  if (tenth - growth->tenth > 1)
    add_tenth(growth, live_bytes);
  growth->tenth = tenth;
  growth->minimum = live_bytes;
}

bool hwi_growth_finish(struct hwi_growth *growth, const struct hwi_tenths *tenths, uint64_t live_bytes,
                       struct hwi_growing *growing)
{
  hwi_growth_touch(growth, tenths, live_bytes);
  add_tenth(growth, growth->minimum);
  uint64_t count = (uint64_t)tenths->current + 1;
  if (count < TENTHS_OF_GROWTH || (uint64_t)growth->rise * TENTHS < count * TENTHS_OF_GROWTH)
    return false;
  *growing = (struct hwi_growing){
      .from_ns = (count - growth->rise) * tenths->width_ns,
      .from_bytes = growth->first_minimum,
      .to_ns = (count - 1) * tenths->width_ns,
      .to_bytes = growth->previous_minimum,
  };
  return true;
}
