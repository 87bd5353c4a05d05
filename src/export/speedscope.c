/* speedscope.c - speedscope's JSON: one profile for each cost, with a common list of frames
 *
 * https://www.speedscope.app/file-format-schema.json
 */
#include "base/version.h"
#include "export/export.h"
#include "report/json/json.h"

struct speedscope {
  struct hwi_json json;
  struct hwi_export *export;
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

static void write_frames(struct speedscope *to)
{
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
  }
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  hwi_line_release(&name);
}

static uint64_t cost_of(const struct speedscope *to, uint32_t row, enum hwi_cost cost)
{
  return hwi_amount_cost(&to->export->selection.amounts[to->export->selection.stacks[row]], cost);
}

/* Writes a stack, outermost frame first. */
static int write_sample(struct speedscope *to, uint32_t stack, struct hwi_error *error)
{
  int status = hwi_sites_load(&to->export->sites, stack, error);
  hwi_json_begin_array(&to->json, NULL);
  for (uint32_t i = to->export->sites.path_count; i > 0; i--) {
    const struct hwi_site *site = hwi_site_of(&to->export->sites, to->export->sites.path[i - 1]);
    for (uint32_t k = site->symbol_count; k-- > 0;)
      hwi_json_number(&to->json, NULL, site->first_function - 1 + k); /* frames count from 0 */
  }
  hwi_json_end_array(&to->json);
  return status;
}

static int write_profile(struct speedscope *to, enum hwi_cost cost, const char *name, struct hwi_error *error)
{
  struct hwi_json *json = &to->json;
  const struct hwi_selection *selection = &to->export->selection;
  int status = HW_OK;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "type", "sampled");
  hwi_json_text(json, "name", name);
  hwi_json_text(json, "unit", hwi_cost_is_bytes(cost) ? "bytes" : "none");
  hwi_json_number(json, "startValue", 0);
  hwi_json_number(json, "endValue", hwi_amount_cost(&selection->selected, cost));
  hwi_json_begin_array(json, "samples");
  for (uint32_t i = 0; i < selection->stack_count && status == HW_OK; i++)
    if (cost_of(to, i, cost) != 0)
      status = write_sample(to, selection->stacks[i], error);
  hwi_json_end_array(json);
  hwi_json_begin_array(json, "weights");
  for (uint32_t i = 0; i < selection->stack_count; i++)
    if (cost_of(to, i, cost) != 0)
      hwi_json_number(json, NULL, cost_of(to, i, cost));
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
  hwi_json_text(json, "name", hwi_export_command(to->export));
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
  return write_document(&to, error);
}

const struct hwi_export_format hwi_export_speedscope = {
    .name = "speedscope",
    .suffixes = (const char *const[]){".speedscope.json", ".speedscope", NULL},
    .summary = "speedscope's JSON, with a profile for each cost",
    .write = write_speedscope,
};
