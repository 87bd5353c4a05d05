/* folded.c - folded stacks: one line "outermost;...;innermost COST" per stack, for flame graphs */
#include <inttypes.h>

#include "export/export.h"

/* Writes a name; characters that would end the frame or the line are replaced. */
static void put_name(FILE *out, struct hwi_line *clean, const char *name)
{
  hwi_line_clear(clean);
  hwi_line_clean(clean, name);
  for (const char *at = hwi_line_text(clean); *at != '\0'; at++)
    fputc(*at == ';' ? ':' : *at, out);
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

static int write_folded(struct hwi_export *export, struct hwi_error *error)
{
  const struct hwi_selection *selection = &export->selection;
  int status = HW_OK;
  for (uint32_t i = 0; i < selection->stack_count && status == HW_OK; i++) {
    uint32_t stack = selection->stacks[i];
    uint64_t cost = hwi_amount_cost(&selection->amounts[stack], export->cost);
    if (cost == 0)
      continue;
    status = hwi_sites_load(&export->sites, stack, error);
    put_stack(&export->sites, export->out);
    fprintf(export->out, " %" PRIu64 "\n", cost);
  }
  return status;
}

const struct hwi_export_format hwi_export_folded = {
    .name = "folded",
    .suffixes = (const char *const[]){".folded", ".collapsed", NULL},
    .summary = "stacks of names with one figure (--cost), for flamegraph.pl and its kin",
    .write = write_folded,
};
