/* rows.c - joins stacks, threads, block sizes and entry points of two runs into rows: stacks of equal paths
 * (identity.h), the others by their names or sizes */
#include "compare/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/command_name.h"
#include "report/selection/entries.h"
#include "trace/grow.h"
#include "trace/store.h"

/* --- a table of rows --- */

struct hwi_diff_row *hwi_diff_row_table_find(struct hwi_diff_row_table *table, uint32_t number)
{
  struct hwi_comparison *comparison = table->comparison;
  if (!hwi_grow((void **)&table->rows, &table->room, (size_t)number + 1, sizeof *table->rows))
    return NULL;
  if (table->rows[number] == 0) {
    if (!hwi_grow((void **)&comparison->rows, &comparison->row_room, comparison->row_count + 1,
                  sizeof *comparison->rows))
      return NULL;
    comparison->rows[comparison->row_count++] = (struct hwi_diff_row){.items = {HWI_NO_ITEM, HWI_NO_ITEM}};
    table->rows[number] = (uint32_t)comparison->row_count;
  }
  return &comparison->rows[table->rows[number] - 1];
}

void hwi_diff_row_table_release(struct hwi_diff_row_table *table)
{
  free(table->rows);
}

/* The largest item of a side comes first and represents the row. */
void hwi_diff_row_add(struct hwi_diff_row *row, int side, uint32_t item, const struct hwi_amount *amount)
{
  if (row->items[side] == HWI_NO_ITEM)
    row->items[side] = item;
  row->item_counts[side]++;
  hwi_amount_add(&row->amounts[side], amount);
}

/* --- stacks --- */

struct matcher {
  struct hwi_comparison *comparison;
  struct hwi_stack_paths paths;
};

static bool add_stack(struct matcher *matcher, struct hwi_diff_row_table *table, struct hwi_store *paths, int side,
                      uint32_t stack)
{
  if (!hwi_stack_path_make(&matcher->paths, side, stack, false))
    return false;
  uint32_t number =
      hwi_store_intern(paths, matcher->paths.numbers, matcher->paths.count * sizeof *matcher->paths.numbers);
  struct hwi_diff_row *row = number != 0 ? hwi_diff_row_table_find(table, number) : NULL;
  if (row)
    hwi_diff_row_add(row, side, stack, &matcher->comparison->sides[side].selection.amounts[stack]);
  return row;
}

static bool add_stacks(struct matcher *matcher)
{
  struct hwi_comparison *comparison = matcher->comparison;
  struct hwi_diff_row_table table = {.comparison = comparison};
  struct hwi_store paths = {0};
  bool added = true;
  for (int side = 0; side < HWI_SIDES; side++) {
    const struct hwi_selection *selection = &comparison->sides[side].selection;
    for (uint32_t i = 0; i < selection->stack_count && added; i++)
      added = add_stack(matcher, &table, &paths, side, selection->stacks[i]);
  }
  hwi_store_release(&paths);
  hwi_diff_row_table_release(&table);
  return added;
}

static bool make_loose_path(void *context, int side, const struct hwi_diff_row *row, const uint32_t **numbers,
                            size_t *count)
{
  struct matcher *matcher = context;
  if (!hwi_stack_path_make(&matcher->paths, side, row->items[side], true))
    return false;
  const struct hwi_stack_paths *path = &matcher->paths;
  bool known = path->count > 0 && !path->vague[path->count - 1]; /* else the allocating function is unknown */
  *numbers = path->numbers;
  *count = known ? path->count : 0;
  return true;
}

int hwi_stack_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct matcher matcher = {.comparison = comparison, .paths = {.identities = &comparison->identities, .error = error}};
  for (int side = 0; side < HWI_SIDES; side++)
    matcher.paths.frames[side] = &comparison->sides[side].frames;
  bool done = add_stacks(&matcher) && hwi_join_similar(comparison, make_loose_path, &matcher);
  hwi_stack_paths_release(&matcher.paths);
  if (done)
    return HW_OK;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for comparing %zu stacks", comparison->row_count);
}

/* --- threads, sizes and entry points --- */

static int finish(struct hwi_diff_row_table *table, bool added, struct hwi_error *error)
{
  hwi_diff_row_table_release(table);
  return added ? HW_OK
               : hwi_error_set(error, HW_ERR_MEMORY, "no memory for comparing %zu rows", table->comparison->row_count);
}

static bool add_item(struct hwi_diff_row_table *table, const char *key, int side, uint32_t item,
                     const struct hwi_amount *amount)
{
  uint32_t number = hwi_identities_text(&table->comparison->identities, "item", key);
  struct hwi_diff_row *row = number != 0 ? hwi_diff_row_table_find(table, number) : NULL;
  if (row)
    hwi_diff_row_add(row, side, item, amount);
  return row;
}

/* Returns whether the thread has its program's name, as the first thread of a process has unless it was renamed. */
static bool has_program_name(const struct hwi_profile *profile, const struct hwi_profile_thread *thread)
{
  enum { KERNEL_NAME_BYTES = 15 }; /* the kernel cuts names to this length */
  if (thread->image >= profile->image_count || !profile->images[thread->image].info)
    return false;
  const struct hwi_trace_info *info = profile->images[thread->image].info;
  struct hwi_command_name run_as = hwi_command_name(info->command); /* the name of a symbolic link; the module has the
                                                                     * name of its target */
  return strncmp(thread->name, run_as.text, KERNEL_NAME_BYTES) == 0 ||
         strncmp(thread->name, hwi_base_name(info->exe), KERNEL_NAME_BYTES) == 0;
}

/* Thread IDs differ from run to run, names rarely: threads with the same name are one row. */
int hwi_thread_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct hwi_diff_row_table table = {.comparison = comparison};
  bool added = true;
  for (int side = 0; side < HWI_SIDES; side++) {
    const struct hwi_profile *profile = comparison->sides[side].report.profile;
    const struct hwi_narrowing *filter = &comparison->sides[side].selection.narrowing;
    struct hwi_amount *amounts = hwi_amounts_by_thread(profile, filter);
    added = added && amounts;
    for (uint32_t i = 0; i < profile->thread_count && added; i++) {
      const struct hwi_profile_thread *thread = &profile->threads[i];
      if (!hwi_narrowing_keeps_thread(filter, i))
        continue;
      const char *key = has_program_name(profile, thread) ? HWI_PROGRAM_NAME : thread->name;
      added = add_item(&table, key, side, i, &amounts[i]);
    }
    free(amounts);
  }
  return finish(&table, added, error);
}

static bool add_sizes(struct hwi_diff_row_table *table, int side, const struct hwi_profile *profile,
                      const struct hwi_amount *amounts)
{
  bool added = true;
  for (uint32_t i = 0; i < profile->size_count && added; i++) {
    char key[24];
    snprintf(key, sizeof key, "%" PRIu64, profile->sizes[i].size);
    added = amounts[i].calls == 0 || add_item(table, key, side, i, &amounts[i]);
  }
  return added;
}

int hwi_size_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct hwi_diff_row_table table = {.comparison = comparison};
  bool added = true;
  for (int side = 0; side < HWI_SIDES && added; side++) {
    const struct hwi_profile *profile = comparison->sides[side].report.profile;
    struct hwi_amount *amounts = hwi_amounts_by_size(profile, &comparison->sides[side].selection.narrowing);
    added = amounts && add_sizes(&table, side, profile, amounts);
    free(amounts);
  }
  return finish(&table, added, error);
}

int hwi_entry_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct hwi_diff_row_table table = {.comparison = comparison};
  bool added = true;
  for (int side = 0; side < HWI_SIDES; side++) {
    struct hwi_entries entries;
    hwi_entries_of(&entries, comparison->sides[side].report.profile, &comparison->sides[side].selection);
    for (uint32_t i = 0; i < HW_ENTRY_COUNT && added; i++)
      added = hwi_amount_is_nothing(&entries.amounts[i]) ||
              add_item(&table, hwi_entry_name(i), side, i, &entries.amounts[i]);
  }
  return finish(&table, added, error);
}
