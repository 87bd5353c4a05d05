/* pprof.c - pprof's profile.proto, as `go tool pprof` reads it
 *
 * The sample types are those of Go's heap profiles. "In use" are the live blocks at the run's peak or, with --cost
 * live, at the end. Where the program marked scopes, a stack has a sample for each path of scopes, with the path as its
 * label "scope".
 */
#include <stdlib.h>
#include <string.h>

#include "base/command_name.h"
#include "base/version.h"
#include "export/compression.h"
#include "export/export.h"
#include "export/pprof/pprof_fields.h"
#include "export/pprof/protobuf.h"
#include "export/stack_scopes.h"
#include "report/content/evidence.h"
#include "report/content/scopes.h"
#include "trace/store.h"

struct pprof {
  struct hwi_export *export;
  FILE *out;
  struct hwi_store strings;       /* a string's index is its number - 1; "" is the first */
  struct hwi_numbering functions; /* name and file */
  struct hwi_protobuf_message whole, part, inner;
  struct hwi_stack_scopes scopes;
  uint64_t *path_texts;      /* by path of scopes: the index of its text; 0: not written so far */
  uint32_t unknown_location; /* for stacks without frames */
  bool failed;               /* no memory */
};

/* Returns the index of a string, which is made valid UTF-8. */
static uint64_t string(struct pprof *to, const char *text)
{
  struct hwi_line valid = {0};
  hwi_line_replace_invalid(&valid, text);
  uint32_t number = hwi_store_intern_text(&to->strings, hwi_line_text(&valid));
  to->failed |= number == 0 || valid.failed;
  hwi_line_release(&valid);
  return number - 1;
}

static void put_type(struct pprof *to, uint32_t field, const char *type, const char *unit)
{
  hwi_protobuf_number(&to->part, VALUE_TYPE, string(to, type));
  hwi_protobuf_number(&to->part, VALUE_UNIT, string(to, unit));
  hwi_protobuf_nested(&to->whole, field, &to->part);
}

static const char *default_type(enum hwi_cost cost)
{
  switch (cost) {
  case HWI_COST_CALLS:
  case HWI_COST_TEMPORARY:
    return "alloc_objects";
  case HWI_COST_BYTES:
    return "alloc_space";
  case HWI_COST_PEAK:
  case HWI_COST_LIVE:
  case HWI_COST_DEFAULT:
    break;
  }
  return "inuse_space";
}

static bool shows_end(const struct pprof *to)
{
  return to->export->cost == HWI_COST_LIVE || to->export->request->is_present;
}

/* Writes the moment of the inuse_ types. */
static void put_in_use(struct pprof *to)
{
  const struct hwi_span *span = &to->export->profile->span;
  struct hwi_line text = {0};
  if (to->export->profile->is_of_memory)
    hwi_line_puts(&text, "inuse_*: what lived at the moment of the dump");
  else if (span->kind == HWI_SPAN_MOMENT)
    hwi_line_printf(&text, "inuse_*: what was live at %s", hwi_time_text(span->from_ns).text);
  else
    hwi_line_printf(&text, "inuse_*: what %s of the %s", shows_end(to) ? "is live at the end" : "was live at the peak",
                    span->kind == HWI_SPAN_INTERVAL ? "interval" : "run");
  if (span->kind == HWI_SPAN_INTERVAL)
    hwi_line_printf(&text, " from %s to %s", hwi_time_text(span->from_ns).text, hwi_time_text(span->to_ns).text);
  hwi_protobuf_number(&to->whole, PROFILE_COMMENT, string(to, hwi_line_text(&text)));
  to->failed |= text.failed;
  hwi_line_release(&text);
}

/* The values are estimates of all allocations: they are not to be scaled. */
static void put_sample_size(struct pprof *to, uint64_t sample_bytes)
{
  struct hwi_line text = {0};
  hwi_line_printf(&text, "estimates: sampled, one allocation per %s", hwi_binary_bytes_text(sample_bytes).text);
  hwi_protobuf_number(&to->whole, PROFILE_COMMENT, string(to, hwi_line_text(&text)));
  to->failed |= text.failed;
  hwi_line_release(&text);
}

static void put_command(struct pprof *to)
{
  const char *command = hwi_export_command(to->export);
  const struct hwi_command_name program = hwi_command_name(command);
  hwi_protobuf_number(&to->whole, PROFILE_COMMENT, string(to, to->export->request->is_sent ? program.text : command));
}

static void put_run(struct pprof *to)
{
  const struct hwi_image *image = hwi_largest_image(to->export->profile, NULL);
  put_type(to, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
  put_type(to, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
  put_type(to, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
  put_type(to, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
  put_type(to, PROFILE_PERIOD_TYPE, "space", "bytes");
  const uint64_t sample_bytes = to->export->profile->sample_bytes;
  hwi_protobuf_number(&to->whole, PROFILE_PERIOD, sample_bytes ? sample_bytes : 1);
  hwi_protobuf_number(&to->whole, PROFILE_DEFAULT_TYPE, string(to, default_type(to->export->cost)));
  uint64_t from_ns = hwi_export_from_ns(to->export);
  if (image)
    hwi_protobuf_number(&to->whole, PROFILE_TIME_NS, image->info->header.start_realtime_ns + from_ns);
  hwi_protobuf_number(&to->whole, PROFILE_DURATION_NS, hwi_export_end_ns(to->export) - from_ns);
  if (!to->export->request->is_present)
    put_in_use(to);
  if (sample_bytes)
    put_sample_size(to, sample_bytes);
  hwi_protobuf_number(&to->whole, PROFILE_COMMENT, string(to, "made by heapwright " HWI_VERSION));
  put_command(to);
  hwi_protobuf_flush(&to->whole, to->out);
}

static void put_mapping(struct pprof *to, uint32_t number)
{
  const struct hwi_profile_module *module = &to->export->profile->modules[number];
  hwi_protobuf_number(&to->part, MAPPING_ID, number);
  hwi_protobuf_number(&to->part, MAPPING_START, module->start);
  hwi_protobuf_number(&to->part, MAPPING_LIMIT, module->end);
  hwi_protobuf_number(&to->part, MAPPING_FILE, string(to, module->path));
  hwi_protobuf_number(&to->part, MAPPING_BUILD_ID, string(to, hwi_build_id_text(module).text));
  for (uint32_t has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINED; has++) /* all names are known */
    hwi_protobuf_number(&to->part, has, 1);
  hwi_protobuf_nested(&to->whole, PROFILE_MAPPING, &to->part);
  hwi_protobuf_flush(&to->whole, to->out);
}

/* pprof takes the first mapping for the program. */
static void put_mappings(struct pprof *to)
{
  const struct hwi_profile *profile = to->export->profile;
  const struct hwi_image *image = hwi_largest_image(profile, NULL);
  const char *exe = image && image->info->exe ? image->info->exe : "";
  for (uint32_t i = 1; i < profile->module_count; i++)
    if (strcmp(profile->modules[i].path, exe) == 0)
      put_mapping(to, i);
  for (uint32_t i = 1; i < profile->module_count; i++)
    if (strcmp(profile->modules[i].path, exe) != 0)
      put_mapping(to, i);
}

static void put_line(struct pprof *to, const char *name, const char *file, uint32_t line)
{
  uint32_t function = hwi_numbering_of(&to->functions, string(to, name), string(to, file));
  to->failed |= function == 0;
  hwi_protobuf_number(&to->inner, LINE_FUNCTION, function);
  hwi_protobuf_number(&to->inner, LINE_NUMBER, line);
  hwi_protobuf_nested(&to->part, LOCATION_LINE, &to->inner);
}

static void put_locations(struct pprof *to)
{
  struct hwi_line name = {0};
  for (uint32_t i = 1; i <= to->export->sites.count; i++) {
    const struct hwi_site *site = &to->export->sites.items[i];
    hwi_protobuf_number(&to->part, LOCATION_ID, i);
    hwi_protobuf_number(&to->part, LOCATION_MAPPING, site->module);
    if (!site->cut)
      hwi_protobuf_number(&to->part, LOCATION_ADDRESS, site->address - 1); /* within the call */
    for (uint32_t k = 0; k < site->symbol_count; k++)
      put_line(to, hwi_site_function(&to->export->sites, site, k, &name), hwi_site_file(site, k),
               hwi_site_line(site, k));
    hwi_protobuf_nested(&to->whole, PROFILE_LOCATION, &to->part);
    hwi_protobuf_flush(&to->whole, to->out);
  }
  to->unknown_location = to->export->sites.count + 1;
  hwi_protobuf_number(&to->part, LOCATION_ID, to->unknown_location);
  put_line(to, "[unknown]", "", 0);
  hwi_protobuf_nested(&to->whole, PROFILE_LOCATION, &to->part);
  hwi_protobuf_flush(&to->whole, to->out);
  hwi_line_release(&name);
}

/* Adds the label of a path of scopes. A path whose text is empty has none. */
static void put_scope(struct pprof *to, uint32_t path)
{
  struct hwi_line text = {0};
  if (!path)
    return;
  if (!to->path_texts[path]) {
    hwi_scope_path_add(&text, to->export->profile, path);
    to->path_texts[path] = string(to, hwi_line_text(&text));
    to->failed |= text.failed;
    hwi_line_release(&text);
  }
  if (!to->path_texts[path])
    return;
  hwi_protobuf_number(&to->inner, LABEL_KEY, string(to, "scope"));
  hwi_protobuf_number(&to->inner, LABEL_TEXT, to->path_texts[path]);
  hwi_protobuf_nested(&to->part, SAMPLE_LABEL, &to->inner);
}

/* Writes what the loaded stack allocated in a path of scopes. */
static void put_sample(struct pprof *to, uint32_t path)
{
  const struct hwi_amount *amount = &to->scopes.sums[path];
  bool at_end = shows_end(to);
  for (uint32_t i = 0; i < to->export->sites.path_count; i++)
    hwi_protobuf_packed(&to->inner, to->export->sites.of_frame[to->export->sites.path[i]]);
  if (to->export->sites.path_count == 0)
    hwi_protobuf_packed(&to->inner, to->unknown_location);
  hwi_protobuf_nested(&to->part, SAMPLE_LOCATIONS, &to->inner);
  hwi_protobuf_packed(&to->inner, amount->calls);
  hwi_protobuf_packed(&to->inner, amount->bytes);
  hwi_protobuf_packed(&to->inner, at_end ? amount->live_blocks : amount->peak_blocks);
  hwi_protobuf_packed(&to->inner, at_end ? amount->live_bytes : amount->peak_bytes);
  hwi_protobuf_nested(&to->part, SAMPLE_VALUES, &to->inner);
  put_scope(to, path);
  hwi_protobuf_nested(&to->whole, PROFILE_SAMPLE, &to->part);
  hwi_protobuf_flush(&to->whole, to->out);
}

static int put_samples(struct pprof *to, uint32_t stack, struct hwi_error *error)
{
  int status = hwi_sites_load(&to->export->sites, stack, error);
  hwi_stack_scopes_load(&to->scopes, stack);
  for (uint32_t i = 0; i < to->scopes.count; i++)
    put_sample(to, to->scopes.paths[i]);
  return status;
}

static void put_functions(struct pprof *to)
{
  for (uint32_t i = 1; i <= to->functions.count; i++) {
    const struct hwi_pair *function = &to->functions.pairs[i];
    hwi_protobuf_number(&to->part, FUNCTION_ID, i);
    hwi_protobuf_number(&to->part, FUNCTION_NAME, function->a);
    hwi_protobuf_number(&to->part, FUNCTION_SYSTEM_NAME, function->a);
    hwi_protobuf_number(&to->part, FUNCTION_FILE, function->b);
    hwi_protobuf_nested(&to->whole, PROFILE_FUNCTION, &to->part);
    hwi_protobuf_flush(&to->whole, to->out);
  }
}

static int put_profile(struct pprof *to, struct hwi_error *error)
{
  const struct hwi_selection *selection = &to->export->selection;
  int status = hwi_stack_scopes_init(&to->scopes, to->export, true, error);
  to->path_texts = calloc((size_t)to->export->profile->scope_count + 1, sizeof *to->path_texts);
  if (status < 0 || !to->path_texts)
    return hwi_export_no_memory(error);
  string(to, "");
  put_run(to);
  put_mappings(to);
  put_locations(to);
  for (uint32_t i = 0; i < selection->stack_count && status == HW_OK; i++)
    status = put_samples(to, selection->stacks[i], error);
  put_functions(to);
  for (uint32_t i = 1; i <= to->strings.string_count; i++) {
    hwi_protobuf_item(&to->whole, PROFILE_STRING, to->strings.strings[i].text);
    hwi_protobuf_flush(&to->whole, to->out);
  }
  bool failed = to->failed || to->whole.failed || to->part.failed || to->inner.failed;
  return status == HW_OK && failed ? hwi_export_no_memory(error) : status;
}

static int write_pprof(struct hwi_export *export, struct hwi_error *error)
{
  struct pprof to = {.export = export, .out = hwi_compressed_open(export->out, HWI_COMPRESSION_GZIP)};
  if (!to.out)
    return hwi_export_no_memory(error);
  int status = put_profile(&to, error);
  int closed = hwi_compressed_close(to.out, export->out, status == HW_OK ? error : NULL);
  status = status == HW_OK ? closed : status;
  hwi_store_release(&to.strings);
  hwi_numbering_release(&to.functions);
  hwi_stack_scopes_release(&to.scopes);
  free(to.path_texts);
  hwi_protobuf_release(&to.whole);
  hwi_protobuf_release(&to.part);
  hwi_protobuf_release(&to.inner);
  return status;
}

const struct hwi_export_format hwi_export_pprof = {
    .name = "pprof",
    .suffixes = (const char *const[]){".pb.gz", ".pprof", ".prof", NULL},
    .summary = "pprof's profile (gzip), for `go tool pprof`",
    .is_binary = true,
    .compresses = true,
    .write = write_pprof,
};
