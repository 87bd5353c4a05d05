/* folded.c - folded stacks: one line "outermost;...;innermost COST" per stack, for flame graphs */
#include <inttypes.h>
#include <stdlib.h>

#include "export/stack_scopes.h"
#include "report/content/scopes.h"

/* Writes a name; characters that would end the frame or the line are replaced. */
static void put_name(FILE *out, struct hwi_line *clean, const char *name)
{
  hwi_line_clear(clean);
  hwi_line_clean(clean, name);
  for (const char *at = hwi_line_text(clean); *at != '\0'; at++)
    fputc(*at == ';' ? ':' : *at, out);
}

/* Writes the scopes of a path as if they were functions around the stack; 0 has none. Returns false if there is no
 * memory. */
static bool put_scopes(const struct hwi_profile *profile, uint32_t path, FILE *out)
{
  const char **names = path ? hwi_scope_names(profile, path) : NULL;
  struct hwi_line clean = {0};
  if (!names)
    return !path;
  for (uint32_t i = 0; i < profile->scopes[path].depth; i++) {
    put_name(out, &clean, names[i][0] != '\0' ? names[i] : "[no name]");
    fputc(';', out);
  }
  free(names);
  hwi_line_release(&clean);
  return true;
}

static void put_stack(const struct hwi_sites *sites, FILE *out)
{
  struct hwi_line name = {0}, clean = {0};
  if (sites->path_count == 0)
    fputs("[unknown]", out);
  for (uint32_t i = sites->path_count; i > 0; i--) {
    const struct hwi_site *site = hwi_site_of(sites, sites->path[i - 1]);
    for (uint32_t k = site->symbol_count; k > 0; k--) {
      put_name(out, &clean, hwi_site_function(sites, site, k - 1, &name));
      if (i > 1 || k > 1)
        fputc(';', out);
    }
  }
  hwi_line_release(&name);
  hwi_line_release(&clean);
}

/* Writes a line for each path of scopes in which the stack allocated, or one for the stack if they are not wanted. */
static int write_stack(struct hwi_export *export, struct hwi_stack_scopes *scopes, uint32_t stack,
                       struct hwi_error *error)
{
  int status = hwi_sites_load(&export->sites, stack, error);
  hwi_stack_scopes_load(scopes, stack);
  for (uint32_t i = 0; i < scopes->count && status == HW_OK; i++) {
    uint64_t cost = hwi_amount_cost(&scopes->sums[scopes->paths[i]], export->cost);
    if (cost == 0)
      continue;
    if (!put_scopes(export->profile, scopes->paths[i], export->out))
      status = hwi_export_no_memory(error);
    put_stack(&export->sites, export->out);
    fprintf(export->out, " %" PRIu64 "\n", cost);
  }
  return status;
}

static int write_folded(struct hwi_export *export, struct hwi_error *error)
{
  const struct hwi_selection *selection = &export->selection;
  struct hwi_stack_scopes scopes;
  int status = hwi_stack_scopes_init(&scopes, export, export->request->with_scopes, error);
  for (uint32_t i = 0; i < selection->stack_count && status == HW_OK; i++)
    status = write_stack(export, &scopes, selection->stacks[i], error);
  hwi_stack_scopes_release(&scopes);
  return status;
}

const struct hwi_export_format hwi_export_folded = {
    .name = "folded",
    .suffixes = (const char *const[]){".folded", ".collapsed", NULL},
    .summary = "stacks of names with one figure (--cost), for flamegraph.pl and its kin",
    .write = write_folded,
};
