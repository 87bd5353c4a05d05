/* table_rows.c - which threads, block sizes and entry points of two runs are the same: those of equal names or sizes */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/command_name.h"
#include "compare/rows.h"
#include "report/selection/entries.h"

static int finish(struct hwi_row_table *table, bool added, struct hwi_error *error)
{
  hwi_row_table_release(table);
  return added ? HW_OK
               : hwi_error_set(error, HW_ERR_MEMORY, "no memory for comparing %zu rows", table->comparison->row_count);
}

static bool add_item(struct hwi_row_table *table, const char *key, int side, uint32_t item,
                     const struct hwi_amount *amount)
{
  uint32_t number = hwi_identities_text(&table->comparison->identities, "item", key);
  struct hwi_row *row = number != 0 ? hwi_row_table_find(table, number) : NULL;
  if (row)
    hwi_row_add(row, side, item, amount);
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
  struct hwi_row_table table = {.comparison = comparison};
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

static bool add_sizes(struct hwi_row_table *table, int side, const struct hwi_profile *profile,
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
  struct hwi_row_table table = {.comparison = comparison};
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
  struct hwi_row_table table = {.comparison = comparison};
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
