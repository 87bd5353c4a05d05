/* tree.c - the selected stacks as a tree: figures on the left, names with their guides on the right
 *
 * Where the tree does not branch, nodes are printed one after the other without guides and without figures, which
 * would all be the same: such a chain is one twig, and is folded like a stack. The tree is visited twice, first to
 * measure the names.
 */
#include <stdlib.h>

#include "report/content/tree.h"
#include "report/names/cxx_name.h"
#include "report/names/fold.h"
#include "report/text/frames.h"
#include "trace/grow.h"

enum {
  SHARE_DEFAULT = 1, /* percent */
  GAP_CELLS = 2,
  GUIDE_CELLS = 2,  /* for each level, or 1 if that takes too much of the room */
  GUIDES_SHARE = 2, /* guides take half of the room at most */
  PLACE_MIN = 14,
  PLACE_MAX = 32,
  PLACE_MAX_WIDE = 40,
};

/* What is still to be printed for a twig after its branches. */
struct open_twig {
  uint32_t number; /* of its last node */
  bool is_last;
  uint32_t cut_count;
  struct hwi_amount cut;
};

/* A node of the chain that is being collected. */
struct link {
  bool recurs, several_lines;
};

struct printer {
  struct hwi_text *text;
  struct hwi_tree_cut cut;
  uint64_t all;
  size_t room, name_cells, place_cells; /* room: for names with their guides, and for places */
  size_t guide_cells, deepest;          /* level */
  bool measures;
  bool hint_given, failed;
  struct hwi_named_frames chain; /* nodes as frames, in the order of the way */
  struct link *links;
  size_t link_room;
  struct hwi_tree_node first, last; /* of the chain */
  struct hwi_folded folded;
  struct open_twig *open; /* twigs from a root to the chain */
  size_t open_count, open_room;
};

/* --- one line --- */

static bool shows_self(const struct printer *printer)
{
  return printer->text->report->options.tree == HWI_TREE_CALLERS;
}

enum glyph { BAR, BRANCH, LAST_BRANCH, NO_GLYPH };

static void add_glyph(const struct printer *printer, struct hwi_line *line, enum glyph glyph, size_t cells)
{
  static const char *const utf8[] = {"│", "├", "└", " "}, *const ascii[] = {"|", "+", "`", " "};
  hwi_line_puts(line, printer->text->style->utf8 ? utf8[glyph] : ascii[glyph]);
  hwi_line_repeat(line, " ", cells - 1);
}

/* Adds the guides of a line at the level of the next twig; `glyph` is that twig's own. */
static void add_guides(const struct printer *printer, struct hwi_line *line, enum glyph glyph)
{
  size_t most = printer->room / GUIDES_SHARE / printer->guide_cells, level = printer->open_count;
  size_t first = level > most ? level - most : 1;
  if (first > 1)
    hwi_line_puts(line, hwi_style_ellipsis(printer->text->style));
  for (size_t i = first; i < level; i++)
    add_glyph(printer, line, printer->open[i].is_last ? NO_GLYPH : BAR, printer->guide_cells);
  if (level > 0)
    add_glyph(printer, line, glyph, GUIDE_CELLS);
}

static size_t at_most(size_t value, size_t most)
{
  return value < most ? value : most;
}

/* Ends a line that already has its figures. */
static void end_line(struct printer *printer, const char *name, const char *place, enum hwi_emphasis emphasis)
{
  struct hwi_line *line = &printer->text->line;
  if (printer->measures) {
    size_t place_cells = hwi_cells(place),
           cells = place_cells > 0 ? hwi_cells(name) : 0; /* without a place, the name may be wider */
    printer->name_cells = cells > printer->name_cells ? cells : printer->name_cells;
    printer->place_cells = place_cells > printer->place_cells ? place_cells : printer->place_cells;
    printer->deepest = printer->open_count > printer->deepest ? printer->open_count : printer->deepest;
    hwi_line_clear(line);
    return;
  }
  if (*place == '\0' || printer->place_cells == 0) {
    hwi_line_shorten(line, name, printer->room, hwi_style_ellipsis(printer->text->style));
  } else {
    hwi_line_left(line, name, printer->name_cells);
    hwi_line_repeat(line, " ", GAP_CELLS);
    hwi_line_shorten(line, place, printer->place_cells, hwi_style_ellipsis(printer->text->style));
  }
  hwi_text_end(printer->text, emphasis);
}

static void add_figures(struct printer *printer, const struct hwi_amount *total, const struct hwi_amount *self)
{
  struct hwi_line *line = &printer->text->line;
  enum hwi_cost cost = printer->text->cost;
  uint64_t self_cost = self ? hwi_amount_cost(self, cost) : 0;
  hwi_line_right(line, total ? hwi_cost_text(hwi_amount_cost(total, cost), cost).text : "", HWI_AMOUNT_CELLS);
  hwi_line_right(line, total ? hwi_share_text(hwi_amount_cost(total, cost), printer->all).text : "", HWI_SHARE_CELLS);
  if (shows_self(printer))
    hwi_line_right(line, self_cost > 0 ? hwi_cost_text(self_cost, cost).text : "", HWI_AMOUNT_CELLS);
  hwi_line_repeat(line, " ", GAP_CELLS);
}

/* --- a node's name --- */

static void add_name(struct printer *printer, struct hwi_line *line, const struct hwi_shown_frame *frame, bool recurs,
                     bool has_place)
{
  struct hwi_text *text = printer->text;
  const char *mark = !recurs ? "" : text->style->utf8 ? " ↻" : " (recursive)";
  size_t used = hwi_cells(hwi_line_text(line)) + hwi_cells(mark);
  bool is_alone = !has_place || printer->place_cells == 0;
  size_t most = printer->measures || is_alone ? printer->room : printer->name_cells;
  size_t cells = most > used ? most - used : 0;
  struct hwi_line name = {0};
  if (frame->symbol) {
    const struct hwi_group group = {.symbol = frame->symbol, .module = frame->module};
    hwi_text_group_name(&name, text, &group, cells);
  } else {
    hwi_line_puts(&name, frame->address == HWI_GROUP_LEFT_OUT ? "frames left out by the recorder (record --depth)"
                                                              : "stack not known");
  }
  hwi_line_shorten(line, hwi_line_text(&name), cells, hwi_style_ellipsis(text->style));
  hwi_line_puts(line, mark);
  hwi_line_release_part(line, &name);
}

/* Adds a function's place in the source, else its module; for a source line its function. */
static void add_place(struct printer *printer, struct hwi_line *line, const struct hwi_shown_frame *frame,
                      bool several_lines)
{
  const struct hwi_text *text = printer->text;
  const char *ellipsis = hwi_style_ellipsis(text->style);
  bool wide = text->style->columns >= HWI_WIDE_COLUMNS;
  size_t most = printer->measures ? (wide ? PLACE_MAX_WIDE : PLACE_MAX) : printer->place_cells;
  const struct hwi_symbol *symbol = frame->symbol;
  if (!symbol || most == 0)
    return;
  if (text->report->options.by != HWI_BY_FUNCTION) {
    const struct hwi_group group = {.symbol = symbol, .module = frame->module};
    hwi_text_group_second(line, text, &group, most);
  } else if (symbol->file) {
    hwi_line_path(line, wide ? symbol->file : hwi_base_name(symbol->file), several_lines ? 0 : symbol->line, most,
                  ellipsis);
  } else if (symbol->function && frame->module != 0) {
    struct hwi_line module = {0};
    hwi_line_clean(&module, hwi_module_name(text->profile, frame->module));
    hwi_line_shorten(line, hwi_line_text(&module), most, ellipsis);
    hwi_line_release_part(line, &module);
  }
}

static void print_link(struct printer *printer, const struct hwi_fold_line *shown, enum glyph glyph)
{
  struct hwi_line name = {0}, place = {0};
  add_guides(printer, &name, glyph);
  if (shown->folded) {
    hwi_text_frames_fold(&name, printer->text, &printer->chain, shown);
    hwi_line_puts(&place, printer->hint_given ? "" : "(--frames all)");
    printer->hint_given = true;
  } else {
    const struct link *link = &printer->links[shown->first];
    add_place(printer, &place, &printer->chain.items[shown->first], link->several_lines);
    add_name(printer, &name, &printer->chain.items[shown->first], link->recurs, place.bytes > 0);
  }
  end_line(printer, hwi_line_text(&name), hwi_line_text(&place), shown->folded ? HWI_DIM : HWI_PLAIN);
  hwi_line_release_part(&printer->text->line, &name);
  hwi_line_release_part(&printer->text->line, &place);
}

/* --- twigs --- */

/* Prints the collected chain. */
static void end_chain(struct printer *printer)
{
  if (printer->chain.count == 0)
    return;
  uint32_t lines_max = printer->text->report->options.all_frames ? 0 : HWI_FOLD_LINES_MAX;
  const struct hwi_tree_node *last = &printer->last;
  bool is_last = printer->first.is_last;
  printer->failed |=
      hwi_fold_chain(&printer->folded, &printer->chain, lines_max, NULL) < 0 ||
      !hwi_grow((void **)&printer->open, &printer->open_room, printer->open_count + 1, sizeof *printer->open);
  for (uint32_t i = 0; i < printer->folded.count && !printer->failed; i++) {
    bool is_first = i == 0, is_end = i + 1 == printer->folded.count;
    add_figures(printer, is_first ? &printer->first.total : NULL, is_end ? &last->self : NULL);
    print_link(printer, &printer->folded.lines[i],
               is_first ? (is_last ? LAST_BRANCH : BRANCH) : (is_last ? NO_GLYPH : BAR));
  }
  printer->chain.count = 0;
  if (!printer->failed)
    printer->open[printer->open_count++] = (struct open_twig){last->number, is_last, last->cut_count, last->cut};
}

/* "12 more below 1 %", as the last branch of the twig opened last. */
static void print_cut(struct printer *printer, uint32_t count, const struct hwi_amount *cut)
{
  if (count == 0)
    return;
  const struct hwi_report_options *options = &printer->text->report->options;
  double share = options->min_share >= 0 ? options->min_share : SHARE_DEFAULT;
  bool by_top = printer->cut.top > 0;
  struct hwi_line name = {0};
  add_figures(printer, cut, NULL);
  add_guides(printer, &name, LAST_BRANCH);
  hwi_line_printf(&name, "%s more", hwi_count_text(count).text);
  if (!by_top)
    hwi_line_printf(&name, " below %g %%", share);
  if (!printer->hint_given)
    hwi_line_puts(&name, by_top ? " (--top 0)" : " (--min-share 0)");
  printer->hint_given = true;
  end_line(printer, hwi_line_text(&name), "", HWI_DIM);
  hwi_line_release_part(&printer->text->line, &name);
}

/* Closes the last twigs until `parent` is the last node of the innermost open one. */
static void close_twigs(struct printer *printer, uint32_t parent)
{
  while (printer->open_count > 0 && printer->open[printer->open_count - 1].number != parent) {
    const struct open_twig twig = printer->open[printer->open_count - 1];
    print_cut(printer, twig.cut_count, &twig.cut);
    printer->open_count--;
  }
}

/* Whether `node` continues the chain: it is the only branch of the chain's last node, and has all of its cost. */
static bool goes_on(const struct printer *printer, const struct hwi_tree_node *node)
{
  enum hwi_cost cost = printer->text->cost;
  return printer->chain.count > 0 && node->parent == printer->last.number && printer->last.branches == 1 &&
         hwi_amount_cost(&node->total, cost) == hwi_amount_cost(&printer->last.total, cost);
}

static void visit(void *context, const struct hwi_tree_node *node)
{
  struct printer *printer = context;
  if (!goes_on(printer, node)) {
    end_chain(printer);
    close_twigs(printer, node->parent);
    printer->first = *node;
  }
  const struct hwi_shown_frame frame = {node->member->symbol, node->member->group, node->member->module};
  if (!hwi_grow((void **)&printer->links, &printer->link_room, (size_t)printer->chain.count + 1,
                sizeof *printer->links) ||
      !hwi_named_frames_add(&printer->chain, &frame)) {
    printer->failed = true;
    return;
  }
  printer->links[printer->chain.count - 1] = (struct link){node->recurs, node->several_lines};
  printer->last = *node;
}

/* --- the whole --- */

static int go_through(struct printer *printer, struct hwi_tree *tree, struct hwi_tree_node *whole,
                      struct hwi_error *error)
{
  const struct hwi_tree_visitor visitor = {visit, printer};
  printer->hint_given = false;
  int status = hwi_tree_walk(tree, &printer->cut, &visitor, whole, error);
  end_chain(printer);
  close_twigs(printer, HWI_TREE_NO_PARENT);
  print_cut(printer, whole->cut_count, &whole->cut);
  return status == HW_OK && printer->failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory for a tree") : status;
}

/* Places get the cells that the names leave, if they are enough; if there is room for both, long names are cut for
 * them. */
static void fit(struct printer *printer)
{
  size_t room = printer->room, reserved = 0;
  if (printer->text->style->columns >= HWI_NARROW_COLUMNS)
    reserved = printer->place_cells + GAP_CELLS;
  size_t most = room > 2 * reserved ? room - reserved : room / 2;
  if (reserved == 0)
    most = room;
  printer->name_cells = at_most(printer->name_cells, most);
  size_t left = room - printer->name_cells;
  printer->place_cells = left >= PLACE_MIN + GAP_CELLS ? at_most(printer->place_cells, left - GAP_CELLS) : 0;
}

static void print_titles(struct printer *printer)
{
  struct hwi_line *line = &printer->text->line;
  hwi_line_right(line, "total", HWI_AMOUNT_CELLS);
  hwi_line_repeat(line, " ", HWI_SHARE_CELLS);
  if (shows_self(printer))
    hwi_line_right(line, "self", HWI_AMOUNT_CELLS);
  hwi_text_end(printer->text, HWI_DIM);
}

static void print_heading(struct hwi_text *text)
{
  static const char *const names[] = {"", "Functions", "Source files", "Source lines", "Modules"};
  bool callers = text->report->options.tree == HWI_TREE_CALLERS;
  struct hwi_line heading = {0};
  hwi_line_puts(&heading, names[text->report->options.by]);
  hwi_text_cost_words(&heading, text);
  hwi_line_printf(&heading, ", %s first", callers ? "callers" : "callees");
  hwi_text_heading(text, hwi_line_text(&heading), callers ? "[--tree=callees]" : "[--tree=callers]");
  hwi_line_release_part(&text->line, &heading);
}

static int print_tree(struct printer *printer, struct hwi_tree *tree, struct hwi_error *error)
{
  struct hwi_tree_node whole;
  size_t figures = HWI_AMOUNT_CELLS + HWI_SHARE_CELLS + GAP_CELLS + (shows_self(printer) ? HWI_AMOUNT_CELLS : 0);
  printer->room = printer->text->style->columns - figures;
  printer->guide_cells = GUIDE_CELLS;
  printer->measures = true;
  int status = go_through(printer, tree, &whole, error);
  if (printer->deepest * GUIDE_CELLS > printer->room / GUIDES_SHARE) {
    printer->guide_cells = 1;
    printer->name_cells = printer->place_cells = 0;
    if (status == HW_OK)
      status = go_through(printer, tree, &whole, error);
  }
  fit(printer);
  printer->measures = false;
  print_titles(printer);
  if (status == HW_OK)
    status = go_through(printer, tree, &whole, error);
  if (whole.branches + whole.cut_count == 0)
    hwi_text_none(printer->text);
  return status;
}

int hwi_text_tree(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                  struct hwi_error *error)
{
  struct printer printer = {.text = text, .cut = hwi_tree_cut_of(&text->report->options, selection, SHARE_DEFAULT)};
  printer.all = hwi_amount_cost(&selection->all, text->cost);
  if (printer.cut.least == 0)
    printer.cut.least = 1; /* a cost of 0 gets no line */
  struct hwi_tree tree;
  int status = hwi_tree_init(&tree, text->report, selection, frames, error);
  if (status == HW_OK)
    status = hwi_named_frames_init(&printer.chain, text->report, error);
  print_heading(text);
  hwi_text_narrowing(text, selection);
  if (status == HW_OK)
    status = print_tree(&printer, &tree, error);
  hwi_text_few_calls(text, selection);
  hwi_tree_release(&tree);
  hwi_named_frames_release(&printer.chain);
  hwi_folded_release(&printer.folded);
  free(printer.links);
  free(printer.open);
  return status;
}
