/* json_figures.c - totals and amounts as members of a JSON object */
#include "report/json_figures.h"

#include "report/evidence.h"

const char *const hwi_cost_names[] = {"peak", "live", "calls", "bytes", "temporary", NULL};
const char *const hwi_by_names[] = {"stack", "function", "file", "line", "module", "thread", "size", NULL};

void hwi_json_totals(struct hwi_json *json, const struct hwi_totals *totals)
{
  hwi_json_number(json, "allocation_calls", totals->allocation_calls);
  hwi_json_number(json, "free_calls", totals->free_calls);
  hwi_json_number(json, "failed_calls", totals->failed_calls);
  hwi_json_number(json, "temporary_calls", totals->temporary_calls);
  hwi_json_number(json, "allocated_bytes", totals->allocated_bytes);
  hwi_json_number(json, "usable_bytes", totals->usable_bytes);
  hwi_json_number(json, "peak_bytes", totals->peak_bytes);
  hwi_json_number(json, "peak_blocks", totals->peak_blocks);
  hwi_json_number(json, "peak_time_ns", totals->peak_time_ns);
  hwi_json_number(json, "peak_usable_bytes", totals->peak_usable_bytes);
  hwi_json_number(json, "live_blocks_at_end", totals->live_blocks_at_end);
  hwi_json_number(json, "live_bytes_at_end", totals->live_bytes_at_end);
  hwi_json_number(json, "unmatched_frees", totals->unmatched_frees);
  hwi_json_number(json, "frees_of_silent_blocks", totals->frees_of_silent_blocks);
  hwi_json_number(json, "missed_frees", totals->missed_frees);
  hwi_json_number(json, "inherited_frees", totals->inherited_frees);
}

void hwi_json_run(struct hwi_json *json, const struct hwi_profile *profile)
{
  const struct hwi_image *image = hwi_largest_image(profile, NULL);
  if (image != NULL) {
    hwi_json_text(json, "trace", image->info->path);
    hwi_json_text(json, "command", image->info->command);
    hwi_json_number(json, "pid", image->info->header.pid);
  }
  hwi_json_number(json, "duration_ns", profile->duration_ns);
  hwi_json_number(json, "threads", profile->thread_count);
  hwi_json_totals(json, &profile->totals);
}

void hwi_json_amount(struct hwi_json *json, const struct hwi_amount *amount)
{
  hwi_json_number(json, "calls", amount->calls);
  hwi_json_number(json, "bytes", amount->bytes);
  hwi_json_number(json, "temporary_calls", amount->temporary_calls);
  hwi_json_number(json, "peak_bytes", amount->peak_bytes);
  hwi_json_number(json, "peak_blocks", amount->peak_blocks);
  hwi_json_number(json, "peak_usable_bytes", amount->peak_usable);
  hwi_json_number(json, "live_bytes", amount->live_bytes);
  hwi_json_number(json, "live_blocks", amount->live_blocks);
}

void hwi_json_amount_of(struct hwi_json *json, const char *key, const struct hwi_amount *amount)
{
  hwi_json_begin_object(json, key);
  hwi_json_amount(json, amount);
  hwi_json_end_object(json);
}

void hwi_json_suppressions(struct hwi_json *json, const struct hwi_suppressions *suppressions)
{
  hwi_json_begin_array(json, "suppressions");
  for (size_t i = 0; i < suppressions->count; i++) {
    const struct hwi_suppression *item = &suppressions->items[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "pattern", item->pattern);
    hwi_json_number(json, "line", item->line);
    hwi_json_number(json, "stacks", item->stacks);
    hwi_json_number(json, "blocks", item->blocks);
    hwi_json_number(json, "bytes", item->bytes);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
