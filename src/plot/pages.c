/* pages.c - a report on paper: summary, charts and top stacks on a few pages of A4
 *
 * The text is the text report, line by line. Charts and lines fill a page from the top; the next page begins when
 * something does not fit. A table row and its frames stay together, and so do a title and its first row.
 */
#include <string.h>

#include "plot/chart.h"
#include "report/words/memory_stream.h"
#include "report/words/style.h"

enum { TEXT_COLUMNS = 104 };
#define MARGIN_CM 1.8
#define TEXT_CM (HWI_PAGE_WIDTH_CM - 2 * MARGIN_CM)
#define LINE_CM 0.36
#define LINE_FONT "DejaVu Sans Mono%s,%.1f"
#define LINE_POINTS 7.6 /* TEXT_COLUMNS characters are TEXT_CM wide */
#define FOOT_CM 1.6
#define PAGE_NUMBER_CM 1.0
#define CHART_OUTDENT_CM 0.2 /* the titles of charts are above the text */
#define GAP_CM 0.4
#define TABLES_CM 12.0 /* tables begin a new page if less space is left */

struct pages {
  struct hwi_plot *plot;
  FILE *script;
  double below_cm; /* space left on the page, including the bottom margin */
  unsigned count;
  bool is_open;
};

/* --- pages --- */

static void end_page(struct pages *pages)
{
  if (pages->is_open)
    fputs("unset multiplot\n", pages->script);
  pages->is_open = false;
}

/* Begins an empty panel over the whole page, for labels. */
static void begin_words(FILE *script)
{
  const struct hwi_box page = {0, 0, 1, 1};
  hwi_script_begin_panel(script, &page, "");
  fputs("unset border\nunset tics\nunset title\nset xrange [0:1]\nset yrange [0:1]\nset margins 0, 0, 0, 0\n", script);
}

static void end_words(FILE *script)
{
  fputs("plot NaN notitle\n", script);
}

static void begin_page(struct pages *pages)
{
  end_page(pages);
  pages->is_open = true;
  pages->count++;
  pages->below_cm = HWI_PAGE_HEIGHT_CM - MARGIN_CM;
  fprintf(pages->script, "\n# === page %u ===\n\nset multiplot\n", pages->count);
  begin_words(pages->script);
  fprintf(pages->script, "set label 'page %u' at screen %.4f, screen %.4f right font ',8' textcolor '#666666'\n",
          pages->count, 1 - MARGIN_CM / HWI_PAGE_WIDTH_CM, PAGE_NUMBER_CM / HWI_PAGE_HEIGHT_CM);
  end_words(pages->script);
}

/* Makes space for the height: begins a new page if the current one has too little. */
static void make_room(struct pages *pages, double height_cm)
{
  if (!pages->is_open || pages->below_cm - height_cm < FOOT_CM)
    begin_page(pages);
}

/* --- text --- */

/* Removes the emphasis from a line, which the text report sets around whole lines, and returns it. */
static enum hwi_emphasis take_emphasis(const struct hwi_style *style, char **line)
{
  enum hwi_emphasis found = HWI_PLAIN;
  for (enum hwi_emphasis emphasis = HWI_BOLD; emphasis <= HWI_ALARM; emphasis++) {
    const char *begin = hwi_style_begin(style, emphasis);
    if (strncmp(*line, begin, strlen(begin)) != 0)
      continue;
    *line += strlen(begin);
    found = emphasis;
  }
  char *end = strstr(*line, hwi_style_begin(style, HWI_PLAIN));
  if (end)
    *end = '\0';
  return found;
}

static void write_line(struct pages *pages, const struct hwi_style *style, char *line)
{
  enum hwi_emphasis emphasis = take_emphasis(style, &line);
  fputs("set label ", pages->script);
  hwi_script_text(pages->script, line);
  fprintf(pages->script, " at screen %.4f, screen %.4f left font '" LINE_FONT "' textcolor '%s'\n",
          MARGIN_CM / HWI_PAGE_WIDTH_CM, (pages->below_cm - LINE_CM / 2) / HWI_PAGE_HEIGHT_CM,
          emphasis == HWI_BOLD || emphasis == HWI_ALARM ? ":Bold" : "", LINE_POINTS,
          emphasis == HWI_DIM ? "#666666" : "#000000");
  pages->below_cm -= LINE_CM;
}

static bool is_bold(const struct hwi_style *style, const char *line)
{
  const char *begin = hwi_style_begin(style, HWI_BOLD);
  return strncmp(line, begin, strlen(begin)) == 0;
}

/* Titles are not indented, rows are. */
static bool is_title(const struct hwi_style *style, const char *line)
{
  return is_bold(style, line) && line[strlen(hwi_style_begin(style, HWI_BOLD))] != ' ';
}

/* Returns how many lines from here on must stay on one page, if they fit on one. */
static unsigned lines_together(const struct hwi_style *style, const char *line)
{
  unsigned count = 1;
  bool has_row = !is_title(style, line);
  if (!is_bold(style, line))
    return count;
  while ((line = strchr(line, '\n')) && *++line != '\0' && *line != '\n') {
    if (is_bold(style, line) && has_row)
      break;
    has_row |= is_bold(style, line);
    count++;
  }
  return count;
}

/* Writes the lines of `text`, which is modified. */
static void write_lines(struct pages *pages, const struct hwi_style *style, char *text)
{
  const double page_cm = HWI_PAGE_HEIGHT_CM - MARGIN_CM - FOOT_CM;
  bool begun = false;
  for (char *line = text; line && *line != '\0';) {
    double needed_cm = LINE_CM * lines_together(style, line);
    char *end = strchr(line, '\n');
    if (end)
      *end = '\0';
    if (needed_cm > page_cm)
      needed_cm = LINE_CM;
    if (begun && pages->below_cm - needed_cm < FOOT_CM) {
      end_words(pages->script);
      begun = false;
    }
    if (!begun) {
      make_room(pages, needed_cm);
      begin_words(pages->script);
      begun = true;
    }
    write_line(pages, style, line);
    line = end ? end + 1 : NULL;
  }
  if (begun)
    end_words(pages->script);
}

/* Writes a part of the text report. */
static void write_part(struct pages *pages, int (*part)(const struct hwi_report *report, const struct hwi_style *style,
                                                        struct hwi_error *error))
{
  struct hwi_plot *plot = pages->plot;
  struct hwi_memory_stream text = {0};
  const struct hwi_style style = {
      .out = hwi_memory_stream_begin(&text), .columns = TEXT_COLUMNS, .utf8 = true, .colour = true, .paper = true};
  if (!style.out) {
    plot->status = hwi_error_set(&plot->error, HW_ERR_MEMORY, "no memory for the report");
    return;
  }
  int status = part(&plot->report, &style, &plot->error);
  if (!hwi_memory_stream_end(&text, style.out) && status == HW_OK)
    status = hwi_error_set(&plot->error, HW_ERR_MEMORY, "no memory for the report");
  if (status == HW_OK)
    write_lines(pages, &style, text.text);
  else
    plot->status = status;
  hwi_memory_stream_release(&text);
}

/* --- charts --- */

static void draw_chart(struct pages *pages, enum hwi_chart chart)
{
  if (hwi_chart_check(pages->plot, chart, NULL) < 0)
    return;
  double height_cm = hwi_chart_height_cm(pages->plot, chart);
  make_room(pages, height_cm + GAP_CM);
  pages->below_cm -= height_cm + GAP_CM;
  const struct hwi_box box = {(MARGIN_CM - CHART_OUTDENT_CM) / HWI_PAGE_WIDTH_CM, pages->below_cm / HWI_PAGE_HEIGHT_CM,
                              TEXT_CM / HWI_PAGE_WIDTH_CM, height_cm / HWI_PAGE_HEIGHT_CM};
  hwi_chart_draw(pages->plot, chart, &box);
}

void hwi_pages_draw(struct hwi_plot *plot)
{
  struct pages pages = {.plot = plot, .script = plot->script};
  write_part(&pages, hwi_report_text_summary);
  for (enum hwi_chart chart = 0; chart < HWI_CHARTS; chart++) {
    if (chart != HWI_CHART_LIVE_BY_THREAD || plot->profile->thread_count > 1)
      draw_chart(&pages, chart);
  }
  pages.below_cm -= GAP_CM;
  if (pages.below_cm < TABLES_CM)
    end_page(&pages);
  write_part(&pages, hwi_report_text_ranking);
  end_page(&pages);
}
