/* control_group.c - the memory of the control group in which the processes of a report ran */
#include "report/content/control_group.h"

#include <signal.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static void take_image(struct hwi_control_group *group, const struct hwi_trace_info *info)
{
  for (uint32_t i = 0; i < info->rss_count; i++) {
    const struct hw_rss_sample *sample = &info->rss[i].sample;
    group->oom_kills = larger(group->oom_kills, sample->group_oom_kills);
    const bool has_limit = sample->group_limit > 0, had_limit = group->limit_bytes > 0;
    if (has_limit == had_limit ? sample->group_current <= group->peak_bytes : had_limit)
      continue;
    group->peak_bytes = sample->group_current;
    group->limit_bytes = sample->group_limit;
  }
  if (info->exit)
    group->oom_kills = larger(group->oom_kills, info->exit->group_oom_kills);
}

struct hwi_control_group hwi_control_group_of(const struct hwi_profile *profile)
{
  struct hwi_control_group group = {0};
  for (uint32_t i = 0; i < profile->image_count; i++)
    if (profile->images[i].counted)
      take_image(&group, profile->images[i].info);
  return group;
}

bool hwi_control_group_is_shown(const struct hwi_control_group *group)
{
  enum { SHOWN_SHARE = 10 };
  return group->oom_kills > 0 || (group->limit_bytes > 0 && group->peak_bytes > group->limit_bytes / SHOWN_SHARE);
}

bool hwi_was_out_of_memory(const struct hwi_trace_info *info)
{
  return info->exit && info->exit->signal == SIGKILL && info->exit->group_oom_kills > 0;
}
