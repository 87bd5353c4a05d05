/* scope_rows.c - which scopes of two runs are the same: those whose paths have the same names */
#include "compare/scope_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "compare/rows.h"

/* Returns the ID of a path from that of the path around it, or 0 if there is no memory. */
static uint32_t path_id(struct hwi_identities *identities, uint32_t outer_id, const char *name)
{
  char outer[sizeof outer_id * 2 + 1];
  snprintf(outer, sizeof outer, "%08" PRIx32, outer_id);
  return hwi_identities_text(identities, outer, name);
}

/* `ids` is by path. A path around another one has a smaller number. */
static bool add_paths(struct hwi_diff_row_table *table, int side, uint32_t *ids)
{
  struct hwi_compare_side *of = &table->comparison->sides[side];
  const struct hwi_profile *profile = of->report.profile;
  for (uint32_t path = 1; path < profile->scope_count; path++) {
    const struct hwi_scope *scope = &profile->scopes[path];
    ids[path] = path_id(&table->comparison->identities, ids[scope->outer], scope->name);
    struct hwi_diff_row *row = ids[path] ? hwi_diff_row_table_find(table, ids[path]) : NULL;
    if (!row)
      return false;
    hwi_diff_row_add(row, side, path, &of->scopes[path].self.amount);
    hwi_amount_add(&row->totals[side], &of->scopes[path].all.amount);
  }
  return true;
}

int hwi_scope_path_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct hwi_diff_row_table table = {.comparison = comparison};
  bool added = true;
  for (int side = 0; side < HWI_SIDES && added; side++) {
    struct hwi_compare_side *of = &comparison->sides[side];
    uint32_t *ids = calloc((size_t)of->report.profile->scope_count + 1, sizeof *ids);
    of->scopes = hwi_scope_rows(of->report.profile, &of->selection.narrowing);
    added = ids && of->scopes && add_paths(&table, side, ids);
    free(ids);
  }
  hwi_diff_row_table_release(&table);
  return added ? HW_OK
               : hwi_error_set(error, HW_ERR_MEMORY, "no memory for comparing %zu scopes", comparison->row_count);
}

void hwi_diff_scopes_of(struct hwi_diff_scope scopes[HWI_SIDES], const struct hwi_comparison *comparison,
                        const struct hwi_diff_row *row)
{
  for (int side = 0; side < HWI_SIDES; side++) {
    const struct hwi_compare_side *of = &comparison->sides[side];
    const uint32_t path = row->items[side];
    scopes[side] = (struct hwi_diff_scope){0};
    if (path != HWI_NO_ITEM)
      scopes[side] = (struct hwi_diff_scope){of->report.profile->scopes[path], of->scopes[path].all};
  }
}
