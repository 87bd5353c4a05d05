/* groups.c - the ranking by function, file, line or module: self, total, and the name */
#include <inttypes.h>
#include <string.h>

#include "report/content/groups.h"
#include "report/names/symbol_name.h"
#include "report/text/text.h"

enum { GAP_CELLS = 3, SECOND_MIN = 14, SECOND_MAX = 60, NAME_MIN = 20 };

struct table {
  struct hwi_text *text;
  enum hwi_by by;
  uint64_t all;
  size_t name_cells, second_cells; /* second: the module of a function, the function of a line */
};

static void add_module_name(struct hwi_line *line, const struct hwi_text *text, uint32_t module)
{
  if (module == 0)
    hwi_line_puts(line, "no module");
  else
    hwi_line_clean(line, hwi_module_name(text->profile, module));
}

/* A source line is shown with its file's last component only, so that its function has room. */
static void add_file(struct hwi_line *line, const struct hwi_text *text, const struct hwi_symbol *symbol, size_t cells)
{
  enum { LINE_CELLS_WIDE = 60 };
  const char *ellipsis = hwi_style_ellipsis(text->style);
  if (text->report->options.by == HWI_BY_FILE)
    hwi_line_path(line, symbol->file, 0, cells, ellipsis);
  else if (text->style->columns < HWI_WIDE_COLUMNS)
    hwi_line_path(line, hwi_base_name(symbol->file), symbol->line, cells, ellipsis);
  else
    hwi_line_path(line, symbol->file, symbol->line, cells < LINE_CELLS_WIDE ? cells : LINE_CELLS_WIDE, ellipsis);
}

/* Returns why the group is shown by its module: it has no name, or no source file. */
static const char *reason_of(const struct hwi_symbol *symbol, enum hwi_by by)
{
  bool unnamed = by == HWI_BY_FUNCTION || !symbol->function;
  return hwi_symbol_reason_text(unnamed ? (enum hwi_symbol_reason)symbol->reason : HWI_SYMBOL_NO_LINES);
}

void hwi_text_group_name(struct hwi_line *line, const struct hwi_text *text, const struct hwi_group *group,
                         size_t cells)
{
  const char *ellipsis = hwi_style_ellipsis(text->style);
  enum hwi_by by = (enum hwi_by)text->report->options.by;
  const struct hwi_symbol *symbol = group->symbol;
  struct hwi_line name = {0};
  if (!symbol) {
    hwi_line_puts(&name, "stack not known");
  } else if (by == HWI_BY_MODULE && group->module != 0) {
    hwi_line_path(line, hwi_module_path(text->profile, group->module), 0, cells, ellipsis);
  } else if (by == HWI_BY_FUNCTION && symbol->function) {
    hwi_symbol_name_add(line, symbol, cells, ellipsis);
  } else if (by != HWI_BY_FUNCTION && by != HWI_BY_MODULE && symbol->file) {
    add_file(line, text, symbol, cells);
  } else {
    hwi_line_puts(&name, by == HWI_BY_FUNCTION ? "?? " : "");
    add_module_name(&name, text, group->module);
    if (by == HWI_BY_FUNCTION && symbol->start != 0)
      hwi_line_printf(&name, "+0x%" PRIx64, symbol->start);
    else
      hwi_line_printf(&name, " (%s)", reason_of(symbol, by));
  }
  hwi_line_shorten(line, hwi_line_text(&name), cells, ellipsis);
  hwi_line_release_part(line, &name);
}

void hwi_text_group_second(struct hwi_line *line, const struct hwi_text *text, const struct hwi_group *group,
                           size_t cells)
{
  const struct hwi_symbol *symbol = group->symbol;
  if (!symbol)
    return;
  struct hwi_line name = {0};
  if (text->report->options.by == HWI_BY_FUNCTION && symbol->function)
    add_module_name(&name, text, group->module);
  else if (text->report->options.by == HWI_BY_FUNCTION && symbol->start != 0)
    hwi_line_printf(&name, "(%s)", reason_of(symbol, HWI_BY_FUNCTION));
  else if (text->report->options.by == HWI_BY_LINE && symbol->file && symbol->function)
    hwi_symbol_name_add(&name, symbol, cells, hwi_style_ellipsis(text->style));
  hwi_line_shorten(line, hwi_line_text(&name), cells, hwi_style_ellipsis(text->style));
  hwi_line_release_part(line, &name);
}

/* The column of calls is left out in favour of a source line's function. */
static bool shows_calls(const struct table *table)
{
  unsigned least = table->by == HWI_BY_LINE ? HWI_WIDE_COLUMNS : HWI_NARROW_COLUMNS;
  return table->text->style->columns >= least && table->text->cost != HWI_COST_CALLS;
}

static void measure(struct table *table, const struct hwi_groups *groups, uint64_t rows)
{
  enum { MEASURED_ROWS = 200 };
  size_t figures = HWI_RANK_CELLS - 1 + 2 * (HWI_AMOUNT_CELLS + HWI_SHARE_CELLS) + GAP_CELLS;
  figures += shows_calls(table) ? HWI_AMOUNT_CELLS : 0;
  size_t left = table->text->style->columns - figures, name = NAME_MIN;
  bool two = table->by == HWI_BY_LINE && table->text->style->columns >= HWI_NARROW_COLUMNS;
  size_t most = two ? left / 2 : left; /* a line without its function is of little use */
  struct hwi_line line = {0};
  for (uint64_t row = 0; row < rows && row < MEASURED_ROWS; row++) {
    hwi_line_clear(&line);
    hwi_text_group_name(&line, table->text, &groups->items[row], most);
    name = hwi_cells(hwi_line_text(&line)) > name ? hwi_cells(hwi_line_text(&line)) : name;
    hwi_line_clear(&line);
    hwi_text_group_second(&line, table->text, &groups->items[row], SECOND_MAX);
    if (hwi_cells(hwi_line_text(&line)) > table->second_cells)
      table->second_cells = hwi_cells(hwi_line_text(&line));
  }
  hwi_line_release_part(&table->text->line, &line);
  /* The second column gets the cells that the names leave, if they are enough. */
  table->name_cells = name < most ? name : most;
  size_t rest = left - table->name_cells;
  size_t second = rest > GAP_CELLS ? rest - GAP_CELLS : 0;
  if (second < SECOND_MIN)
    table->second_cells = 0;
  else if (table->second_cells > second)
    table->second_cells = second;
}

static void print_titles(struct table *table)
{
  struct hwi_line *line = &table->text->line;
  hwi_line_right(line, "self", HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
  hwi_line_repeat(line, " ", HWI_SHARE_CELLS);
  hwi_line_right(line, "total", HWI_AMOUNT_CELLS);
  hwi_line_repeat(line, " ", HWI_SHARE_CELLS);
  hwi_text_error_title(table->text);
  if (shows_calls(table))
    hwi_line_right(line, "calls", HWI_AMOUNT_CELLS);
  hwi_text_end(table->text, HWI_DIM);
}

static void print_row(struct table *table, const struct hwi_group *group, uint64_t rank)
{
  struct hwi_text *text = table->text;
  uint64_t total = hwi_amount_cost(&group->total, text->cost);
  hwi_text_cost(text, rank, hwi_amount_cost(&group->self, text->cost), table->all);
  hwi_line_right(&text->line, hwi_cost_text(total, text->cost).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_share_text(total, table->all).text, HWI_SHARE_CELLS);
  hwi_text_error(text, &group->total);
  if (shows_calls(table))
    hwi_line_right(&text->line, hwi_count_text(group->self.calls).text, HWI_AMOUNT_CELLS);
  hwi_line_repeat(&text->line, " ", GAP_CELLS);
  struct hwi_line name = {0}, second = {0};
  hwi_text_group_second(&second, text, group, table->second_cells);
  bool alone = second.bytes == 0; /* a name without a second column may use its cells */
  size_t cells = table->name_cells + (alone && table->second_cells > 0 ? GAP_CELLS + table->second_cells : 0);
  hwi_text_group_name(&name, text, group, cells);
  hwi_line_left(&text->line, hwi_line_text(&name), table->name_cells);
  if (!alone && table->second_cells > 0) {
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
    hwi_line_puts(&text->line, hwi_line_text(&second));
  }
  hwi_line_release_part(&text->line, &name);
  hwi_line_release_part(&text->line, &second);
  hwi_text_end(text, HWI_PLAIN);
}

static void print_rest(struct table *table, const struct hwi_groups *groups, uint64_t rows, uint64_t count)
{
  struct hwi_text *text = table->text;
  struct hwi_amount rest = {0};
  for (uint64_t i = rows; i < groups->count; i++)
    hwi_amount_add(&rest, &groups->items[i].self);
  if (count == rows)
    return;
  hwi_text_cost(text, 0, hwi_amount_cost(&rest, text->cost), table->all);
  static const char *const nouns[] = {"", "function", "file", "line", "module"};
  hwi_line_puts(&text->line, "   self, ");
  hwi_text_rest(text, count - rows, nouns[table->by]);
  hwi_text_end(text, HWI_PLAIN);
}

int hwi_text_groups(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error)
{
  static const char *const names[] = {"", "Functions", "Source files", "Source lines", "Modules"};
  struct table table = {.text = text, .by = (enum hwi_by)text->report->options.by};
  table.all = hwi_amount_cost(&selection->all, text->cost);
  struct hwi_groups groups;
  int status = hwi_groups_init(&groups, text->report, selection, frames, error);
  if (status < 0)
    return status;
  uint32_t count = 0; /* groups with neither self nor total get no row */
  while (count < groups.count && (hwi_amount_cost(&groups.items[count].self, text->cost) > 0 ||
                                  hwi_amount_cost(&groups.items[count].total, text->cost) > 0))
    count++;
  uint64_t rows = hwi_text_rows(text, count);
  measure(&table, &groups, rows);
  struct hwi_line heading = {0};
  hwi_line_puts(&heading, names[table.by]);
  hwi_text_cost_words(&heading, text);
  hwi_text_heading(text, hwi_line_text(&heading), HWI_TEXT_BY);
  hwi_line_release_part(&text->line, &heading);
  hwi_text_narrowing(text, selection);
  print_titles(&table);
  for (uint64_t row = 0; row < rows; row++)
    print_row(&table, &groups.items[row], row + 1);
  print_rest(&table, &groups, rows, count);
  if (count == 0)
    hwi_text_none(text);
  hwi_groups_release(&groups);
  return HW_OK;
}
