/* figures.c - totals and amounts as members of a JSON object */
#include "report/content/evidence.h"
#include "report/json/members.h"

void hwi_json_figures(struct hwi_json *json, const struct hwi_figure *figures, const void *of)
{
  for (; figures->key; figures++) {
    if (figures->ratio)
      hwi_json_decimal(json, figures->key, figures->ratio(of));
    else if (figures->is_signed)
      hwi_json_signed(json, figures->key, (int64_t)hwi_figure_value(figures, of));
    else
      hwi_json_number(json, figures->key, hwi_figure_value(figures, of));
  }
}

void hwi_json_changes(struct hwi_json *json, const struct hwi_figure *figures, const void *old, const void *new)
{
  for (; figures->key; figures++) {
    if (figures->not_in_changes)
      continue;
    if (figures->ratio)
      hwi_json_decimal(json, figures->key, figures->ratio(new) - figures->ratio(old));
    else
      hwi_json_signed(json, figures->key, (int64_t)(hwi_figure_value(figures, new) - hwi_figure_value(figures, old)));
  }
}

enum { FIRST_AFTER_CALLS = 2 }; /* of hwi_totals_errors */

/* Writes the errors of the totals that are estimates. */
static void write_sample(struct hwi_json *json, const struct hwi_profile *profile)
{
  const struct hwi_amount all = hwi_amount_of_totals(profile);
  hwi_json_bool(json, "estimated", true);
  hwi_json_number(json, "sample_bytes", profile->sample_bytes);
  hwi_json_figures(json, hwi_totals_errors + (profile->calls_are_exact ? FIRST_AFTER_CALLS : 0), &all);
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
  hwi_json_figures(json, hwi_totals_figures, &profile->totals);
  if (profile->sample_bytes)
    write_sample(json, profile);
}

void hwi_json_amount(struct hwi_json *json, const struct hwi_amount *amount)
{
  hwi_json_figures(json, hwi_amount_figures, amount);
  if (hwi_amount_is_estimate(amount))
    hwi_json_figures(json, hwi_amount_errors, amount);
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

void hwi_json_lifetimes(struct hwi_json *json, const uint64_t lifetimes[HWI_LIFETIMES])
{
  hwi_json_begin_object(json, "lifetimes");
  for (int step = 0; step < HWI_LIFETIMES; step++)
    hwi_json_number(json, hwi_lifetime_keys[step], lifetimes[step]);
  hwi_json_end_object(json);
}
