/* compared.c - the runs that a command compares: recordings, or reports saved as JSON */
#include "cli/compared.h"

int hwi_compared_open(struct hwi_compared *run, const struct hwi_reading *reading, const char *path)
{
  *run = (struct hwi_compared){.source = {reading, run->path}};
  int status = hwi_reading_find(path, run->path, sizeof run->path);
  if (status != 0)
    return status;
  if (hwi_saved_is(run->path)) {
    struct hwi_error error = {0};
    if (hwi_saved_create(&run->saved, run->path, &error) < 0)
      return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
    run->profile = &run->saved->profile;
    return 0;
  }
  status = hwi_reading_profile(reading, run->path, &run->recorded);
  run->profile = run->recorded;
  return status;
}

void hwi_compared_close(struct hwi_compared *run)
{
  if (run->recorded)
    hwi_profile_destroy(run->recorded);
  hwi_saved_destroy(run->saved);
  *run = (struct hwi_compared){0};
}

struct hwi_names hwi_compared_names(const struct hwi_compared *run, struct hwi_symbols *symbols)
{
  return run->saved ? run->saved->names : hwi_reading_names(symbols);
}

const char *hwi_compared_trace(const struct hwi_compared *run)
{
  return run->recorded ? run->path : NULL;
}
