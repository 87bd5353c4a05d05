/* summary_result.c - writes and reads the lists of a profile, before the sums over cells are made
 *
 * The fields of each list are named here once, for both directions; a static_assert next to them detects a field that
 * was added. Sums over cells are not stored: they are zero while a summary is written, and hwi_result_sum_up makes them
 * again, which is faster than reading them.
 */
#include "profile/summary/summary_result.h"

#include "base/error.h"
#include "profile/columns/frame_columns.h"
#include "profile/columns/timeline_columns.h"

#define U64 sizeof(uint64_t)

/* --- lists --- */

static const struct hwi_field cell_fields[] = {
    HWI_FIELD(struct hwi_profile_cell, thread),      HWI_NEAR_FIELD(struct hwi_profile_cell, stack),
    HWI_FIELD(struct hwi_profile_cell, size),        HWI_FIELD(struct hwi_profile_cell, usable),
    HWI_FIELD(struct hwi_profile_cell, calls),       HWI_FIELD(struct hwi_profile_cell, temporary_calls),
    HWI_FIELD(struct hwi_profile_cell, peak_blocks), HWI_FIELD(struct hwi_profile_cell, live_blocks),
    HWI_FIELD(struct hwi_profile_cell, scope),
};
_Static_assert(sizeof(struct hwi_profile_cell) == 7 * U64, "each field is above");
static const struct hwi_fields of_cell = HWI_FIELDS_OF(struct hwi_profile_cell, cell_fields);

static const struct hwi_field stack_fields[] = {
    HWI_FIELD(struct hwi_stack, failed_calls),   HWI_FIELD(struct hwi_stack, missed_frees),
    HWI_FIELD(struct hwi_stack, own_peak_bytes), HWI_NEAR_FIELD(struct hwi_stack, first_ns),
    HWI_NEAR_FIELD(struct hwi_stack, last_ns),   HWI_FIELDS(struct hwi_stack, lifetimes),
    HWI_NEAR_FIELD(struct hwi_stack, frame),     HWI_FIELD(struct hwi_stack, entry),
};
_Static_assert(sizeof(struct hwi_stack) == 31 * U64, "each is above, but what adds up and what was before a span");
static const struct hwi_fields of_stack = HWI_FIELDS_OF(struct hwi_stack, stack_fields);

static const struct hwi_field size_fields[] = {
    HWI_NEAR_FIELD(struct hwi_size, size),
    HWI_FIELD(struct hwi_size, own_peak_blocks),
};
_Static_assert(sizeof(struct hwi_size) == 7 * U64, "each is above, but what adds up");
static const struct hwi_fields of_size = HWI_FIELDS_OF(struct hwi_size, size_fields);

static const struct hwi_field thread_fields[] = {
    HWI_FIELD(struct hwi_profile_thread, image),
    HWI_FIELD(struct hwi_profile_thread, number),
    HWI_FIELD(struct hwi_profile_thread, tid),
    HWI_FIELD(struct hwi_profile_thread, policy),
    HWI_FIELD(struct hwi_profile_thread, priority),
    HWI_FIELDS(struct hwi_profile_thread, name),
    HWI_FIELD(struct hwi_profile_thread, free_calls),
    HWI_FIELD(struct hwi_profile_thread, failed_calls),
    HWI_FIELD(struct hwi_profile_thread, own_peak_bytes),
    HWI_FIELD(struct hwi_profile_thread, late_allocation_calls),
    HWI_FIELD(struct hwi_profile_thread, late_free_calls),
    HWI_FIELD(struct hwi_profile_thread, foreign_frees),
};
_Static_assert(sizeof(struct hwi_profile_thread) == 16 * U64, "each is above, but what adds up");
static const struct hwi_fields of_thread = HWI_FIELDS_OF(struct hwi_profile_thread, thread_fields);

static const struct hwi_field growing_fields[] = {
    HWI_FIELD(struct hwi_growing, stack),    HWI_FIELD(struct hwi_growing, from_ns),
    HWI_FIELD(struct hwi_growing, to_ns),    HWI_FIELD(struct hwi_growing, from_bytes),
    HWI_FIELD(struct hwi_growing, to_bytes),
};
_Static_assert(sizeof(struct hwi_growing) == 5 * U64, "each field is above");
static const struct hwi_fields of_growing = HWI_FIELDS_OF(struct hwi_growing, growing_fields);

static const struct hwi_field resizes_fields[] = {
    HWI_NEAR_FIELD(struct hwi_stack_resizes, stack),
    HWI_BOOL_FIELD(struct hwi_stack_resizes, estimated),
    HWI_FIELD(struct hwi_stack_resizes, steps.steps),
    HWI_FIELD(struct hwi_stack_resizes, steps.moved),
    HWI_FIELD(struct hwi_stack_resizes, steps.copied_bytes),
    HWI_FIELD(struct hwi_stack_resizes, steps.grown),
    HWI_FIELD(struct hwi_stack_resizes, steps.grown_copied_bytes),
    HWI_FIELD(struct hwi_stack_resizes, final_blocks),
    HWI_FIELD(struct hwi_stack_resizes, final_median),
    HWI_FIELD(struct hwi_stack_resizes, final_largest),
};
_Static_assert(sizeof(struct hwi_stack_resizes) == 9 * U64, "each field is above");
static const struct hwi_fields of_resizes = HWI_FIELDS_OF(struct hwi_stack_resizes, resizes_fields);

static const struct hwi_field together_fields[] = {
    HWI_NEAR_FIELD(struct hwi_together, stack),
    HWI_FIELD(struct hwi_together, blocks),
    HWI_FIELD(struct hwi_together, generations),
    HWI_FIELD(struct hwi_together, largest_bytes),
};
_Static_assert(sizeof(struct hwi_together) == 4 * U64, "each field is above");
static const struct hwi_fields of_together = HWI_FIELDS_OF(struct hwi_together, together_fields);

static const struct hwi_field handover_fields[] = {
    HWI_FIELD(struct hwi_handover, owner),
    HWI_FIELD(struct hwi_handover, freer),
    HWI_FIELD(struct hwi_handover, blocks),
    HWI_FIELD(struct hwi_handover, bytes),
};
_Static_assert(sizeof(struct hwi_handover) == 3 * U64, "each field is above");
static const struct hwi_fields of_handover = HWI_FIELDS_OF(struct hwi_handover, handover_fields);

/* Writes or reads a list of the profile, with its count. The result must free the list, even after a failure. */
static void pass_list(struct hwi_pass *pass, const struct hwi_fields *fields, const void **items, uint32_t *count)
{
  void *list = (void *)*items;
  size_t number = *count;
  hwi_pass_list(pass, fields, &list, &number, 1);
  *items = list;
  *count = (uint32_t)number; /* hwi_pass_count has checked that it fits */
}

/* --- other data --- */

static void pass_level(struct hwi_pass *pass, struct hwi_level *level)
{
  uint64_t *const numbers[] = {&level->bytes,       &level->blocks,      &level->usable, &level->peak_bytes,
                               &level->peak_blocks, &level->peak_usable, &level->peak_ns};
  _Static_assert(sizeof *level == sizeof numbers / sizeof *numbers * sizeof(uint64_t), "each is above");
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    hwi_pass_number(pass, numbers[i]);
}

/* The profile uses the tally's list. */
static void pass_handovers(struct hwi_pass *pass, struct hwi_result *result)
{
  struct hwi_handover_tally *tally = &result->replay.tally.handovers;
  size_t count = result->profile.handover_count;
  hwi_pass_list(pass, &of_handover, (void **)&tally->items, &count, 0);
  result->profile.handovers = tally->items;
  result->profile.handover_count = (uint32_t)count;
}

/* --- whether it is sound --- */

static bool stacks_are_sound(const struct hwi_profile *profile)
{
  if (profile->stack_count == 0)
    return false;
  for (uint32_t i = 0; i < profile->stack_count; i++)
    if (profile->stacks[i].frame >= profile->frame_count)
      return false;
  for (uint32_t i = 0; i < profile->growing_count; i++)
    if (profile->growing[i].stack >= profile->stack_count)
      return false;
  for (uint32_t i = 0; i < profile->resize_count; i++)
    if (profile->resizes[i].stack >= profile->stack_count)
      return false;
  for (uint32_t i = 0; i < profile->together_count; i++)
    if (profile->together[i].stack >= profile->stack_count || profile->together[i].generations == 0)
      return false;
  return true;
}

static bool threads_are_sound(const struct hwi_profile *profile)
{
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    const struct hwi_profile_thread *thread = &profile->threads[i];
    if (thread->image >= profile->image_count || thread->name[sizeof thread->name - 1])
      return false;
  }
  for (uint32_t i = 0; i < profile->handover_count; i++)
    if (profile->handovers[i].owner >= profile->thread_count || profile->handovers[i].freer >= profile->thread_count)
      return false;
  return true;
}

/* Returns false if a number is out of range, if a stack's cells are not consecutive, or if the cells' live blocks at
 * the peak do not add up to what the replay counted. */
static bool cells_are_sound(const struct hwi_profile *profile, const struct hwi_level *level)
{
  struct hwi_level sum = {0};
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    if (cell->thread >= profile->thread_count || cell->stack == 0 || cell->stack >= profile->stack_count ||
        cell->size >= profile->size_count || (cell->scope > 0 && cell->scope >= profile->scope_count) ||
        (i > 0 && cell->stack < cell[-1].stack))
      return false;
    sum.peak_blocks += cell->peak_blocks;
    sum.peak_bytes += cell->peak_blocks * profile->sizes[cell->size].size;
  }
  return sum.peak_blocks == level->peak_blocks && sum.peak_bytes == level->peak_bytes;
}

static bool is_sound(const struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  return stacks_are_sound(profile) && threads_are_sound(profile) && cells_are_sound(profile, &result->replay.level);
}

/* --- the whole --- */

void hwi_summary_pass_result(struct hwi_pass *pass, struct hwi_result *result)
{
  struct hwi_profile *profile = &result->profile;
  pass_level(pass, &result->replay.level);
  hwi_pass_points(pass, &result->profile, &result->replay.timeline, &result->replay.class_timeline);
  hwi_pass_frames(pass, &result->replay.resolver.frames);
  hwi_result_publish_frames(result);
  pass_list(pass, &of_stack, (const void **)&profile->stacks, &profile->stack_count);
  pass_list(pass, &of_size, (const void **)&profile->sizes, &profile->size_count);
  pass_list(pass, &of_thread, (const void **)&profile->threads, &profile->thread_count);
  pass_list(pass, &of_cell, (const void **)&profile->cells, &profile->cell_count);
  pass_list(pass, &of_growing, (const void **)&profile->growing, &profile->growing_count);
  pass_list(pass, &of_resizes, (const void **)&profile->resizes, &profile->resize_count);
  pass_list(pass, &of_together, (const void **)&profile->together, &profile->together_count);
  pass_handovers(pass, result);
  hwi_pass_scopes(pass, profile, &result->restored_scopes);
  if (!pass->writes && pass->status == 0 && !is_sound(result))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}
