/* stack_label.c - a stack in a few words: the frame that requested the memory, and its callers if they distinguish
 * rows */
#include "report/names/stack_label.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/symbol_name.h"

enum {
  PLACE_CELLS_MAX = 32,
  BRACKET_CELLS = 3,
  NAME_CELLS_MIN = 32, /* a name gets so many, or all that it needs, before its place in the source gets any */
  NAME_CELLS_MAX = 48,
  CALLERS_MAX = 3,
  CALLERS_DEEPEST = 64,
  VIA_CELLS_MIN = 48 /* with fewer, no room is left for the frame that requested the memory */
};

/* A function without a name. */
static void add_start(struct hwi_line *line, const struct hwi_stack_label_words *words_of,
                      const struct hwi_shown_frame *frame, size_t cells)
{
  struct hwi_line name = {0};
  hwi_line_puts(&name, "?? ");
  hwi_line_clean(&name, hwi_module_name(words_of->frames->profile, frame->module));
  hwi_line_printf(&name, "+0x%" PRIx64, frame->symbol->start);
  hwi_line_shorten(line, hwi_line_text(&name), cells, words_of->ellipsis);
  hwi_line_release_part(line, &name);
}

static void add_function(struct hwi_line *line, const struct hwi_stack_label_words *words_of,
                         const struct hwi_shown_frame *frame, size_t cells)
{
  if (frame->symbol->start != 0)
    add_start(line, words_of, frame, cells);
  else if (frame->symbol->function)
    hwi_symbol_name_add(line, frame->symbol, cells < NAME_CELLS_MAX ? cells : NAME_CELLS_MAX, words_of->ellipsis);
  else
    hwi_line_puts(line, "??");
}

/* Returns the cells that a function's name needs before anything is put next to it. */
static size_t least_cells(const struct hwi_stack_label_words *words_of, const struct hwi_shown_frame *frame)
{
  struct hwi_line name = {0};
  add_function(&name, words_of, frame, NAME_CELLS_MIN);
  size_t cells = hwi_cells(hwi_line_text(&name));
  hwi_line_release(&name);
  return cells;
}

static void add_frame(struct hwi_line *line, const struct hwi_stack_label_words *words_of,
                      const struct hwi_shown_frame *frame, size_t cells)
{
  const char *ellipsis = words_of->ellipsis;
  if (frame->symbol->start != 0) {
    add_start(line, words_of, frame, cells);
    return;
  }
  struct hwi_line place = {0};
  const char *module = hwi_module_name(words_of->frames->profile, frame->module);
  if (frame->symbol->file)
    hwi_line_path(&place, hwi_base_name(frame->symbol->file), frame->symbol->line, PLACE_CELLS_MAX, ellipsis);
  else
    hwi_line_path(&place, frame->module != 0 ? module : "no module", 0, PLACE_CELLS_MAX, ellipsis);
  size_t place_cells = hwi_cells(hwi_line_text(&place)) + BRACKET_CELLS;
  bool has_room = cells >= place_cells + least_cells(words_of, frame);
  add_function(line, words_of, frame, has_room ? cells - place_cells : cells);
  if (has_room)
    hwi_line_printf(line, " (%s)", hwi_line_text(&place));
  hwi_line_release_part(line, &place);
}

/* The frames that a stack's words are made of: the one that requested the memory, and its callers; or, if too many
 * callers would be needed, only the caller that makes the difference. */
struct chain {
  const struct hwi_shown_frame *frames[CALLERS_MAX + 1];
  uint32_t count;
  bool is_cut; /* frames are left out between the first and the second */
};

static size_t least_of(size_t a, size_t b)
{
  return a < b ? a : b;
}

static size_t function_cells(const struct hwi_stack_label_words *words_of, const struct hwi_shown_frame *frame)
{
  struct hwi_line name = {0};
  add_function(&name, words_of, frame, SIZE_MAX);
  const size_t cells = hwi_cells(hwi_line_text(&name));
  hwi_line_release(&name);
  return cells;
}

/* Adds only the first and the last function: "PyList_New < … < pyinit_config"; without the last one if little of it would be
 * left: "PyList_New < …". */
static void add_ends(struct hwi_line *line, const struct hwi_stack_label_words *words_of, const struct chain *chain,
                     size_t cells)
{
  enum { LAST_CELLS_MIN = 12, ARROW_CELLS = 3 };
  const struct hwi_shown_frame *first = chain->frames[0], *last = chain->frames[chain->count - 1];
  const size_t first_cells = function_cells(words_of, first), last_cells = function_cells(words_of, last),
               gap_cells = ARROW_CELLS + hwi_cells(words_of->ellipsis);
  const bool has_between = chain->count > 2 || chain->is_cut;
  const size_t between_cells = has_between ? gap_cells + ARROW_CELLS : ARROW_CELLS,
               least = least_of(last_cells, LAST_CELLS_MIN);
  if (first_cells + between_cells + least > cells) {
    add_function(line, words_of, first, cells - gap_cells);
    hwi_line_printf(line, " < %s", words_of->ellipsis);
    return;
  }
  add_function(line, words_of, first, first_cells);
  if (has_between)
    hwi_line_printf(line, " < %s", words_of->ellipsis);
  hwi_line_puts(line, " < ");
  add_function(line, words_of, last, least_of(last_cells, cells - first_cells - between_cells));
}

/* Adds "list_resize (listobject.c:70) < app1 (listobject.c:340)"; without the places if there is no room for them, and then
 * without the frames between. */
static void add_chain(struct hwi_line *line, const struct hwi_stack_label_words *words_of, const struct chain *chain,
                      size_t cells)
{
  static void (*const adds[])(struct hwi_line * line, const struct hwi_stack_label_words *words_of,
                              const struct hwi_shown_frame *frame, size_t cells) = {add_frame, add_function};
  enum { WAYS = sizeof adds / sizeof *adds, ENDS_CELLS_MIN = 20 };
  struct hwi_line words = {0};
  for (size_t way = 0; way < WAYS; way++) {
    hwi_line_clear(&words);
    for (uint32_t i = 0; i < chain->count; i++) {
      hwi_line_puts(&words, i > 0 ? " < " : "");
      if (i == 1 && chain->is_cut)
        hwi_line_printf(&words, "%s < ", words_of->ellipsis);
      adds[way](&words, words_of, chain->frames[i], SIZE_MAX);
    }
    if (hwi_cells(hwi_line_text(&words)) <= cells)
      break;
  }
  if (hwi_cells(hwi_line_text(&words)) > cells && cells >= ENDS_CELLS_MIN)
    add_ends(line, words_of, chain, cells);
  else
    hwi_line_shorten(line, hwi_line_text(&words), cells, words_of->ellipsis);
  hwi_line_release_part(line, &words);
}

static struct chain chain_of(const struct hwi_shown_frame *frames, uint32_t count)
{
  struct chain chain = {.frames = {frames}, .is_cut = count > CALLERS_MAX + 1};
  if (chain.is_cut) {
    chain.frames[1] = &frames[count - 1];
    chain.count = 2;
    return chain;
  }
  for (chain.count = 1; chain.count < count; chain.count++)
    chain.frames[chain.count] = &frames[chain.count];
  return chain;
}

/* Returns the line " via std::vector<…>::push_back"; an empty one if the frame requested its memory itself. */
static struct hwi_line via_of(const struct hwi_stack_label_words *words_of, const struct hwi_shown_frame *inner,
                              const struct hwi_stack_label *label)
{
  struct hwi_line via = {0};
  if (inner && label->via && label->cells >= VIA_CELLS_MIN) {
    hwi_line_puts(&via, " via ");
    add_function(&via, words_of, inner, label->cells / 2);
  }
  return via;
}

void hwi_stack_label_add(struct hwi_line *line, const struct hwi_stack_label_words *words_of,
                         const struct hwi_stack_label *label)
{
  struct hwi_named_frames *frames = words_of->frames;
  uint32_t first = 0, last = 0, own, end;
  int status = hwi_named_frames_load(frames, label->stack, NULL);
  line->failed |= status == HW_ERR_MEMORY;
  if (status == HW_OK)
    hwi_named_frames_trim(frames, &first, &last);
  if (first == last || !frames->items[first].symbol) {
    hwi_line_shorten(line, "a stack that is not known", label->cells, words_of->ellipsis);
    return;
  }
  own = label->is_named ? hwi_named_frames_nearest(frames, first, last) : hwi_named_frames_own(frames, first, last);
  for (end = own + 1; end < last && end - own <= label->callers && frames->items[end].symbol;)
    end++;
  const struct chain chain = chain_of(&frames->items[own], end - own);
  struct hwi_line via = via_of(words_of, own > first ? &frames->items[first] : NULL, label);
  size_t cells = label->cells - hwi_cells(hwi_line_text(&via));
  if (chain.count > 1)
    add_chain(line, words_of, &chain, cells);
  else
    add_frame(line, words_of, chain.frames[0], cells);
  hwi_line_puts(line, hwi_line_text(&via));
  hwi_line_release_part(line, &via);
}

/* --- which rows need callers --- */

struct words {
  struct hwi_line line;
  struct hwi_stack_label *label;
};

static int compare_words(const void *left, const void *right)
{
  const struct words *a = left, *b = right;
  return strcmp(hwi_line_text(&a->line), hwi_line_text(&b->line));
}

static void add_word(struct hwi_stack_label *label)
{
  if (label->via)
    label->callers++;
  else
    label->via = true;
}

/* Stacks whose words are not distinct get `via`, and after that one more caller. Returns whether any words changed. */
static bool deepen(const struct hwi_stack_label_words *words_of, struct words *words, uint32_t count)
{
  bool any = false;
  for (uint32_t i = 0; i < count; i++) {
    hwi_line_clear(&words[i].line);
    hwi_stack_label_add(&words[i].line, words_of, words[i].label);
  }
  qsort(words, count, sizeof *words, compare_words);
  for (uint32_t begin = 0, end; begin < count; begin = end) {
    bool are_alike = false; /* two different stacks, not one stack twice */
    for (end = begin + 1; end < count && compare_words(&words[begin], &words[end]) == 0; end++)
      are_alike |= words[end].label->stack != words[begin].label->stack;
    for (uint32_t i = begin; i < end && are_alike; i++)
      add_word(words[i].label);
    any |= are_alike;
  }
  return any;
}

bool hwi_stack_labels_distinguish(const struct hwi_stack_label_words *words_of, struct hwi_stack_label *labels,
                                  uint32_t count)
{
  struct words *words = calloc((size_t)count + 1, sizeof *words);
  if (!words)
    return false;
  for (uint32_t i = 0; i < count; i++)
    words[i].label = &labels[i];
  for (uint32_t round = 0; round <= CALLERS_DEEPEST && deepen(words_of, words, count);)
    round++;
  bool failed = false;
  for (uint32_t i = 0; i < count; i++) {
    if (labels[i].callers == CALLERS_DEEPEST)
      labels[i].callers = CALLERS_MAX; /* no caller differs: show the nearest callers */
    failed |= words[i].line.failed;
    hwi_line_release(&words[i].line);
  }
  free(words);
  return !failed;
}
