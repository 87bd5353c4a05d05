/* other_processes.c - the other processes of a run that the user can select in a page */
#include "cli/other_processes.h"

#include "report/content/evidence.h"

/* --- which --- */

static uint32_t pid_of(const struct hwi_profile *profile, uint32_t image)
{
  return profile->images[image].info ? profile->images[image].info->header.pid : 0;
}

static bool has(const struct hwi_other_processes *others, uint32_t pid)
{
  for (uint32_t i = 0; i < others->count; i++)
    if (others->pids[i] == pid)
      return true;
  return false;
}

/* Returns the PID whose image allocated most among those that are neither taken nor `shown`, or 0 if there is none. */
static uint32_t find_next(const struct hwi_other_processes *others, uint32_t shown)
{
  const struct hwi_profile *profile = others->report->profile;
  uint32_t found = 0;
  uint64_t most = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    uint32_t pid = pid_of(profile, i);
    uint64_t bytes = profile->images[i].totals.allocated_bytes;
    if (bytes <= most || pid == 0 || pid == shown || has(others, pid))
      continue;
    most = bytes;
    found = pid;
  }
  return found;
}

void hwi_other_processes_init(struct hwi_other_processes *others, const struct hwi_report *report,
                              const struct hwi_reading_source *source)
{
  uint32_t counted;
  const struct hwi_image *largest = hwi_largest_image(report->profile, &counted);
  uint32_t shown = counted == 1 ? largest->info->header.pid : 0;
  *others = (struct hwi_other_processes){.report = report, .source = *source};
  if (source->reading->pid != 0 || !largest)
    return;
  while (others->count < HWI_PAGE_OTHERS_MAX) {
    uint32_t pid = find_next(others, shown);
    if (pid == 0)
      break;
    others->pids[others->count++] = pid;
  }
}

/* --- reading them --- */

static int open_process(void *context, uint32_t index, struct hwi_report *report)
{
  struct hwi_other_processes *others = context;
  struct hwi_profile *profile;
  others->reading = *others->source.reading;
  others->reading.children = false;
  others->reading.pid = others->pids[index];
  int status = hwi_reading_try_profile(&others->reading, others->source.path, &profile);
  if (status < 0)
    return status;
  *report = *others->report;
  report->profile = profile;
  report->pid = others->pids[index];
  others->one = (struct hwi_reading_source){&others->reading, others->source.path};
  report->replayer = hwi_reading_replayer(&others->one);
  return HW_OK;
}

static void close_process(void *context, struct hwi_report *report)
{
  (void)context;
  hwi_profile_destroy((struct hwi_profile *)report->profile);
}

struct hwi_page_others hwi_other_processes_of_page(struct hwi_other_processes *others)
{
  return (struct hwi_page_others){others->count, open_process, close_process, others};
}
