/* summary_parts.c - writes and reads the further data from which a part of the run can be computed with its epochs
 *
 * Epochs number cells and sizes in the order in which the run met them; a profile has them in another order. So these
 * numbers are stored, and the replay's tally is restored from the profile: its items with their numbers, and nothing
 * counted.
 */
#include "profile/summary/summary_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/summary/summary_epochs.h"

static const struct hwi_field number_fields[] = {{0, sizeof(uint32_t), HWI_FIELD_NEAR, false, 1}};
static const struct hwi_fields of_number = {number_fields, 1, sizeof(uint32_t)};

static const struct hwi_field start_fields[] = {HWI_NEAR_FIELD(struct hwi_thread_tally, first_ns)};
static const struct hwi_fields of_start = HWI_FIELDS_OF(struct hwi_thread_tally, start_fields);

/* --- the tally --- */

static bool make_room(struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  struct hwi_tally *tally = &result->replay.tally;
  tally->size_count = (size_t)profile->size_count + 1;
  tally->thread_count = profile->thread_count;
  result->cell_numbers = calloc((size_t)profile->cell_count + 1, sizeof *result->cell_numbers);
  result->size_numbers = calloc(tally->size_count, sizeof *result->size_numbers);
  tally->sizes = calloc(tally->size_count, sizeof *tally->sizes);
  tally->threads = calloc(tally->thread_count + 1, sizeof *tally->threads);
  result->described = calloc(tally->thread_count + 1, sizeof *result->described);
  result->described_count = tally->thread_count;
  return result->cell_numbers && result->size_numbers && tally->sizes && tally->threads && result->described &&
         hwi_tally_make_stacks(tally, profile->stack_count) && hwi_tally_make_cells(tally, profile->cell_count + 1);
}

/* Returns false if two sizes have the same number, or if a number is invalid. */
static bool restore_sizes(struct hwi_result *result)
{
  struct hwi_tally *tally = &result->replay.tally;
  uint8_t *known = calloc(tally->size_count, 1);
  bool sound = known;
  for (uint32_t i = 0; i < result->profile.size_count && sound; i++) {
    const uint32_t number = result->size_numbers[i];
    sound = number && number < tally->size_count && !known[number];
    if (!sound)
      break;
    known[number] = 1;
    tally->sizes[number].size = result->profile.sizes[i].size;
  }
  free(known);
  return sound;
}

/* Returns false likewise. */
static bool restore_cells(struct hwi_result *result)
{
  struct hwi_tally *tally = &result->replay.tally;
  for (uint32_t i = 0; i < result->profile.cell_count; i++) {
    const struct hwi_profile_cell *from = &result->profile.cells[i];
    const uint32_t number = result->cell_numbers[i];
    if (!number || number >= tally->cell_count || hwi_tally_cell(tally, number)->stack)
      return false;
    *hwi_tally_cell(tally, number) = (struct hwi_cell){.size = result->profile.sizes[from->size].size,
                                                       .usable = from->usable,
                                                       .thread = from->thread,
                                                       .stack = from->stack,
                                                       .size_number = result->size_numbers[from->size]};
  }
  return true;
}

static void restore_others(struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  struct hwi_tally *tally = &result->replay.tally;
  for (uint32_t i = 0; i < profile->stack_count; i++)
    tally->stacks[i].frame = profile->stacks[i].frame;
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    const struct hwi_profile_thread *from = &profile->threads[i];
    struct hwi_thread *described = &result->described[i];
    tally->threads[i].image = from->image;
    tally->threads[i].number = from->number;
    *described = (struct hwi_thread){.tid = from->tid, .policy = from->policy, .priority = from->priority};
    memcpy(described->name, from->name, sizeof described->name);
  }
}

/* Releases the result's lists, which are made again for the part of the run. */
static void drop_lists(struct hwi_result *result)
{
  struct hwi_profile *profile = &result->profile;
  hwi_result_release_lists(result);
  profile->timeline = NULL;
  profile->class_points = NULL;
  profile->timeline_count = profile->class_point_count = 0;
  free(result->cell_numbers);
  free(result->size_numbers);
  result->cell_numbers = result->size_numbers = NULL;
}

static void restore(struct hwi_pass *pass, struct hwi_result *result)
{
  if (!restore_sizes(result) || !restore_cells(result)) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    return;
  }
  restore_others(result);
  drop_lists(result);
  if (!hwi_summary_epochs_are_sound(result))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

void hwi_summary_pass_parts(struct hwi_pass *pass, struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  if (!pass->writes && !make_room(result)) {
    hwi_pass_fail(pass, HW_ERR_MEMORY);
    return;
  }
  hwi_pass_array(pass, &of_number, result->size_numbers, profile->size_count);
  hwi_pass_array(pass, &of_number, result->cell_numbers, profile->cell_count);
  hwi_pass_array(pass, &of_start, result->replay.tally.threads, profile->thread_count);
  hwi_summary_pass_epochs(pass, result);
  if (!pass->writes && pass->status == 0)
    restore(pass, result);
}
