/* tables.c - the lists by size, thread and entry point, size classes and handovers as members of a JSON object */

#include <stdlib.h>

#include "profile/blocks/sample.h"
#include "report/json/members.h"
#include "report/selection/entries.h"
#include "report/selection/selection.h"

/* --- sizes --- */

void hwi_json_sizes(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_narrowing *filter)
{
  struct hwi_amount *amounts = hwi_amounts_by_size(profile, filter);
  json->failed |= !amounts;
  hwi_json_begin_array(json, "sizes");
  for (uint32_t i = 0; i < profile->size_count && amounts; i++) {
    if (filter->rule_count > 0 && hwi_amount_is_nothing(&amounts[i]))
      continue;
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "size", profile->sizes[i].size);
    hwi_json_amount(json, &amounts[i]);
    if (!hwi_narrowing_splits_sizes(filter))
      hwi_json_number(json, "own_peak_blocks", profile->sizes[i].own_peak_blocks);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  free(amounts);
}

static void write_class(struct hwi_json *json, const struct hwi_profile *profile, unsigned class,
                        const struct hwi_amount *amount)
{
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "from_size", hwi_size_class_least(class));
  hwi_json_number(json, "to_size", hwi_size_class_most(class));
  hwi_json_number(json, "calls", amount->calls);
  hwi_json_number(json, "live_bytes", amount->live_bytes);
  hwi_json_number(json, "peak_bytes", amount->peak_bytes);
  hwi_json_begin_array(json, "live_bytes_along_time");
  for (uint32_t i = 0; i < profile->class_point_count; i++)
    hwi_json_number(json, NULL, profile->class_points[i].live_bytes[class]);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
}

void hwi_json_size_classes(struct hwi_json *json, const struct hwi_profile *profile)
{
  struct hwi_size_classes classes;
  hwi_size_classes_of(&classes, profile);
  hwi_json_begin_object(json, "size_classes");
  hwi_json_begin_array(json, "times_ns");
  for (uint32_t i = 0; i < profile->class_point_count; i++)
    hwi_json_number(json, NULL, profile->class_points[i].ns);
  hwi_json_end_array(json);
  hwi_json_begin_array(json, "classes");
  for (unsigned class = 0; class < HWI_SIZE_CLASSES; class ++) {
    if (!hwi_amount_is_nothing(&classes.items[class]))
      write_class(json, profile, class, &classes.items[class]);
  }
  hwi_json_end_array(json);
  hwi_json_end_object(json);
}

/* --- threads --- */

/* Writes the figures that are known only for a whole thread. */
static void write_whole_thread(struct hwi_json *json, const struct hwi_profile_thread *thread)
{
  hwi_json_number(json, "free_calls", thread->free_calls);
  hwi_json_number(json, "failed_calls", thread->failed_calls);
  hwi_json_number(json, "own_peak_bytes", thread->own_peak_bytes);
  hwi_json_number(json, "foreign_frees", thread->foreign_frees);
  hwi_json_number(json, "late_allocation_calls", thread->late_allocation_calls);
  hwi_json_number(json, "late_free_calls", thread->late_free_calls);
}

static void write_thread_errors(struct hwi_json *json, const struct hwi_variance *variance, bool knows_calls)
{
  if (!knows_calls) {
    hwi_json_number(json, "allocation_calls_error", hwi_sample_error(variance->calls));
    hwi_json_number(json, "allocated_bytes_error", hwi_sample_error(variance->bytes));
  }
  hwi_json_number(json, "temporary_calls_error", hwi_sample_error(variance->temporary_calls));
  hwi_json_number(json, "live_bytes_error", hwi_sample_error(variance->live_bytes));
  hwi_json_number(json, "live_blocks_error", hwi_sample_error(variance->live_blocks));
  hwi_json_number(json, "peak_bytes_error", hwi_sample_error(variance->peak_bytes));
  hwi_json_number(json, "peak_blocks_error", hwi_sample_error(variance->peak_blocks));
}

/* `knows_calls`: the thread has all its calls, also in a sample. */
static void write_thread(struct hwi_json *json, const struct hwi_profile *profile,
                         const struct hwi_profile_thread *thread, const struct hwi_amount *amount, bool knows_calls)
{
  hwi_json_text(json, "name", thread->name);
  hwi_json_number(json, "tid", thread->tid);
  if (thread->image < profile->image_count)
    hwi_json_number(json, "pid", profile->images[thread->image].info->header.pid);
  hwi_json_number(json, "policy", thread->policy);
  hwi_json_number(json, "priority", thread->priority);
  hwi_json_number(json, "allocation_calls", knows_calls ? thread->allocation_calls : amount->calls);
  hwi_json_number(json, "temporary_calls", amount->temporary_calls);
  hwi_json_number(json, "allocated_bytes", knows_calls ? thread->allocated_bytes : amount->bytes);
  hwi_json_number(json, "live_bytes", amount->live_bytes);
  hwi_json_number(json, "live_blocks", amount->live_blocks);
  hwi_json_number(json, "peak_bytes", amount->peak_bytes);
  hwi_json_number(json, "peak_blocks", amount->peak_blocks);
  if (hwi_amount_is_estimate(amount))
    write_thread_errors(json, &amount->variance, knows_calls);
}

void hwi_json_threads(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_narrowing *filter)
{
  struct hwi_amount *amounts = hwi_amounts_by_thread(profile, filter);
  json->failed |= !amounts;
  hwi_json_begin_array(json, "by_thread");
  for (uint32_t i = 0; i < profile->thread_count && amounts; i++) {
    if (!hwi_narrowing_keeps_thread(filter, i))
      continue;
    hwi_json_begin_object(json, NULL);
    write_thread(json, profile, &profile->threads[i], &amounts[i],
                 profile->calls_are_exact && !hwi_narrowing_splits_threads(filter));
    if (!hwi_narrowing_splits_threads(filter))
      write_whole_thread(json, &profile->threads[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  free(amounts);
}

static void write_thread_of_pair(struct hwi_json *json, const struct hwi_profile_thread *thread, const char *name_key,
                                 const char *tid_key)
{
  hwi_json_text(json, name_key, thread->name);
  hwi_json_number(json, tid_key, thread->tid);
}

void hwi_json_handovers(struct hwi_json *json, const struct hwi_profile *profile)
{
  hwi_json_begin_array(json, "handovers");
  for (uint32_t i = 0; i < profile->handover_count; i++) {
    const struct hwi_handover *pair = &profile->handovers[i];
    hwi_json_begin_object(json, NULL);
    write_thread_of_pair(json, &profile->threads[pair->owner], "owner", "owner_tid");
    write_thread_of_pair(json, &profile->threads[pair->freer], "freer", "freer_tid");
    hwi_json_number(json, "blocks", pair->blocks);
    hwi_json_number(json, "bytes", pair->bytes);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

/* --- entry points --- */

void hwi_json_entries(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_selection *selection)
{
  struct hwi_entries entries;
  hwi_entries_of(&entries, profile, selection);
  hwi_json_begin_array(json, "by_entry");
  for (uint32_t i = 0; i < HW_ENTRY_COUNT; i++) {
    if (hwi_amount_is_nothing(&entries.amounts[i]) && entries.failed_calls[i] == 0)
      continue;
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "entry", i != HW_ENTRY_NONE ? hwi_entry_name(i) : NULL);
    hwi_json_amount(json, &entries.amounts[i]);
    if (!hwi_narrowing_splits_stacks(&selection->narrowing))
      hwi_json_number(json, "failed_calls", entries.failed_calls[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
