/* change.c - differences as a text shows them */
#include "compare/change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct hwi_number with_sign(uint64_t old, uint64_t new, struct hwi_number value)
{
  struct hwi_number signed_value;
  if (old == new)
    return value;
  snprintf(signed_value.text, sizeof signed_value.text, "%c%.30s", new > old ? '+' : '-', value.text);
  return signed_value;
}

struct hwi_number hwi_change_text(int64_t change, enum hwi_cost cost)
{
  uint64_t magnitude = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
  return change < 0 ? with_sign(magnitude, 0, hwi_cost_text(magnitude, cost))
                    : with_sign(0, magnitude, hwi_cost_text(magnitude, cost));
}

struct hwi_number hwi_change_share_text(uint64_t old, uint64_t new)
{
  enum { WHOLE_PERCENT = 100 };
  struct hwi_number number = {""};
  if (old == 0 || old == new)
    return number;
  double percent = 100.0 * ((double)new - (double)old) / (double)old;
  double magnitude = percent < 0 ? -percent : percent;
  if (magnitude < 0.05)
    snprintf(number.text, sizeof number.text, "%c<0.1 %%", new > old ? '+' : '-');
  else if (magnitude < WHOLE_PERCENT)
    snprintf(number.text, sizeof number.text, "%+.1f %%", percent);
  else
    snprintf(number.text, sizeof number.text, "%c%.26s %%", new > old ? '+' : '-',
             hwi_count_text((uint64_t)(magnitude + 0.5)).text);
  return number;
}

struct hwi_number hwi_change_time_text(uint64_t old_ns, uint64_t new_ns)
{
  return with_sign(old_ns, new_ns, hwi_time_text(new_ns > old_ns ? new_ns - old_ns : old_ns - new_ns));
}
