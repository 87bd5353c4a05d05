/* speedscope.c - speedscope's JSON: one profile for each cost, with a common list of frames
 *
 * https://www.speedscope.app/file-format-schema.json
 */
#include <stdlib.h>

#include "base/version.h"
#include "export/stack_scopes.h"
#include "report/json/json.h"
#include "trace/store.h"

struct speedscope {
  struct hwi_json json;
  struct hwi_export *export;
  struct hwi_stack_scopes scopes;
  uint32_t *scope_frames; /* by path: the frame of its innermost scope; equal names are one frame */
  uint32_t *around;       /* the frames of the current path, outermost first */
};

static const struct {
  enum hwi_cost cost;
  const char *name;
} profiles[] = {
    /* in the order of enum hwi_cost */
    {HWI_COST_PEAK, "bytes at the peak"},          {HWI_COST_LIVE, "bytes live at the end"},
    {HWI_COST_CALLS, "allocation calls"},          {HWI_COST_BYTES, "bytes allocated in all"},
    {HWI_COST_TEMPORARY, "temporary allocations"},
};
enum { PROFILES = sizeof profiles / sizeof *profiles };

/* Writes a frame for each name of scopes, after `count` frames of functions. */
static void write_scope_frames(struct speedscope *to, uint32_t count)
{
  const struct hwi_profile *profile = to->export->profile;
  struct hwi_json *json = &to->json;
  struct hwi_store names = {0};
  for (uint32_t path = 1; path < profile->scope_count && to->scopes.wanted; path++) {
    const char *name = profile->scopes[path].name;
    const uint32_t known = names.string_count, number = hwi_store_intern_text(&names, name);
    json->failed |= !number;
    to->scope_frames[path] = count + number - 1;
    if (number <= known)
      continue;
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "name", name[0] != '\0' ? name : "[no name]");
    hwi_json_end_object(json);
    fputc('\n', json->out);
  }
  hwi_store_release(&names);
}

static void write_frames(struct speedscope *to)
{
  uint32_t count = 0;
  struct hwi_json *json = &to->json;
  struct hwi_line name = {0};
  hwi_json_begin_object(json, "shared");
  hwi_json_begin_array(json, "frames");
  for (uint32_t i = 1; i <= to->export->sites.count; i++) {
    const struct hwi_site *site = &to->export->sites.items[i];
    for (uint32_t k = 0; k < site->symbol_count; k++) {
      hwi_json_begin_object(json, NULL);
      hwi_json_text(json, "name", hwi_site_function(&to->export->sites, site, k, &name));
      if (hwi_site_file(site, k)[0] != '\0')
        hwi_json_text(json, "file", hwi_site_file(site, k));
      if (hwi_site_line(site, k) != 0)
        hwi_json_number(json, "line", hwi_site_line(site, k));
      hwi_json_end_object(json);
      fputc('\n', json->out);
    }
    count += site->symbol_count;
  }
  write_scope_frames(to, count);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  hwi_line_release(&name);
}

static void write_scopes(struct speedscope *to, uint32_t path)
{
  const struct hwi_scope *scopes = to->export->profile->scopes;
  const uint32_t depth = path ? scopes[path].depth : 0;
  for (uint32_t i = depth; i-- > 0; path = scopes[path].outer)
    to->around[i] = to->scope_frames[path];
  for (uint32_t i = 0; i < depth; i++)
    hwi_json_number(&to->json, NULL, to->around[i]);
}

/* Writes the scopes of a path and the stack that was loaded, outermost frame first. */
static void write_sample(struct speedscope *to, uint32_t path)
{
  hwi_json_begin_array(&to->json, NULL);
  write_scopes(to, path);
  for (uint32_t i = to->export->sites.path_count; i > 0; i--) {
    const struct hwi_site *site = hwi_site_of(&to->export->sites, to->export->sites.path[i - 1]);
    for (uint32_t k = site->symbol_count; k-- > 0;)
      hwi_json_number(&to->json, NULL, site->first_function - 1 + k); /* frames count from 0 */
  }
  hwi_json_end_array(&to->json);
}

/* Writes the samples of all stacks, or the weights of these samples. */
static int write_samples(struct speedscope *to, enum hwi_cost cost, bool as_weights, struct hwi_error *error)
{
  const struct hwi_selection *selection = &to->export->selection;
  int status = HW_OK;
  for (uint32_t i = 0; i < selection->stack_count && status == HW_OK; i++) {
    const uint32_t stack = selection->stacks[i];
    if (hwi_amount_cost(&selection->amounts[stack], cost) == 0)
      continue;
    hwi_stack_scopes_load(&to->scopes, stack);
    status = as_weights ? HW_OK : hwi_sites_load(&to->export->sites, stack, error);
    for (uint32_t k = 0; k < to->scopes.count && status == HW_OK; k++) {
      const uint32_t path = to->scopes.paths[k];
      const uint64_t weight = hwi_amount_cost(&to->scopes.sums[path], cost);
      if (weight != 0 && as_weights)
        hwi_json_number(&to->json, NULL, weight);
      else if (weight != 0)
        write_sample(to, path);
    }
  }
  return status;
}

static int write_profile(struct speedscope *to, enum hwi_cost cost, const char *name, struct hwi_error *error)
{
  struct hwi_json *json = &to->json;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "type", "sampled");
  hwi_json_text(json, "name", name);
  hwi_json_text(json, "unit", hwi_cost_is_bytes(cost) ? "bytes" : "none");
  hwi_json_number(json, "startValue", 0);
  hwi_json_number(json, "endValue", hwi_amount_cost(&to->export->selection.selected, cost));
  hwi_json_begin_array(json, "samples");
  int status = write_samples(to, cost, false, error);
  hwi_json_end_array(json);
  hwi_json_begin_array(json, "weights");
  if (status == HW_OK)
    status = write_samples(to, cost, true, error);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  return status;
}

static int write_document(struct speedscope *to, struct hwi_error *error)
{
  struct hwi_json *json = &to->json;
  int status = HW_OK;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
  hwi_json_text(json, "exporter", "heapwright " HWI_VERSION);
  struct hwi_line title = {0};
  hwi_export_title(&title, to->export);
  hwi_json_text(json, "name", hwi_line_text(&title));
  hwi_line_release(&title);
  hwi_json_number(json, "activeProfileIndex", (uint64_t)to->export->cost);
  write_frames(to);
  hwi_json_begin_array(json, "profiles");
  for (int i = 0; i < PROFILES && status == HW_OK; i++)
    status = write_profile(to, profiles[i].cost, profiles[i].name, error);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  fputc('\n', json->out);
  return status == HW_OK && json->failed ? hwi_export_no_memory(error) : status;
}

static int write_speedscope(struct hwi_export *export, struct hwi_error *error)
{
  struct speedscope to = {.json = {.out = export->out, .first = true}, .export = export};
  int status = hwi_stack_scopes_init(&to.scopes, export, export->request->with_scopes, error);
  to.scope_frames = calloc((size_t) export->profile->scope_count + 1, sizeof *to.scope_frames);
  to.around = calloc((size_t) export->profile->scope_count + 1, sizeof *to.around);
  if (status == HW_OK)
    status = to.scope_frames && to.around ? write_document(&to, error) : hwi_export_no_memory(error);
  hwi_stack_scopes_release(&to.scopes);
  free(to.scope_frames);
  free(to.around);
  return status;
}

const struct hwi_export_format hwi_export_speedscope = {
    .name = "speedscope",
    .suffixes = (const char *const[]){".speedscope.json", ".speedscope", NULL},
    .summary = "speedscope's JSON, with a profile for each cost",
    .write = write_speedscope,
};
