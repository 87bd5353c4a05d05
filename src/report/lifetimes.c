/* lifetimes.c - lifetimes of a whole run, and lifetimes as members of a JSON object */
#include "report/lifetimes.h"

#include <string.h>

const char *const hwi_lifetime_keys[HWI_LIFETIMES] = {
    [HWI_LIFETIME_TEMPORARY] = "temporary",   [HWI_LIFETIME_BELOW_1MS] = "below_1ms",
    [HWI_LIFETIME_BELOW_1S] = "below_1s",     [HWI_LIFETIME_BELOW_1MIN] = "below_1min",
    [HWI_LIFETIME_LONGER] = "1min_or_longer", [HWI_LIFETIME_UNTIL_END] = "until_end",
};

void hwi_lifetimes_of_run(const struct hwi_profile *profile, uint64_t lifetimes[HWI_LIFETIMES])
{
  memset(lifetimes, 0, HWI_LIFETIMES * sizeof *lifetimes);
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    for (int step = 0; step < HWI_LIFETIMES; step++)
      lifetimes[step] += profile->stacks[i].lifetimes[step];
  }
}

void hwi_json_lifetimes(struct hwi_json *json, const uint64_t lifetimes[HWI_LIFETIMES])
{
  hwi_json_begin_object(json, "lifetimes");
  for (int step = 0; step < HWI_LIFETIMES; step++)
    hwi_json_number(json, hwi_lifetime_keys[step], lifetimes[step]);
  hwi_json_end_object(json);
}
