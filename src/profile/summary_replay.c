/* summary_replay.c - what a summary keeps of a replay that has seen its last event
 *
 * Each list of the tally has its fields named here, once for both directions; a static_assert beside it notices a field that is
 * new. What only serves to find things while events are applied (hash tables, the latest cell of a stack) is not kept.
 */
#include "profile/summary_replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/summary_epochs.h"
#include "trace/grow.h"

#define U64 sizeof(uint64_t)

/* --- lists --- */

static const struct hwi_field cell_fields[] = {
    HWI_FIELD(struct hwi_cell, thread),
    HWI_NEAR_FIELD(struct hwi_cell, stack),
    HWI_NEAR_FIELD(struct hwi_cell, size_number),
    HWI_FIELD(struct hwi_cell, usable),
    HWI_FIELD(struct hwi_cell, calls),
    HWI_FIELD(struct hwi_cell, temporary_calls),
    HWI_FIELD(struct hwi_cell, live),
    HWI_FIELD(struct hwi_cell, peak_live),
};
_Static_assert(sizeof(struct hwi_cell) == 8 * U64, "each field is above, but the size, which its number tells");
static const struct hwi_fields of_cell = HWI_FIELDS_OF(struct hwi_cell, cell_fields);

static const struct hwi_field number_fields[] = {{0, U64, HWI_FIELD_ANY, false, 1}};
static const struct hwi_fields of_number = {number_fields, 1, U64};

static const struct hwi_field stack_fields[] = {
    HWI_FIELD(struct hwi_stack_tally, live_bytes),           HWI_FIELD(struct hwi_stack_tally, own_peak_bytes),
    HWI_FIELD(struct hwi_stack_tally, growth.minimum),       HWI_FIELD(struct hwi_stack_tally, growth.previous_minimum),
    HWI_FIELD(struct hwi_stack_tally, growth.first_minimum), HWI_FIELD(struct hwi_stack_tally, growth.tenth),
    HWI_FIELD(struct hwi_stack_tally, growth.rise),          HWI_FIELDS(struct hwi_stack_tally, ended),
    HWI_NEAR_FIELD(struct hwi_stack_tally, first_ns),        HWI_NEAR_FIELD(struct hwi_stack_tally, last_ns),
    HWI_FIELD(struct hwi_stack_tally, failed_calls),         HWI_FIELD(struct hwi_stack_tally, missed_frees),
    HWI_NEAR_FIELD(struct hwi_stack_tally, frame),           HWI_FIELD(struct hwi_stack_tally, sweeps.births),
    HWI_FIELD(struct hwi_stack_tally, sweeps.swept),         HWI_FIELD(struct hwi_stack_tally, sweeps.generations),
    HWI_FIELD(struct hwi_stack_tally, sweeps.swept_bytes),   HWI_FIELD(struct hwi_stack_tally, sweeps.blocks),
    HWI_FIELD(struct hwi_stack_tally, sweeps.largest_bytes),
};
_Static_assert(sizeof(struct hwi_stack_tally) == 22 * U64,
               "each is above, but `called`, `last_cell`, the sweep's number");
static const struct hwi_fields of_stack = HWI_FIELDS_OF(struct hwi_stack_tally, stack_fields);

static const struct hwi_field size_fields[] = {
    HWI_FIELD(struct hwi_size_tally, size),
    HWI_FIELD(struct hwi_size_tally, live),
    HWI_FIELD(struct hwi_size_tally, own_peak),
};
_Static_assert(sizeof(struct hwi_size_tally) == 3 * U64, "each field is above");
static const struct hwi_fields of_size = HWI_FIELDS_OF(struct hwi_size_tally, size_fields);

static const struct hwi_field thread_fields[] = {
    HWI_FIELD(struct hwi_thread_tally, live_bytes),
    HWI_FIELD(struct hwi_thread_tally, own_peak_bytes),
    HWI_FIELD(struct hwi_thread_tally, free_calls),
    HWI_FIELD(struct hwi_thread_tally, foreign_frees),
    HWI_FIELD(struct hwi_thread_tally, failed_calls),
    HWI_NEAR_FIELD(struct hwi_thread_tally, first_ns),
    HWI_FIELD(struct hwi_thread_tally, late_allocation_calls),
    HWI_FIELD(struct hwi_thread_tally, late_free_calls),
    HWI_FIELD(struct hwi_thread_tally, image),
    HWI_FIELD(struct hwi_thread_tally, number),
};
_Static_assert(sizeof(struct hwi_thread_tally) == 13 * U64,
               "each is above, but what the next event would be judged by");
static const struct hwi_fields of_thread = HWI_FIELDS_OF(struct hwi_thread_tally, thread_fields);

static const struct hwi_field described_fields[] = {
    HWI_FIELD(struct hwi_thread, tid),      HWI_FIELD(struct hwi_thread, policy),
    HWI_FIELD(struct hwi_thread, priority), HWI_BOOL_FIELD(struct hwi_thread, known),
    HWI_FIELDS(struct hwi_thread, name),
};
static const struct hwi_fields of_described = HWI_FIELDS_OF(struct hwi_thread, described_fields);

static const struct hwi_field frame_fields[] = {
    HWI_NEAR_FIELD(struct hwi_frame, address), HWI_NEAR_FIELD(struct hwi_frame, caller),
    HWI_FIELD(struct hwi_frame, module),       HWI_FIELD(struct hwi_frame, entry),
    HWI_BOOL_FIELD(struct hwi_frame, cut),
};
_Static_assert(sizeof(struct hwi_frame) == 3 * U64, "each field is above");
static const struct hwi_fields of_frame = HWI_FIELDS_OF(struct hwi_frame, frame_fields);

static const struct hwi_field module_fields[] = {
    HWI_FIELDS(struct hwi_profile_module, build_id),  HWI_FIELD(struct hwi_profile_module, build_id_bytes),
    HWI_NEAR_FIELD(struct hwi_profile_module, start), HWI_NEAR_FIELD(struct hwi_profile_module, end),
    HWI_NEAR_FIELD(struct hwi_profile_module, bias),
};
_Static_assert(sizeof(struct hwi_profile_module) == 13 * U64, "each field is above, but the path");
static const struct hwi_fields of_module = HWI_FIELDS_OF(struct hwi_profile_module, module_fields);

static const struct hwi_field point_fields[] = {
    HWI_NEAR_FIELD(struct hwi_time_point, ns),          HWI_NEAR_FIELD(struct hwi_time_point, live_bytes),
    HWI_NEAR_FIELD(struct hwi_time_point, live_blocks), HWI_NEAR_FIELD(struct hwi_time_point, max_bytes),
    HWI_FIELD(struct hwi_time_point, allocation_calls), HWI_FIELD(struct hwi_time_point, free_calls),
    HWI_FIELD(struct hwi_time_point, allocated_bytes),
};
_Static_assert(sizeof(struct hwi_time_point) == 7 * U64, "each field is above");
static const struct hwi_fields of_point = HWI_FIELDS_OF(struct hwi_time_point, point_fields);

static const struct hwi_field class_point_fields[] = {
    HWI_NEAR_FIELD(struct hwi_class_point, ns),
    HWI_FIELDS(struct hwi_class_point, live_bytes),
};
_Static_assert(sizeof(struct hwi_class_point) == (1 + HWI_SIZE_CLASSES) * U64, "each field is above");
static const struct hwi_fields of_class_point = HWI_FIELDS_OF(struct hwi_class_point, class_point_fields);

static const struct hwi_field resize_fields[] = {
    HWI_FIELD(struct hwi_cell_resizes, steps.steps),
    HWI_FIELD(struct hwi_cell_resizes, steps.moved),
    HWI_FIELD(struct hwi_cell_resizes, steps.copied_bytes),
    HWI_FIELD(struct hwi_cell_resizes, steps.grown),
    HWI_FIELD(struct hwi_cell_resizes, steps.grown_copied_bytes),
    HWI_FIELD(struct hwi_cell_resizes, ended),
};
_Static_assert(sizeof(struct hwi_cell_resizes) == 6 * U64, "each field is above");
static const struct hwi_fields of_resize = HWI_FIELDS_OF(struct hwi_cell_resizes, resize_fields);

static const struct hwi_field handover_fields[] = {
    HWI_FIELD(struct hwi_handover, owner),
    HWI_FIELD(struct hwi_handover, freer),
    HWI_FIELD(struct hwi_handover, blocks),
    HWI_FIELD(struct hwi_handover, bytes),
};
_Static_assert(sizeof(struct hwi_handover) == 3 * U64, "each field is above");
static const struct hwi_fields of_handover = HWI_FIELDS_OF(struct hwi_handover, handover_fields);

static const struct hwi_field text_fields[] = {{0, 1, HWI_FIELD_ANY, false, 1}};
static const struct hwi_fields of_text = {text_fields, 1, 1};

/* --- cells --- */

_Static_assert((int)HWI_PASS_GROUP_ITEMS == (int)HWI_CELLS_A_BLOCK, "cells are passed block by block");

static void pass_cells(struct hwi_pass *pass, struct hwi_tally *tally)
{
  uint64_t count = tally->cell_count;
  if (!hwi_pass_count(pass, &count))
    return;
  if (!pass->writes && (count == 0 || !hwi_tally_make_cells(tally, (uint32_t)count)))
    hwi_pass_fail(pass, count ? HW_ERR_MEMORY : HW_ERR_DAMAGED);
  if (count == 1) /* the one that is unused, perhaps without a block */
    return;
  for (uint64_t first = 0; first < count && pass->status == 0; first += HWI_CELLS_A_BLOCK)
    hwi_pass_array(pass, &of_cell, hwi_tally_cell(tally, (uint32_t)first),
                   count - first < HWI_CELLS_A_BLOCK ? (size_t)(count - first) : HWI_CELLS_A_BLOCK);
}

/* Of the cells; fewer where those behind have none. */
static void pass_ended(struct hwi_pass *pass, struct hwi_tally *tally)
{
  size_t count = tally->ended_capacity < tally->cell_count ? tally->ended_capacity : tally->cell_count;
  hwi_pass_list(pass, &of_number, (void **)&tally->ended, &count, 0);
  if (!pass->writes)
    tally->ended_capacity = count;
}

/* The numbers are those of the list's order. */
static void restore_numbering(struct hwi_pass *pass, struct hwi_numbering *numbering, const uint64_t *keys,
                              size_t count)
{
  for (size_t i = 0; i < count && pass->status == 0; i++) {
    uint32_t number = hwi_numbering_of(numbering, keys[i]);
    if (number != i)
      hwi_pass_fail(pass, number == UINT32_MAX ? HW_ERR_MEMORY : HW_ERR_DAMAGED);
  }
}

static void pass_resizes(struct hwi_pass *pass, struct hwi_resize_tally *resizes)
{
  uint64_t *keys = resizes->cells.keys;
  size_t key_count = resizes->cells.count, item_count = key_count;
  hwi_pass_list(pass, &of_number, (void **)&keys, &key_count, 0);
  hwi_pass_list(pass, &of_resize, (void **)&resizes->items, &item_count, 0);
  if (pass->writes)
    return;
  resizes->capacity = item_count;
  if (key_count == item_count)
    restore_numbering(pass, &resizes->cells, keys, key_count);
  else
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  free(keys);
}

/* Their keys are not looked for any more. */
static void pass_handovers(struct hwi_pass *pass, struct hwi_handover_tally *handovers)
{
  size_t count = handovers->pairs.count;
  hwi_pass_list(pass, &of_handover, (void **)&handovers->items, &count, 0);
  handovers->pairs.count = count;
}

/* --- modules --- */

static void pass_path(struct hwi_pass *pass, const char **path)
{
  size_t bytes = pass->writes ? strlen(*path) + 1 : 0;
  char *text = (char *)*path;
  hwi_pass_list(pass, &of_text, (void **)&text, &bytes, 1); /* ends, whatever was read */
  *path = text;
}

static void pass_modules(struct hwi_pass *pass, struct hwi_frames *frames)
{
  hwi_pass_list(pass, &of_module, (void **)&frames->modules, &frames->module_count, 0);
  for (size_t i = 1; i < frames->module_count && pass->status == 0; i++)
    pass_path(pass, &frames->modules[i].path);
}

/* --- what is no list --- */

static void pass_level(struct hwi_pass *pass, struct hwi_level *level)
{
  uint64_t *const numbers[] = {&level->bytes,       &level->blocks,      &level->usable, &level->peak_bytes,
                               &level->peak_blocks, &level->peak_usable, &level->peak_ns};
  _Static_assert(sizeof *level == sizeof numbers, "each is above");
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    hwi_pass_number(pass, numbers[i]);
}

static void pass_tenths(struct hwi_pass *pass, struct hwi_tenths *tenths)
{
  uint64_t current = tenths->current;
  hwi_pass_number(pass, &tenths->width_ns);
  hwi_pass_number(pass, &tenths->end_ns);
  hwi_pass_number(pass, &current);
  tenths->current = (uint32_t)current;
}

/* Slices or moments may be that far from each other. */
static bool is_grid(uint64_t width_ns)
{
  return width_ns && !(width_ns & (width_ns - 1)) && width_ns <= HWI_TRACE_LATEST_NS / (HWI_CLASS_POINTS / 4);
}

/* Time can go on in it. */
static bool timeline_is_sound(const struct hwi_timeline *t)
{
  return is_grid(t->width_ns) && t->first + t->current < 2 * HWI_TRACE_LATEST_NS / t->width_ns &&
         t->first <= HWI_TRACE_LATEST_NS / t->width_ns && t->slice_end_ns == (t->first + t->current + 1) * t->width_ns;
}

static void pass_timeline(struct hwi_pass *pass, struct hwi_timeline *timeline)
{
  uint64_t count = timeline->current + UINT64_C(1);
  hwi_pass_number(pass, &timeline->first);
  hwi_pass_number(pass, &timeline->width_ns);
  hwi_pass_number(pass, &timeline->slice_end_ns);
  if (!hwi_pass_count(pass, &count))
    return;
  if (count == 0 || count > HWI_TIMELINE_POINTS) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    return;
  }
  timeline->current = (uint32_t)count - 1;
  hwi_pass_array(pass, &of_point, timeline->points, (size_t)count);
  if (!timeline_is_sound(timeline))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

static void pass_class_timeline(struct hwi_pass *pass, struct hwi_class_timeline *timeline)
{
  uint64_t count = timeline->count;
  hwi_pass_number(pass, &timeline->width_ns);
  hwi_pass_number(pass, &timeline->next_ns);
  if (!hwi_pass_count(pass, &count))
    return;
  if (count >= HWI_CLASS_POINTS) {
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
    return;
  }
  timeline->count = (uint32_t)count;
  hwi_pass_array(pass, &of_class_point, timeline->points, (size_t)count);
  if (!is_grid(timeline->width_ns) || timeline->next_ns % timeline->width_ns ||
      timeline->next_ns > 2 * HWI_TRACE_LATEST_NS)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

void hwi_summary_pass_timelines(struct hwi_pass *pass, struct hwi_timeline *timeline,
                                struct hwi_class_timeline *classes)
{
  pass_timeline(pass, timeline);
  pass_class_timeline(pass, classes);
}

/* --- whether it is sound --- */

static bool frames_are_sound(const struct hwi_frames *frames)
{
  if (frames->count == 0 || frames->module_count == 0)
    return false;
  for (size_t i = 0; i < frames->module_count; i++)
    if (frames->modules[i].build_id_bytes > sizeof frames->modules[i].build_id)
      return false;
  for (size_t i = 0; i < frames->count; i++) {
    const struct hwi_frame *frame = &frames->frames[i];
    if (frame->module >= frames->module_count || (i == 0 ? frame->caller != 0 : frame->caller >= i))
      return false;
  }
  return true;
}

static bool lists_are_sound(const struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  if (tally->stack_count == 0 || tally->size_count == 0 || result->described_count != tally->thread_count ||
      tally->stack_count > UINT32_MAX || tally->size_count > UINT32_MAX || tally->thread_count > UINT32_MAX)
    return false;
  for (size_t i = 0; i < tally->stack_count; i++)
    if (tally->stacks[i].frame >= result->replay.frames.count)
      return false;
  for (size_t i = 0; i < tally->resizes.cells.count; i++)
    if (tally->resizes.cells.keys[i] == 0 || tally->resizes.cells.keys[i] >= tally->cell_count)
      return false;
  for (size_t i = 0; i < tally->handovers.pairs.count; i++)
    if (tally->handovers.items[i].owner >= tally->thread_count ||
        tally->handovers.items[i].freer >= tally->thread_count)
      return false;
  for (size_t i = 0; i < tally->thread_count; i++)
    if (tally->threads[i].image >= result->profile.image_count || result->described[i].name[15])
      return false;
  return true;
}

/* Gives the cells their sizes; false: a number leaves its list, or the sums are not what the replay counted. */
static bool cells_are_sound(const struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  const struct hwi_level *level = &result->replay.level;
  struct hwi_level sum = {0};
  for (uint32_t i = 1; i < tally->cell_count; i++) {
    struct hwi_cell *cell = hwi_tally_cell(tally, i);
    if (cell->thread >= tally->thread_count || cell->stack == 0 || cell->stack >= tally->stack_count ||
        cell->size_number == 0 || cell->size_number >= tally->size_count)
      return false;
    cell->size = tally->sizes[cell->size_number].size;
    cell->generation = tally->generation;
    sum.blocks += cell->live;
    sum.bytes += cell->live * cell->size;
    sum.peak_blocks += cell->peak_live;
    sum.peak_bytes += cell->peak_live * cell->size;
  }
  return sum.blocks == level->blocks && sum.bytes == level->bytes && sum.peak_blocks == level->peak_blocks &&
         sum.peak_bytes == level->peak_bytes;
}

static bool is_sound(const struct hwi_result *result)
{
  return frames_are_sound(&result->replay.frames) && lists_are_sound(result) && cells_are_sound(result) &&
         result->replay.tenths.width_ns && hwi_summary_epochs_are_sound(result);
}

/* --- the whole --- */

void hwi_summary_pass_replay(struct hwi_pass *pass, struct hwi_result *result)
{
  struct hwi_replay *replay = &result->replay;
  struct hwi_tally *tally = &replay->tally;
  if (pass->writes)
    hwi_tally_settle_all(tally);
  pass_level(pass, &replay->level);
  pass_tenths(pass, &replay->tenths);
  hwi_summary_pass_timelines(pass, &replay->timeline, &replay->class_timeline);
  hwi_pass_list(pass, &of_frame, (void **)&replay->frames.frames, &replay->frames.count, 0);
  pass_modules(pass, &replay->frames);
  hwi_pass_list(pass, &of_stack, (void **)&tally->stacks, &tally->stack_count, 0);
  hwi_pass_list(pass, &of_size, (void **)&tally->sizes, &tally->size_count, 0);
  hwi_pass_list(pass, &of_thread, (void **)&tally->threads, &tally->thread_count, 1);
  hwi_pass_list(pass, &of_described, (void **)&result->described, &result->described_count, 1);
  pass_cells(pass, tally);
  pass_ended(pass, tally);
  pass_resizes(pass, &tally->resizes);
  pass_handovers(pass, &tally->handovers);
  hwi_summary_pass_epochs(pass, result);
  if (!pass->writes && pass->status == 0 && !is_sound(result))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}
