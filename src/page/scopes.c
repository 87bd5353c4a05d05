/* scopes.c - the paths of scopes with their own rows in a document */
#include "page/scopes.h"

#include <stdlib.h>

#include "page/packed.h"
#include "trace/radix_sort.h"

enum { NAME_CELLS = 200 };

/* --- the choice --- */

/* Sorts the paths: by what they allocated, then by how long they took. */
static bool rank(const struct hwi_page_scopes *scopes, struct hwi_sort_item *ranked, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    ranked[i] = (struct hwi_sort_item){.key = scopes->figures[i + 1].all.duration_ns, .item = i + 1};
  if (!hwi_radix_sort(ranked, count))
    return false;
  for (uint32_t i = 0; i < count; i++)
    ranked[i].key = scopes->figures[ranked[i].item].all.amount.bytes;
  return hwi_radix_sort(ranked, count);
}

/* Marks the path and those around it in `row_of`, if there is room for all of them. */
static void choose(struct hwi_page_scopes *scopes, uint32_t path)
{
  uint32_t added = 0;
  for (uint32_t at = path; at && !scopes->row_of[at]; at = scopes->profile->scopes[at].outer)
    added++;
  if (scopes->row_count + added > HWI_PAGE_SCOPES_MAX)
    return;
  scopes->row_count += added;
  for (uint32_t at = path; at && !scopes->row_of[at]; at = scopes->profile->scopes[at].outer)
    scopes->row_of[at] = 1;
}

bool hwi_page_scopes_init(struct hwi_page_scopes *scopes, const struct hwi_profile *profile)
{
  if (profile->scope_count <= 1)
    return true;
  const uint32_t count = profile->scope_count - 1;
  scopes->profile = profile;
  const struct hwi_narrowing everything = {.profile = profile};
  scopes->figures = hwi_scope_rows(profile, &everything);
  scopes->row_of = calloc((size_t)count + 1, sizeof *scopes->row_of);
  struct hwi_sort_item *ranked = malloc(count * sizeof *ranked);
  const bool done = scopes->figures && scopes->row_of && ranked && rank(scopes, ranked, count);
  for (uint32_t i = 0; done && i < count; i++)
    choose(scopes, ranked[i].item);
  for (uint32_t path = 1, row = 0; done && path <= count; path++)
    scopes->row_of[path] = scopes->row_of[path] ? ++row : 0;
  free(ranked);
  return done;
}

void hwi_page_scopes_release(struct hwi_page_scopes *scopes)
{
  free(scopes->figures);
  free(scopes->row_of);
  *scopes = (struct hwi_page_scopes){0};
}

/* --- JSON --- */

static void write_names(struct hwi_json *json, const struct hwi_page_scopes *scopes)
{
  hwi_json_begin_array(json, "name");
  for (uint32_t path = 1; path < scopes->profile->scope_count; path++)
    if (scopes->row_of[path])
      hwi_json_short_text(json, NULL, scopes->profile->scopes[path].name, NAME_CELLS);
  hwi_json_end_array(json);
  hwi_json_begin_array(json, "outer");
  for (uint32_t path = 1; path < scopes->profile->scope_count; path++)
    if (scopes->row_of[path])
      hwi_json_signed(json, NULL, (int64_t)scopes->row_of[scopes->profile->scopes[path].outer] - 1);
  hwi_json_end_array(json);
}

/* Writes a column for each figure of a list; of path p, they are about the struct at items + p * item_bytes. */
static void write_figures(struct hwi_json *json, const struct hwi_page_scopes *scopes, const struct hwi_figure *figures,
                          const struct hwi_table_rows *items)
{
  struct hwi_packed packed = {0};
  for (; figures->key; figures++) {
    for (uint32_t path = 1; path < items->count; path++) {
      if (!scopes->row_of[path])
        continue;
      const uint64_t value = hwi_figure_value(figures, (const char *)items->items + path * items->item_bytes);
      if (figures->is_signed)
        hwi_packed_add_signed(&packed, (int64_t)value);
      else
        hwi_packed_add(&packed, value);
    }
    hwi_json_packed(json, figures->key, &packed);
  }
}

void hwi_json_page_scopes(struct hwi_json *json, const struct hwi_page_scopes *scopes)
{
  if (!scopes->profile)
    return;
  const struct hwi_profile *profile = scopes->profile;
  const struct hwi_table_rows paths = {profile->scopes, profile->scope_count, sizeof *profile->scopes};
  const struct hwi_table_rows all = {&scopes->figures->all, profile->scope_count, sizeof *scopes->figures};
  const struct hwi_table_rows self = {&scopes->figures->self, profile->scope_count, sizeof *scopes->figures};
  hwi_json_begin_object(json, "scopes");
  hwi_json_number(json, "count", scopes->row_count);
  hwi_json_number(json, "recorded", profile->scope_count - 1);
  write_names(json, scopes);
  write_figures(json, scopes, hwi_scope_figures, &paths);
  write_figures(json, scopes, hwi_scope_sum_figures, &all);
  write_figures(json, scopes, hwi_scope_self_figures, &self);
  hwi_json_end_object(json);
}
