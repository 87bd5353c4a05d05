/* figures.c - totals and amounts as members of a JSON object */
#include "report/json/figures.h"

#include "report/evidence.h"

const char *const hwi_cost_names[] = {"peak", "live", "calls", "bytes", "temporary", NULL};
const char *const hwi_by_names[] = {"stack", "function", "file", "line", "module", "thread", "size", "entry", NULL};

const struct hwi_json_field hwi_json_totals_fields[] = {
    {"allocation_calls", offsetof(struct hwi_totals, allocation_calls)},
    {"free_calls", offsetof(struct hwi_totals, free_calls)},
    {"failed_calls", offsetof(struct hwi_totals, failed_calls)},
    {"temporary_calls", offsetof(struct hwi_totals, temporary_calls)},
    {"allocated_bytes", offsetof(struct hwi_totals, allocated_bytes)},
    {"usable_bytes", offsetof(struct hwi_totals, usable_bytes)},
    {"peak_bytes", offsetof(struct hwi_totals, peak_bytes)},
    {"peak_blocks", offsetof(struct hwi_totals, peak_blocks)},
    {"peak_time_ns", offsetof(struct hwi_totals, peak_time_ns)},
    {"peak_usable_bytes", offsetof(struct hwi_totals, peak_usable_bytes)},
    {"live_blocks_at_end", offsetof(struct hwi_totals, live_blocks_at_end)},
    {"live_bytes_at_end", offsetof(struct hwi_totals, live_bytes_at_end)},
    {"unmatched_frees", offsetof(struct hwi_totals, unmatched_frees)},
    {"frees_of_silent_blocks", offsetof(struct hwi_totals, frees_of_silent_blocks)},
    {"missed_frees", offsetof(struct hwi_totals, missed_frees)},
    {"inherited_frees", offsetof(struct hwi_totals, inherited_frees)},
    {NULL, 0},
};

const struct hwi_json_field hwi_json_amount_fields[] = {
    {"calls", offsetof(struct hwi_amount, calls)},
    {"bytes", offsetof(struct hwi_amount, bytes)},
    {"temporary_calls", offsetof(struct hwi_amount, temporary_calls)},
    {"peak_bytes", offsetof(struct hwi_amount, peak_bytes)},
    {"peak_blocks", offsetof(struct hwi_amount, peak_blocks)},
    {"peak_usable_bytes", offsetof(struct hwi_amount, peak_usable)},
    {"live_bytes", offsetof(struct hwi_amount, live_bytes)},
    {"live_blocks", offsetof(struct hwi_amount, live_blocks)},
    {NULL, 0},
};

static void write_fields(struct hwi_json *json, const struct hwi_json_field *fields, const void *of)
{
  for (; fields->key; fields++)
    hwi_json_number(json, fields->key, *(const uint64_t *)((const char *)of + fields->off));
}

void hwi_json_totals(struct hwi_json *json, const struct hwi_totals *totals)
{
  write_fields(json, hwi_json_totals_fields, totals);
}

void hwi_json_run(struct hwi_json *json, const struct hwi_profile *profile)
{
  const struct hwi_image *image = hwi_largest_image(profile, NULL);
  if (image) {
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
  write_fields(json, hwi_json_amount_fields, amount);
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
