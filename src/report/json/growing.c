/* growing.c - the stacks whose live bytes grow, as a member of a JSON object */
#include "report/json/growing.h"

static uint64_t bytes_per_hour(const struct hwi_growing *growing)
{
  const double ns_an_hour = 3600e9;
  uint64_t ns = growing->to_ns - growing->from_ns;
  double rate = ns > 0 ? (double)(growing->to_bytes - growing->from_bytes) * ns_an_hour / (double)ns : 0;
  return rate < (double)INT64_MAX ? (uint64_t)rate : INT64_MAX;
}

void hwi_json_growing(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_stacks *stacks)
{
  hwi_json_begin_array(json, "growing");
  for (uint32_t i = 0; i < profile->growing_count; i++) {
    const struct hwi_growing *growing = &profile->growing[i];
    const struct hwi_stack *stack = &profile->stacks[growing->stack];
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "from_ns", growing->from_ns);
    hwi_json_number(json, "to_ns", growing->to_ns);
    hwi_json_number(json, "from_bytes", growing->from_bytes);
    hwi_json_number(json, "to_bytes", growing->to_bytes);
    hwi_json_number(json, "bytes_per_hour", bytes_per_hour(growing));
    hwi_json_number(json, "first_ns", stack->first_ns);
    hwi_json_number(json, "last_ns", stack->last_ns);
    hwi_json_number(json, "live_bytes", stack->live_bytes);
    stacks->tell(stacks->context, json, growing->stack);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
