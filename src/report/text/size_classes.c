/* size_classes.c - below the ranking by size: classes of sizes, with their live bytes along the run as a line of
 * bars */
#include "report/content/size_classes.h"
#include "report/text/text.h"

enum { RANGE_CELLS = 21, GAP_CELLS = 3, BARS_MIN = 16, BARS_MAX = 100 };

/* Finds the most bytes that the class held in each of `count` equal parts of the run, at the sampled moments. */
static uint64_t fill_bars(uint64_t *bars, unsigned count, const struct hwi_profile *profile, unsigned class)
{
  uint64_t most = 0;
  for (uint32_t i = 0; i < profile->class_point_count; i++) {
    unsigned bar = (unsigned)((uint64_t)i * count / profile->class_point_count);
    uint64_t bytes = profile->class_points[i].live_bytes[class];
    bars[bar] = bytes > bars[bar] ? bytes : bars[bar];
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* Each class has its own scale: its highest bar is the most that it held. A value above 0 is always visible. */
static void add_bars(struct hwi_text *text, const uint64_t *bars, unsigned count, uint64_t most)
{
  static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const ascii[] = {" ", ".", ".", ":", ":", ":", "#", "#", "#"};
  enum { HEIGHTS = sizeof blocks / sizeof *blocks - 1 };
  for (unsigned i = 0; i < count; i++) {
    uint64_t height = most > 0 ? (uint64_t)((unsigned __int128)bars[i] * HEIGHTS / most) : 0;
    if (height == 0 && bars[i] > 0)
      height = 1;
    hwi_line_puts(&text->line, text->style->utf8 ? blocks[height] : ascii[height]);
  }
}

/* Returns how many bars there is room for, at most one for each moment. */
static unsigned bar_count(const struct hwi_text *text)
{
  size_t used = GAP_CELLS + RANGE_CELLS + 3 * HWI_AMOUNT_CELLS + GAP_CELLS;
  size_t room = text->style->columns > used ? text->style->columns - used : 0;
  size_t most = text->profile->class_point_count < BARS_MAX ? text->profile->class_point_count : BARS_MAX;
  room = room < most ? room : most;
  return room >= BARS_MIN ? (unsigned)room : 0;
}

static void print_titles(struct hwi_text *text, unsigned bars)
{
  hwi_line_right(&text->line, "block sizes", GAP_CELLS + RANGE_CELLS);
  hwi_line_right(&text->line, "calls", HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "at peak", HWI_AMOUNT_CELLS);
  char end[sizeof(struct hwi_number) + sizeof "at "];
  snprintf(end, sizeof end, "at %s", hwi_text_end_name(text).text);
  hwi_line_right(&text->line, end, HWI_AMOUNT_CELLS);
  if (bars > 0)
    hwi_line_puts(&text->line, "   along time");
  hwi_text_end(text, HWI_DIM);
}

static void print_class(struct hwi_text *text, unsigned class, const struct hwi_amount *amount, unsigned bar_total)
{
  uint64_t bars[BARS_MAX] = {0};
  char range[2 * sizeof(struct hwi_number) + sizeof " to  B"];
  snprintf(range, sizeof range, "%s to %s B", hwi_count_text(hwi_size_class_least(class)).text,
           hwi_count_text(hwi_size_class_most(class)).text);
  if (hwi_cells(range) > RANGE_CELLS) /* large sizes need no exact limits */
    snprintf(range, sizeof range, "%s to %s", hwi_bytes_text(hwi_size_class_least(class)).text,
             hwi_bytes_text(hwi_size_class_most(class)).text);
  hwi_line_right(&text->line, range, GAP_CELLS + RANGE_CELLS);
  hwi_line_right(&text->line, hwi_count_text(amount->calls).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(amount->peak_bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(amount->live_bytes).text, HWI_AMOUNT_CELLS);
  if (bar_total > 0) {
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
    uint64_t most = fill_bars(bars, bar_total, text->profile, class);
    add_bars(text, bars, bar_total, most);
  }
  hwi_text_end(text, HWI_PLAIN);
}

void hwi_text_size_classes(struct hwi_text *text)
{
  if (text->profile->class_point_count == 0)
    return;
  struct hwi_size_classes classes;
  unsigned bars = bar_count(text);
  hwi_size_classes_of(&classes, text->profile);
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Sizes by classes");
  hwi_text_end(text, HWI_BOLD);
  print_titles(text, bars);
  for (unsigned class = 0; class < HWI_SIZE_CLASSES; class ++) {
    if (!hwi_amount_is_nothing(&classes.items[class]))
      print_class(text, class, &classes.items[class], bars);
  }
}
