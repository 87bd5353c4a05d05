/* stack_scopes.c - a chosen stack's figures by the path of scopes in which its blocks were allocated */
#include "export/stack_scopes.h"

#include <stdlib.h>

int hwi_stack_scopes_init(struct hwi_stack_scopes *scopes, const struct hwi_export *export, bool wanted,
                          struct hwi_error *error)
{
  const size_t count = (size_t) export->profile->scope_count + 1;
  *scopes = (struct hwi_stack_scopes){.export = export,
                                      .wanted = wanted && export->profile->scope_count > 1,
                                      .sums = calloc(count, sizeof *scopes->sums),
                                      .paths = calloc(count, sizeof *scopes->paths)};
  return scopes->sums && scopes->paths ? HW_OK : hwi_export_no_memory(error);
}

void hwi_stack_scopes_release(struct hwi_stack_scopes *scopes)
{
  free(scopes->sums);
  free(scopes->paths);
  *scopes = (struct hwi_stack_scopes){0};
}

static void add(struct hwi_stack_scopes *scopes, uint32_t path, const struct hwi_amount *amount)
{
  struct hwi_amount *sum = &scopes->sums[path];
  if (hwi_amount_is_nothing(amount))
    return;
  if (hwi_amount_is_nothing(sum))
    scopes->paths[scopes->count++] = path;
  hwi_amount_add(sum, amount);
}

void hwi_stack_scopes_load(struct hwi_stack_scopes *scopes, uint32_t stack)
{
  const struct hwi_profile *profile = scopes->export->profile;
  const struct hwi_selection *selection = &scopes->export->selection;
  while (scopes->count > 0)
    scopes->sums[scopes->paths[--scopes->count]] = (struct hwi_amount){0};
  uint32_t at = scopes->wanted ? hwi_profile_first_cell(profile, stack) : profile->cell_count;
  for (; at < profile->cell_count && profile->cells[at].stack == stack; at++) {
    const struct hwi_profile_cell *cell = &profile->cells[at];
    const struct hwi_amount amount = hwi_amount_of_cell(profile, cell);
    if (hwi_narrowing_keeps_cell(&selection->narrowing, cell))
      add(scopes, cell->scope, &amount);
  }
  if (scopes->count == 0) { /* its only part, or it has no blocks */
    scopes->sums[0] = selection->amounts[stack];
    scopes->paths[scopes->count++] = 0;
  }
}
