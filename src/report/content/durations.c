/* durations.c - how long the calls took, for a report or a part of its run */
#include "report/content/durations.h"

#define TALLY(field) .off = offsetof(struct hwi_duration_tally, field)

static double mean_of(const void *of)
{
  const struct hwi_duration_tally *tally = of;
  return tally->calls > 0 ? (double)tally->sum_ns / (double)tally->calls : 0;
}

static uint64_t rounded_mean_of(const struct hwi_figure *figure, const void *of)
{
  (void)figure;
  const struct hwi_duration_tally *tally = of;
  return tally->calls > 0 ? (tally->sum_ns + tally->calls / 2) / tally->calls : 0;
}

static uint64_t quantile_of(const struct hwi_figure *figure, const void *of)
{
  return hwi_duration_quantile(of, figure->part);
}

const struct hwi_figure hwi_duration_call_figures[] = {
    {"calls", TALLY(calls)},
    {"untimed_calls", TALLY(untimed), .not_in_changes = true},
    {0},
};

const struct hwi_figure hwi_duration_figures[] = {
    {"total_ns", TALLY(sum_ns)},
    {"mean_ns", "mean", "duration_mean", .value = rounded_mean_of, .ratio = mean_of, .not_in_tables = true},
    {"p50_ns", "p50", "duration_p50", .value = quantile_of, .part = HWI_DURATION_P50},
    {"p90_ns", .value = quantile_of, .part = HWI_DURATION_P90},
    {"p99_ns", "p99", "duration_p99", .value = quantile_of, .part = HWI_DURATION_P99},
    {"p99_9_ns", "p99.9", "duration_p99_9", .value = quantile_of, .part = HWI_DURATION_P99_9},
    {"p99_99_ns", "p99.99", "duration_p99_99", .value = quantile_of, .part = HWI_DURATION_P99_99},
    {"max_ns", "max", "duration_max", TALLY(max_ns)},
    {0},
};

struct gathering {
  const struct hwi_profile *profile;
  struct hwi_durations *durations;
  const struct hwi_narrowing *narrowing;
  uint64_t from_ns;
  bool no_memory;
};

bool hwi_profile_is_timed(const struct hwi_profile *profile)
{
  for (uint32_t i = 0; i < profile->image_count && !profile->heap; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (image->counted && image->info->header.fields & HW_FIELD_DURATION)
      return true;
  }
  return false;
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct gathering *gathering = context;
  const struct hwi_profile *profile = gathering->profile;
  if (event->ns < gathering->from_ns || event->stack >= profile->stack_count ||
      event->thread >= profile->thread_count ||
      !hwi_narrowing_keeps(gathering->narrowing,
                           &(struct hwi_narrowing_block){event->thread, event->stack, event->scope, event->size}))
    return true;
  gathering->no_memory = !hwi_durations_add(gathering->durations, event);
  return !gathering->no_memory;
}

/* A selection sort, since there are few. */
static void order_entries(struct hwi_report_durations *found)
{
  const struct hwi_duration_tally *tallies = found->durations.entries;
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++) {
    if (tallies[entry].calls + tallies[entry].untimed == 0)
      continue;
    uint32_t at = found->entry_count++;
    for (; at > 0 && tallies[found->entries[at - 1]].sum_ns < tallies[entry].sum_ns; at--)
      found->entries[at] = found->entries[at - 1];
    found->entries[at] = (uint8_t)entry;
  }
}

void hwi_report_durations_begin(struct hwi_report_durations *found, const struct hwi_profile *profile, size_t slow_max)
{
  *found = (struct hwi_report_durations){.durations.slow_max = slow_max};
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (image->counted && image->info->clock_cost_ns > found->clock_cost_ns)
      found->clock_cost_ns = image->info->clock_cost_ns;
  }
}

bool hwi_report_durations_end(struct hwi_report_durations *found)
{
  found->is_gathered = hwi_durations_sum(&found->durations, &found->all);
  hwi_durations_sort(&found->durations);
  order_entries(found);
  return found->is_gathered;
}

int hwi_report_durations_init(struct hwi_report_durations *found, const struct hwi_report *report,
                              const struct hwi_narrowing *narrowing, struct hwi_durations_wanted wanted,
                              struct hwi_error *error)
{
  const struct hwi_profile *profile = report->profile;
  uint64_t top = report->options.top == HWI_TOP_DEFAULT ? wanted.slow_calls : report->options.top;
  hwi_report_durations_begin(found, profile, top == 0 || top > HWI_SLOW_CALLS_MAX ? HWI_SLOW_CALLS_MAX : (size_t)top);
  hwi_durations_along_init(&found->along, hwi_profile_from_ns(profile), hwi_profile_end_ns(profile));
  found->durations.along = wanted.along ? &found->along : NULL;
  struct gathering gathering = {profile, &found->durations, narrowing, hwi_profile_from_ns(profile), false};
  const struct hwi_block_sink sink = {.take = take, .context = &gathering};
  int status = hwi_replayer_run(&report->replayer, profile, &sink, error);
  if (gathering.no_memory || (status == HW_OK && !hwi_report_durations_end(found)))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the durations of calls");
  return status;
}

void hwi_report_durations_release(struct hwi_report_durations *found)
{
  hwi_durations_release(&found->durations);
  hwi_durations_along_release(&found->along);
  hwi_duration_tally_release(&found->all);
}
