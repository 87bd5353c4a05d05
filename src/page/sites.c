/* sites.c - the places in the code that occur in the kept part of the tree, and their names */
#include "page/sites.h"

#include <stdlib.h>
#include <string.h>

#include "report/words/line.h"
#include "trace/grow.h"

enum { STRINGS_BYTES_MAX = 600000, STRING_BYTES_LEAST = 120 };

/* --- strings --- */

/* Returns the text's number, or 0 if it is NULL or there is no memory. */
static uint32_t find_string(struct hwi_page_sites *sites, const char *text)
{
  uint32_t number = text ? hwi_store_intern_text(&sites->strings, text) : 0;
  sites->failed |= text && number == 0;
  return number;
}

/* The same for a text whose address does not change; usually it was looked up before. */
static uint32_t find_lasting(struct hwi_page_sites *sites, const char *text)
{
  if (!text)
    return 0;
  uint32_t pointer = hwi_numbering_of(&sites->pointers, (uintptr_t)text, 0);
  if (pointer == 0 || !hwi_grow((void **)&sites->string_of, &sites->string_of_capacity, (size_t)pointer + 1,
                                sizeof *sites->string_of)) {
    sites->failed = true;
    return 0;
  }
  if (sites->string_of[pointer] == 0)
    sites->string_of[pointer] = find_string(sites, text);
  return sites->string_of[pointer];
}

/* --- sites --- */

/* Returns 0 if there is only one run. */
static uint32_t find_identity(struct hwi_page_sites *sites, uint32_t at, const struct hwi_symbol *symbol)
{
  const struct hwi_page_matching *matching = sites->matching;
  const struct hwi_frame *frame = &sites->names->profile->frames[at];
  const struct hwi_shown_frame shown = {symbol, frame->address, frame->module};
  struct hwi_identity identity = {0};
  if (matching->identities && !hwi_identities_find(matching->identities, matching->side, &shown, &identity))
    sites->failed = true;
  return identity.strict;
}

/* Adds a frame for the profile's frame `at`. `symbol` is NULL if it stands for frames that were left out. */
static bool add_frame(struct hwi_page_sites *sites, uint32_t at, const struct hwi_symbol *symbol)
{
  if (!hwi_grow((void **)&sites->frames, &sites->frame_capacity, sites->frame_count + 1, sizeof *sites->frames))
    return false;
  const char *reason = symbol && symbol->reason != HWI_SYMBOL_OK ? hwi_symbol_reason_text(symbol->reason) : NULL;
  sites->frames[sites->frame_count++] =
      (struct hwi_page_frame){.function = find_lasting(sites, symbol ? symbol->function : NULL),
                              .file = find_lasting(sites, symbol ? symbol->file : NULL),
                              .line = symbol ? symbol->line : 0,
                              .reason = find_lasting(sites, reason),
                              .identity = find_identity(sites, at, symbol)};
  return !sites->failed;
}

/* Adds a site for the profile's frame `at`. */
static bool add_site(struct hwi_page_sites *sites, uint32_t at)
{
  const struct hwi_profile *profile = sites->names->profile;
  const struct hwi_frame *frame = &profile->frames[at];
  const struct hwi_symbol *symbols;
  if (!hwi_grow((void **)&sites->sites, &sites->site_capacity, sites->site_count + 1, sizeof *sites->sites))
    return false;
  uint32_t count = hwi_named_frames_find(sites->names, at, &symbols);
  bool in_module = !frame->cut && frame->module != 0;
  sites->sites[sites->site_count++] = (struct hwi_page_site){
      .address = in_module ? frame->address - profile->modules[frame->module].bias : frame->address,
      .function_start = symbols && symbols[count - 1].start != 0 ? symbols[count - 1].start + 1 : 0,
      .module = frame->cut ? 0 : frame->module,
      .kind = frame->cut ? HWI_SITE_LEFT_OUT : HWI_SITE_CODE,
      .frame = sites->frame_count};
  bool done = true;
  for (uint32_t i = 0; i < count && done; i++)
    done = add_frame(sites, at, symbols ? &symbols[i] : NULL);
  return done;
}

/* Returns the site's number, from 1, or 0 if there is no memory. */
static uint32_t find_site(struct hwi_page_sites *sites, uint32_t at)
{
  const struct hwi_frame *frame = &sites->names->profile->frames[at];
  uint32_t number = hwi_numbering_of(&sites->keys, frame->address, frame->cut ? UINT64_MAX : frame->module);
  return number <= sites->site_count || add_site(sites, at) ? number : 0;
}

int hwi_page_sites_init(struct hwi_page_sites *sites, const struct hwi_page_cut *cut,
                        const struct hwi_named_frames *names, const struct hwi_page_matching *matching,
                        struct hwi_error *error)
{
  *sites = (struct hwi_page_sites){.names = names, .matching = matching};
  sites->site_of = calloc((size_t)cut->node_count + 1, sizeof *sites->site_of);
  bool done = sites->site_of;
  for (uint32_t i = 0; i < cut->node_count && done; i++) {
    uint32_t number = find_site(sites, cut->frames[i]);
    done = number != 0;
    sites->site_of[i] = number - 1;
  }
  return done ? HW_OK : hwi_error_set(error, HW_ERR_MEMORY, "no memory to name what the page shows");
}

void hwi_page_sites_release(struct hwi_page_sites *sites)
{
  hwi_store_release(&sites->strings);
  hwi_numbering_release(&sites->pointers);
  hwi_numbering_release(&sites->keys);
  free(sites->string_of);
  free(sites->sites);
  free(sites->frames);
  free(sites->site_of);
  *sites = (struct hwi_page_sites){0};
}

/* --- JSON --- */

static void write_modules(struct hwi_json *json, struct hwi_page_sites *sites)
{
  struct module {
    uint64_t path, name, build_id; /* strings */
  };
  static const struct hwi_column columns[] = {
      HWI_COLUMN(struct module, path), HWI_COLUMN(struct module, name), HWI_COLUMN(struct module, build_id), {NULL, 0}};
  const struct hwi_profile *profile = sites->names->profile;
  struct module *modules = calloc((size_t)profile->module_count + 1, sizeof *modules);
  struct hwi_table_rows rows = {modules, 0, sizeof *modules};
  sites->failed |= !modules;
  for (uint32_t i = 1; i < profile->module_count && modules; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    modules[rows.count++] = (struct module){
        .path = find_lasting(sites, module->path),
        .name = find_lasting(sites, hwi_module_name(profile, i)),
        .build_id = module->build_id_bytes > 0 ? find_string(sites, hwi_build_id_text(module).text) : 0};
  }
  hwi_json_begin_object(json, "modules");
  hwi_json_reference_columns(json, &rows, columns);
  hwi_json_end_object(json);
  free(modules);
}

static void write_frames(struct hwi_json *json, const struct hwi_page_sites *sites)
{
  static const struct hwi_column references[] = {HWI_COLUMN(struct hwi_page_frame, function),
                                                 HWI_COLUMN(struct hwi_page_frame, file),
                                                 HWI_COLUMN(struct hwi_page_frame, reason),
                                                 {NULL, 0}},
                                 numbers[] = {HWI_COLUMN(struct hwi_page_frame, line), {NULL, 0}},
                                 identities[] = {HWI_COLUMN(struct hwi_page_frame, identity), {NULL, 0}};
  const struct hwi_table_rows rows = {sites->frames, sites->frame_count, sizeof *sites->frames};
  hwi_json_begin_object(json, "frames");
  hwi_json_reference_columns(json, &rows, references);
  hwi_json_plain_columns(json, &rows, numbers);
  if (sites->matching->identities)
    hwi_json_plain_columns(json, &rows, identities);
  hwi_json_end_object(json);
}

static void write_sites(struct hwi_json *json, const struct hwi_page_sites *sites)
{
  static const struct hwi_column references[] = {HWI_COLUMN(struct hwi_page_site, module),
                                                 HWI_COLUMN(struct hwi_page_site, function_start),
                                                 {NULL, 0}},
                                 numbers[] = {HWI_COLUMN(struct hwi_page_site, address),
                                              HWI_COLUMN(struct hwi_page_site, frame),
                                              HWI_COLUMN(struct hwi_page_site, kind),
                                              {NULL, 0}};
  const struct hwi_table_rows rows = {sites->sites, sites->site_count, sizeof *sites->sites};
  hwi_json_begin_object(json, "sites");
  hwi_json_reference_columns(json, &rows, references);
  hwi_json_plain_columns(json, &rows, numbers);
  hwi_json_end_object(json);
}

static void write_nodes(struct hwi_json *json, const struct hwi_page_sites *sites, const struct hwi_page_cut *cut)
{
  struct hwi_packed parents = {0}, site_of = {0};
  for (uint32_t i = 0; i < cut->node_count; i++) {
    uint32_t caller = cut->profile->frames[cut->frames[i]].caller;
    hwi_packed_add(&parents, caller != 0 ? i + 1 - cut->node_of[caller] : 0);
    hwi_packed_add(&site_of, sites->site_of[i]);
  }
  hwi_json_begin_object(json, "nodes");
  hwi_json_number(json, "count", cut->node_count);
  hwi_json_number(json, "recorded", cut->profile->frame_count > 0 ? cut->profile->frame_count - 1 : 0);
  hwi_json_packed(json, "parent", &parents);
  hwi_json_packed(json, "site", &site_of);
  hwi_json_end_object(json);
}

void hwi_json_page_sites(struct hwi_json *json, struct hwi_page_sites *sites, const struct hwi_page_cut *cut)
{
  write_modules(json, sites);
  json->failed |= sites->failed;
  write_frames(json, sites);
  write_sites(json, sites);
  write_nodes(json, sites, cut);
}

/* --- the strings --- */

/* Returns the largest length limit with which all strings fit. */
static size_t find_limit(const struct hwi_store *strings)
{
  for (size_t limit = STRINGS_BYTES_MAX; limit > STRING_BYTES_LEAST; limit /= 2) {
    size_t sum = 0;
    for (uint32_t i = 1; i <= strings->string_count; i++) {
      size_t bytes = strings->strings[i].bytes;
      sum += bytes < limit ? bytes : limit;
    }
    if (sum <= STRINGS_BYTES_MAX)
      return limit;
  }
  return STRING_BYTES_LEAST;
}

void hwi_json_page_strings(struct hwi_json *json, const struct hwi_page_sites *sites)
{
  size_t limit = find_limit(&sites->strings);
  hwi_json_begin_array(json, "strings");
  for (uint32_t i = 1; i <= sites->strings.string_count; i++)
    hwi_json_short_text(json, NULL, sites->strings.strings[i].text, limit);
  hwi_json_end_array(json);
}
