/* scopes.c - the ranking by the scopes that the program marked: two lines each */
#include "report/content/scopes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/text/text.h"
#include "trace/radix_sort.h"

void hwi_text_scope_path(struct hwi_text *text, uint32_t path)
{
  const struct hwi_scope *scope = &text->profile->scopes[path];
  const char **names = calloc((size_t)scope->depth + 1, sizeof *names);
  text->line.failed |= !names;
  if (names)
    hwi_scope_path(text->profile, path, names);
  for (uint32_t i = 0; names && i < scope->depth; i++) {
    hwi_line_puts(&text->line, i > 0 ? " > " : "");
    hwi_line_clean(&text->line, names[i]);
  }
  free(names);
}

static void add_net(struct hwi_line *line, int64_t bytes)
{
  hwi_line_puts(line, bytes < 0 ? "-" : "+");
  hwi_line_puts(line, hwi_bytes_text(bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes).text);
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
  hwi_line_puts(&text->line, "; net ");
  add_net(&text->line, hwi_scope_net_bytes(&row->all));
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
    items[i - 1] = (struct hwi_sort_item){hwi_amount_cost(&rows[i].all.amount, text->cost), i};
  if (items && count > 1 && !hwi_radix_sort(items, count - 1)) {
    free(items);
    return NULL;
  }
  return items;
}

static void print_rows(struct hwi_text *text, const struct hwi_scope_row *rows, const struct hwi_sort_item *items,
                       const struct hwi_selection *selection)
{
  uint32_t count = text->profile->scope_count - 1;
  uint64_t shown = hwi_text_rows(text, count), all = hwi_amount_cost(&selection->all, text->cost);
  for (uint64_t i = 0; i < shown && i < count; i++) {
    const struct hwi_scope_row *row = &rows[items[i].item];
    hwi_text_cost(text, i + 1, items[i].key, all);
    hwi_text_amounts(text, &row->all.amount);
    hwi_line_puts(&text->line, "   ");
    hwi_text_scope_path(text, items[i].item);
    hwi_text_end(text, HWI_PLAIN);
    print_instances(text, &text->profile->scopes[items[i].item], row);
  }
  if (shown < count) {
    hwi_line_repeat(&text->line, " ", HWI_RANK_CELLS);
    hwi_text_rest(text, count - shown, "scope");
    hwi_text_end(text, HWI_PLAIN);
  }
}

void hwi_text_scopes(struct hwi_text *text, const struct hwi_selection *selection)
{
  hwi_text_heading(text, "Scopes, by what was allocated in them and in the scopes inside", HWI_TEXT_BY);
  hwi_text_filter(text, selection);
  if (text->profile->scope_count <= 1) {
    hwi_line_puts(&text->line, "  The program marked no scopes (heapwright/monitor.h).");
    hwi_text_end(text, HWI_PLAIN);
    return;
  }
  struct hwi_scope_row *rows = hwi_scope_rows(text->profile, &selection->narrowing);
  struct hwi_sort_item *items = rows ? rank(text, rows) : NULL;
  text->line.failed |= !items;
  hwi_text_amount_titles(text);
  hwi_line_puts(&text->line, "   scope");
  hwi_text_end(text, HWI_DIM);
  if (items)
    print_rows(text, rows, items, selection);
  free(items);
  free(rows);
}
