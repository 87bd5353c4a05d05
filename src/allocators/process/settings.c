/* settings.c - the settings of the heap of a process, from the environment */
#include "allocators/process/settings.h"

#include <stdint.h>
#include <string.h>

#include "allocators/setting.h"
#include "base/size_text.h"

enum { DEFAULT_BYTES = 100 * 1000 * 1000, LEAST_GROWTH_BYTES = 64 };

#define DEFAULT_USED "; 100000000 bytes are used"

/* Returns the value of the first of the two variables that is set, and sets *name to that one. */
static const char *value_of_either(hwi_value_fn *value_of, const char **name, const char *alias)
{
  const char *value = value_of(*name);
  if (value)
    return value;
  *name = alias;
  return value_of(alias);
}

static size_t read_size(hwi_value_fn *value_of, const char *name, const char *alias, size_t least)
{
  const char *value = value_of_either(value_of, &name, alias);
  uint64_t bytes;
  if (!value)
    return DEFAULT_BYTES;
  if (!hwi_size_parse(value, &bytes))
    hwi_setting_report(name, value, " is not a size (try 64M or 100MB)" DEFAULT_USED);
  else if (bytes < least)
    hwi_setting_report(name, value, " is too small" DEFAULT_USED);
  else if (bytes > HWI_HEAP_LARGEST_BYTES)
    hwi_setting_report(name, value, " is too large" DEFAULT_USED);
  else
    return (size_t)bytes;
  return DEFAULT_BYTES;
}

static enum hwi_exhausted read_policy(hwi_value_fn *value_of, const char *name)
{
  const char *value = value_of(name);
  if (!value || !strcmp(value, "grow"))
    return HWI_EXHAUSTED_GROW;
  if (!strcmp(value, "fail"))
    return HWI_EXHAUSTED_FAIL;
  if (!strcmp(value, "abort"))
    return HWI_EXHAUSTED_ABORT;
  hwi_setting_report(name, value, " is not one of grow, fail and abort; grow is used");
  return HWI_EXHAUSTED_GROW;
}

static bool read_touch(hwi_value_fn *value_of, const char *name)
{
  const char *value = value_of(name);
  if (value && !strcmp(value, "start"))
    return false;
  if (value && strcmp(value, "all"))
    hwi_setting_report(name, value, " is neither all nor start; all is used");
  return true;
}

void hwi_settings_read(struct hwi_settings *settings, hwi_value_fn *value_of)
{
  settings->pool_bytes = read_size(value_of, "HEAPWRIGHT_POOL_SIZE", "INITIAL_MEMPOOL_SIZE", HWI_POOL_LEAST_BYTES);
  settings->growth_bytes = read_size(value_of, "HEAPWRIGHT_POOL_GROWTH", "ADDITIONAL_MEMPOOL_SIZE", LEAST_GROWTH_BYTES);
  settings->exhausted = read_policy(value_of, "HEAPWRIGHT_POOL_POLICY");
  settings->locking = (enum hwi_locking)hwi_flag_read(value_of, "HEAPWRIGHT_POOL_LOCK", HWI_LOCKING_TRY);
  settings->touches_growth = read_touch(value_of, "HEAPWRIGHT_POOL_TOUCH");
  settings->huge_pages = hwi_flag_read(value_of, "HEAPWRIGHT_POOL_HUGE_PAGES", false);
  settings->stats = hwi_flag_read(value_of, "HEAPWRIGHT_POOL_STATS", false);
  settings->abort_on_fault = hwi_flag_read(value_of, "HEAPWRIGHT_CHECK", false);
}
