/* scopes.c - the scopes that the program marked, as a ranking of paths or as a tree: two lines each */
#include "report/content/scopes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/text/text.h"
#include "trace/radix_sort.h"

void hwi_text_scope_path(struct hwi_line *line, const struct hwi_text *text, uint32_t path)
{
  struct hwi_line names = {0};
  hwi_scope_path_add(&names, text->profile, path);
  hwi_line_clean(line, hwi_line_text(&names));
  hwi_line_release_part(line, &names);
}

/* Adds how many instances allocated, and whether only the first ones did. */
static void add_allocating(struct hwi_text *text, const struct hwi_scope *scope)
{
  if (scope->allocating == 0)
    hwi_line_puts(&text->line, "; none allocates");
  else if (scope->allocating == scope->instances)
    hwi_line_puts(&text->line, scope->instances > 1 ? "; each allocates" : "");
  else if (scope->allocating == scope->last_allocating)
    hwi_line_printf(&text->line, "; only the first %s allocate%s", hwi_count_text(scope->allocating).text,
                    scope->allocating == 1 ? "s" : "");
  else
    hwi_line_printf(&text->line, "; %s allocate%s, the last is number %s", hwi_count_text(scope->allocating).text,
                    scope->allocating == 1 ? "s" : "", hwi_count_text(scope->last_allocating).text);
}

static void print_instances(struct hwi_text *text, const struct hwi_scope *scope, const struct hwi_scope_row *row)
{
  enum { INDENT = 6 };
  uint64_t self = hwi_amount_cost(&row->self.amount, text->cost);
  hwi_line_pad(&text->line, INDENT);
  hwi_line_printf(&text->line, "self %s; ", hwi_cost_text(self, text->cost).text);
  hwi_line_counted(&text->line, scope->instances, "instance");
  if (scope->instances > 1)
    hwi_line_printf(&text->line, ", mean %s, longest %s",
                    hwi_short_time_text(scope->duration_ns / scope->instances).text,
                    hwi_short_time_text(scope->max_ns).text);
  else
    hwi_line_printf(&text->line, " of %s", hwi_short_time_text(scope->duration_ns).text);
  hwi_line_printf(&text->line, "; net %s", hwi_signed_bytes_text((int64_t)row->all.net_bytes).text);
  if (scope->instances > 1)
    hwi_line_printf(&text->line, ", at most %s in one", hwi_bytes_text(scope->peak_bytes).text);
  add_allocating(text, scope);
  if (scope->left_open > 0)
    hwi_line_printf(&text->line, "; %s left without an end", hwi_count_text(scope->left_open).text);
  hwi_text_end_wrapped(text, INDENT + 2, HWI_DIM);
}

/* Returns the paths, the largest cost first. The caller frees them. Returns NULL if there is no memory. */
static struct hwi_sort_item *rank(const struct hwi_text *text, const struct hwi_scope_row *rows)
{
  uint32_t count = text->profile->scope_count;
  struct hwi_sort_item *items = calloc((size_t)count + 1, sizeof *items);
  for (uint32_t i = 1; items && i < count; i++)
    items[i - 1] = (struct hwi_sort_item){.key = hwi_amount_cost(&rows[i].all.amount, text->cost), .item = i};
  if (items && count > 1 && !hwi_radix_sort(items, count - 1)) {
    free(items);
    return NULL;
  }
  return items;
}

/* --- rows --- */

struct table {
  const struct hwi_scope_row *rows;
  const struct hwi_sort_item *items; /* paths, the largest cost first */
  uint64_t all;                      /* cost */
};

static void print_row(struct hwi_text *text, uint64_t rank, uint32_t path, const struct table *table)
{
  enum { INDENT = 2, DEPTH_MAX = 20 };
  const struct hwi_scope *scope = &text->profile->scopes[path];
  const struct hwi_scope_row *row = &table->rows[path];
  hwi_text_cost(text, rank, hwi_amount_cost(&row->all.amount, text->cost), table->all);
  hwi_text_amounts(text, &row->all.amount);
  hwi_line_puts(&text->line, "   ");
  if (text->report->options.scopes_as_tree) {
    hwi_line_repeat(&text->line, " ", INDENT * (scope->depth < DEPTH_MAX ? scope->depth - 1 : DEPTH_MAX));
    hwi_line_clean(&text->line, scope->name);
  } else {
    hwi_text_scope_path(&text->line, text, path);
  }
  hwi_text_end(text, HWI_PLAIN);
  print_instances(text, scope, row);
  if (text->report->options.instances != HWI_INSTANCES_NONE)
    hwi_text_instances(text, scope);
}

static void print_rest(struct hwi_text *text, uint64_t count)
{
  hwi_line_repeat(&text->line, " ", HWI_RANK_CELLS);
  hwi_text_rest(text, count, "scope");
  hwi_text_end(text, HWI_PLAIN);
}

static void print_rows(struct hwi_text *text, const struct table *table)
{
  uint32_t count = text->profile->scope_count - 1;
  uint64_t shown = hwi_text_rows(text, count);
  for (uint64_t i = 0; i < shown && i < count; i++)
    print_row(text, i + 1, table->items[i].item, table);
  if (shown < count)
    print_rest(text, count - shown);
}

/* --- the tree --- */

/* Where a path is among the paths inside the next outer one, the largest cost first. By path; 0: outside of all. */
struct place {
  uint32_t first, next;      /* inside it; with the same outer path. 0: none */
  uint32_t position, inside; /* among those with the same outer path, from 0; how many are inside it */
};

static struct place *find_places(const struct hwi_profile *profile, const struct table *table)
{
  struct place *places = calloc((size_t)profile->scope_count + 1, sizeof *places);
  for (uint32_t i = 0; places && i + 1 < profile->scope_count; i++) {
    uint32_t path = table->items[i].item;
    places[path].position = places[profile->scopes[path].outer].inside++;
  }
  for (uint32_t i = profile->scope_count - 1; places && i-- > 0;) {
    uint32_t path = table->items[i].item;
    struct place *outer = &places[profile->scopes[path].outer];
    places[path].next = outer->first;
    outer->first = path;
  }
  return places;
}

/* Paths can be too deep for a recursion. */
static void print_tree(struct hwi_text *text, const struct table *table)
{
  const struct hwi_scope *scopes = text->profile->scopes;
  struct place *places = find_places(text->profile, table);
  text->line.failed |= !places;
  for (uint32_t path = places ? places[0].first : 0; path;) {
    const struct place *outer = &places[scopes[path].outer];
    uint64_t shown = hwi_text_rows(text, outer->inside);
    bool is_shown = places[path].position < shown;
    if (is_shown)
      print_row(text, 0, path, table);
    else
      print_rest(text, outer->inside - shown);
    if (is_shown && places[path].first) {
      path = places[path].first;
      continue;
    }
    if (!is_shown)
      path = scopes[path].outer;
    while (path && !places[path].next)
      path = scopes[path].outer;
    path = path ? places[path].next : 0;
  }
  free(places);
}

/* Prints what the scopes of rules are. */
static void print_rules(struct hwi_text *text)
{
  const struct hwi_scope_chains *chains = text->profile->chains;
  if (!chains)
    return;
  hwi_line_puts(&text->line, "  Scopes of rules (");
  for (uint32_t i = 0; i < chains->rule_count; i++) {
    hwi_line_puts(&text->line, i > 0 ? ", " : "");
    hwi_line_clean(&text->line, chains->names[i]);
  }
  hwi_line_puts(&text->line, ") begin and end as stacks tell: two calls of a function are one instance if the thread "
                             "allocates nothing elsewhere between them.");
  hwi_text_end_wrapped(text, 2, HWI_DIM);
}

void hwi_text_scopes(struct hwi_text *text, const struct hwi_selection *selection)
{
  hwi_text_heading(text, "Scopes, by what was allocated in them and in the scopes inside", HWI_TEXT_BY);
  hwi_text_filter(text, selection);
  if (text->profile->scope_count <= 1) {
    hwi_line_puts(&text->line, text->profile->chains ? "  No call is in a scope."
                                                     : "  The program marked no scopes (heapwright/monitor.h).");
    hwi_text_end(text, HWI_PLAIN);
    return;
  }
  print_rules(text);
  struct hwi_scope_row *rows = hwi_scope_rows(text->profile, &selection->narrowing);
  struct hwi_sort_item *items = rows ? rank(text, rows) : NULL;
  text->line.failed |= !items;
  hwi_text_amount_titles(text);
  hwi_line_puts(&text->line, "   scope");
  hwi_text_end(text, HWI_DIM);
  const struct table table = {rows, items, hwi_amount_cost(&selection->all, text->cost)};
  if (items && text->report->options.scopes_as_tree)
    print_tree(text, &table);
  else if (items)
    print_rows(text, &table);
  free(items);
  free(rows);
}
