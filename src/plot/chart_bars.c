/* chart_bars.c - bar charts without a time axis: sizes, lifetimes, threads */
#include <inttypes.h>
#include <stdlib.h>

#include "plot/chart.h"
#include "report/selection/figures.h"
#include "report/selection/selection.h"

#define NOTHING_ALLOCATED "nothing was allocated"

static struct hwi_box part_of(const struct hwi_box *box, double from, double to)
{
  return (struct hwi_box){box->x + box->width * from, box->y, box->width * (to - from), box->height};
}

static uint64_t larger(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

/* --- sizes --- */

/* The range of classes with blocks is [first, last]. */
struct classes {
  struct hwi_amount items[HWI_SIZE_CLASSES];
  unsigned first, last;
  struct hwi_amount most;
};

static bool find_classes(struct classes *classes, const struct hwi_plot *plot)
{
  *classes = (struct classes){.first = HWI_SIZE_CLASSES};
  struct hwi_amount *amounts = hwi_amounts_by_size(plot->profile, &plot->selection.narrowing);
  if (!amounts)
    return false;
  for (uint32_t i = 0; i < plot->profile->size_count; i++)
    hwi_amount_add(&classes->items[hwi_size_class(plot->profile->sizes[i].size)], &amounts[i]);
  free(amounts);
  for (unsigned class = 0; class < HWI_SIZE_CLASSES; class ++) {
    const struct hwi_amount *item = &classes->items[class];
    if (hwi_amount_is_nothing(item))
      continue;
    classes->first = classes->first < class ? classes->first : class;
    classes->last = class;
    classes->most.calls = larger(classes->most.calls, item->calls);
    classes->most.bytes = larger(classes->most.bytes, larger(item->peak_bytes, item->live_bytes));
  }
  return true;
}

static void write_sizes(FILE *script, const struct classes *classes)
{
  fputs("$sizes << EOD\n# from_size to_size calls temporary_calls peak_bytes live_bytes\n", script);
  for (unsigned class = classes->first; class <= classes->last && class < HWI_SIZE_CLASSES; class ++) {
    const struct hwi_amount *item = &classes->items[class];
    fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
            hwi_size_class_least(class), hwi_size_class_most(class), item->calls, item->temporary_calls,
            item->peak_bytes, item->live_bytes);
  }
  fputs("EOD\n", script);
}

static void write_size_axis(FILE *script, const struct classes *classes)
{
  enum { CLASSES_LEAST = 8 }; /* so that a single bar is not too wide */
  unsigned count = classes->first < HWI_SIZE_CLASSES ? classes->last - classes->first + 1 : 0;
  fprintf(script, "set xrange [-0.7 : %u - 0.3]\n", count > CLASSES_LEAST ? count : CLASSES_LEAST);
  fputs("set xlabel 'block size, up to (bytes)'\nset xtics rotate by 90 right font ',8' (", script);
  for (unsigned i = 0; i < count; i++) {
    fputs(i > 0 ? ", " : "", script);
    fprintf(script, "'%s' %u", hwi_chart_class_name(classes->first + i).text, i);
  }
  fputs(count > 0 ? ")\n" : "'' 0)\n", script);
}

/* The two series of a panel are columns of $sizes. */
static void write_size_bars(FILE *script, const struct classes *classes, const char *const curves[2])
{
  hwi_script_legend_above(script);
  fputs("set boxwidth 0.4\n", script);
  write_size_axis(script, classes);
  if (classes->first == HWI_SIZE_CLASSES) {
    hwi_script_note(script, NOTHING_ALLOCATED);
    fputs("plot NaN notitle\n", script);
  } else {
    fprintf(script, "plot %s, \\\n     %s\n", curves[0], curves[1]);
  }
}

void hwi_chart_sizes(struct hwi_plot *plot, const struct hwi_box *box)
{
  FILE *script = plot->script;
  struct classes classes;
  if (!find_classes(&classes, plot)) {
    plot->status = hwi_error_set(&plot->error, HW_ERR_MEMORY, "no memory for the chart of sizes");
    return;
  }
  write_sizes(script, &classes);
  struct hwi_box left = part_of(box, 0, 0.5), right = part_of(box, 0.5, 1);
  struct hwi_scale counts = hwi_scale_of_counts(classes.most.calls), bytes = hwi_scale_of_bytes(classes.most.bytes);

  hwi_script_begin_panel(script, &left, hwi_chart_title(plot, "Allocations by block size").text);
  fprintf(script, "n = %g\n", counts.per);
  hwi_script_axis(script, "y", "calls", &counts, classes.most.calls);
  write_size_bars(
      script, &classes,
      (const char *const[]){"$sizes using ($0-0.2):($3/n) with boxes fillcolor '#0072b2' title 'all'",
                            "$sizes using ($0+0.2):($4/n) with boxes fillcolor '#d55e00' title 'freed at once'"});

  char peak[128], end[128];
  snprintf(peak, sizeof peak, "$sizes using ($0-0.2):($5/b) with boxes fillcolor '#0072b2' title 'at %s'",
           hwi_chart_peak_name(plot->profile).text);
  snprintf(end, sizeof end, "$sizes using ($0+0.2):($6/b) with boxes fillcolor '#d55e00' title 'at %s'",
           hwi_chart_end_name(plot->profile).text);
  hwi_script_begin_panel(script, &right, hwi_chart_title(plot, "Live bytes by block size").text);
  fprintf(script, "b = %g # bytes in %s\n", bytes.per, bytes.unit);
  hwi_script_axis(script, "y", "live", &bytes, classes.most.bytes);
  write_size_bars(script, &classes, (const char *const[]){peak, end});
}

/* --- lifetimes --- */

static void sum_lifetimes(const struct hwi_plot *plot, uint64_t lifetimes[HWI_LIFETIMES])
{
  for (int step = 0; step < HWI_LIFETIMES; step++)
    lifetimes[step] = 0;
  for (uint32_t i = 0; i < plot->selection.stack_count; i++) {
    for (int step = 0; step < HWI_LIFETIMES; step++)
      lifetimes[step] += plot->profile->stacks[plot->selection.stacks[i]].lifetimes[step];
  }
}

void hwi_chart_lifetimes(struct hwi_plot *plot, const struct hwi_box *box)
{
  static const char *const names[HWI_LIFETIMES] = {"freed at once", "below 1 ms",      "below 1 s",
                                                   "below 1 min",   "1 min or longer", "not freed"};
  FILE *script = plot->script;
  uint64_t lifetimes[HWI_LIFETIMES], blocks = 0, most = 0;
  sum_lifetimes(plot, lifetimes);
  fputs("$lifetimes << EOD\n# blocks: temporary, below_1ms, below_1s, below_1min, 1min_or_longer, until_end\n", script);
  for (int step = 0; step < HWI_LIFETIMES; step++) {
    blocks += lifetimes[step];
    most = larger(most, lifetimes[step]);
    fprintf(script, "%" PRIu64 "\n", lifetimes[step]);
  }
  fputs("EOD\n", script);
  const uint64_t room = most + (most + 3) / 4; /* for the figures next to the bars */
  struct hwi_scale counts = hwi_scale_of_counts(most);
  hwi_script_begin_panel(script, box, hwi_chart_title(plot, "How long blocks live").text);
  fprintf(script, "n = %g\n", counts.per);
  hwi_script_axis(script, "x", "blocks", &counts, room);
  hwi_script_no_legend(script);
  hwi_script_rows(script, HWI_LIFETIMES);
  fputs("set ytics (", script);
  for (int step = 0; step < HWI_LIFETIMES; step++)
    fprintf(script, "%s'%s' %d", step > 0 ? ", " : "", names[step], -step);
  fputs(")\n", script);
  for (int step = 0; step < HWI_LIFETIMES; step++)
    fprintf(script, "set label '%s%s%s' at %.9g, %d left offset 0.6, 0 font ',8'\n",
            hwi_count_text(lifetimes[step]).text, lifetimes[step] > 0 ? ", " : "",
            lifetimes[step] > 0 ? hwi_share_text(lifetimes[step], blocks).text : "",
            (double)lifetimes[step] / counts.per, -step);
  fputs(
      "plot $lifetimes using ($1/n):(-$0):(0):($1/n):(-$0-0.32):(-$0+0.32) with boxxyerror fillcolor '#0072b2' notitle\n",
      script);
}

/* --- threads --- */

enum { THREADS_MAX = 16, THREADS_LEAST = 2 }; /* number of rows that fit */

/* The threads that allocated, those with most bytes at the peak first; if there are too many, the rest is one row. */
struct threads {
  struct hwi_amount *amounts;
  uint32_t *order, count, shown;
  struct hwi_amount rest;
};

static uint64_t weight(const struct hwi_amount *amount)
{
  return amount->peak_bytes > 0 ? amount->peak_bytes : amount->bytes;
}

static int compare_threads(const void *left, const void *right, void *context)
{
  const struct hwi_amount *amounts = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  const struct hwi_amount *first = &amounts[a], *second = &amounts[b];
  if (first->peak_bytes != second->peak_bytes)
    return first->peak_bytes > second->peak_bytes ? -1 : 1;
  if (weight(first) != weight(second))
    return weight(first) > weight(second) ? -1 : 1;
  return a < b ? -1 : a > b;
}

static bool find_threads(struct threads *threads, const struct hwi_plot *plot)
{
  const struct hwi_profile *profile = plot->profile;
  *threads = (struct threads){.amounts = hwi_amounts_by_thread(profile, &plot->selection.narrowing),
                              .order = malloc(((size_t)profile->thread_count + 1) * sizeof *threads->order)};
  if (!threads->amounts || !threads->order)
    return false;
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    if (!hwi_amount_is_nothing(&threads->amounts[i]))
      threads->order[threads->count++] = i;
  }
  qsort_r(threads->order, threads->count, sizeof *threads->order, compare_threads, threads->amounts);
  threads->shown = threads->count <= THREADS_MAX ? threads->count : THREADS_MAX - 1;
  for (uint32_t i = threads->shown; i < threads->count; i++)
    hwi_amount_add(&threads->rest, &threads->amounts[threads->order[i]]);
  return true;
}

static void release_threads(struct threads *threads)
{
  free(threads->amounts);
  free(threads->order);
}

static uint32_t row_count(const struct threads *threads)
{
  return threads->shown + (threads->shown < threads->count);
}

static const struct hwi_amount *row_of(const struct threads *threads, uint32_t row)
{
  return row < threads->shown ? &threads->amounts[threads->order[row]] : &threads->rest;
}

uint32_t hwi_chart_thread_rows(const struct hwi_plot *plot)
{
  uint32_t count = (uint32_t)larger(plot->profile->thread_count, THREADS_LEAST);
  return count < THREADS_MAX ? count : THREADS_MAX;
}

static void write_threads(const struct hwi_plot *plot, const struct threads *threads)
{
  fputs("$threads << EOD\n# tid allocation_calls allocated_bytes peak_bytes live_bytes\n", plot->script);
  for (uint32_t row = 0; row < row_count(threads); row++) {
    const struct hwi_amount *amount = row_of(threads, row);
    uint32_t tid = row < threads->shown ? plot->profile->threads[threads->order[row]].tid : 0;
    fprintf(plot->script, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", tid, amount->calls,
            amount->bytes, amount->peak_bytes, amount->live_bytes);
  }
  fputs("EOD\n", plot->script);
}

static void write_thread_names(const struct hwi_plot *plot, const struct threads *threads)
{
  struct hwi_line name = {0};
  fputs("set ytics (", plot->script);
  for (uint32_t row = 0; row < row_count(threads); row++) {
    hwi_line_clear(&name);
    if (row < threads->shown)
      hwi_chart_thread_name(&name, plot->profile, threads->order[row]);
    else
      hwi_line_counted(&name, threads->count - threads->shown, "other");
    fputs(row > 0 ? ", " : "", plot->script);
    hwi_script_tic(plot->script, &name);
    fprintf(plot->script, " -%" PRIu32, row);
  }
  fputs(row_count(threads) > 0 ? ")\n" : "'' 0)\n", plot->script);
  hwi_line_release(&name);
}

static void draw_threads(struct hwi_plot *plot, const struct hwi_box *box, const struct threads *threads)
{
  FILE *script = plot->script;
  uint64_t calls = 0, most_bytes = 0;
  uint32_t rows = row_count(threads);
  for (uint32_t row = 0; row < rows; row++) {
    calls = larger(calls, row_of(threads, row)->calls);
    most_bytes = larger(most_bytes, larger(row_of(threads, row)->peak_bytes, row_of(threads, row)->live_bytes));
  }
  struct hwi_box left = part_of(box, 0, 0.54), right = part_of(box, 0.54, 1);
  struct hwi_scale counts = hwi_scale_of_counts(calls), bytes = hwi_scale_of_bytes(most_bytes);

  hwi_script_begin_panel(script, &left, hwi_chart_title(plot, "Allocations by thread").text);
  fprintf(script, "n = %g\n", counts.per);
  hwi_script_axis(script, "x", "calls", &counts, calls);
  hwi_script_rows(script, rows);
  write_thread_names(plot, threads);
  if (rows == 0)
    hwi_script_note(script, NOTHING_ALLOCATED);
  fputs(rows == 0
            ? "plot NaN notitle\n"
            : "plot $threads using ($2/n):(-$0):(0):($2/n):(-$0-0.32):(-$0+0.32) with boxxyerror fillcolor '#0072b2' "
              "notitle\n",
        script);

  hwi_script_begin_panel(script, &right, hwi_chart_title(plot, "Live bytes by thread").text);
  fprintf(script, "b = %g # bytes in %s\n", bytes.per, bytes.unit);
  hwi_script_axis(script, "x", "live", &bytes, most_bytes);
  hwi_script_rows(script, rows);
  fputs("set ytics ('' 0)\n", script);
  hwi_script_legend_above(script);
  if (rows == 0)
    fputs("plot NaN notitle\n", script);
  else
    fprintf(
        script,
        "plot $threads using ($4/b):(-$0):(0):($4/b):(-$0):(-$0+0.32) with boxxyerror fillcolor '#0072b2' title 'at %s', \\\n"
        "     $threads using ($5/b):(-$0):(0):($5/b):(-$0-0.32):(-$0) with boxxyerror fillcolor '#d55e00' title 'at %s'\n",
        hwi_chart_peak_name(plot->profile).text, hwi_chart_end_name(plot->profile).text);
}

void hwi_chart_threads(struct hwi_plot *plot, const struct hwi_box *box)
{
  struct threads threads;
  if (find_threads(&threads, plot)) {
    write_threads(plot, &threads);
    draw_threads(plot, box, &threads);
  } else {
    plot->status = hwi_error_set(&plot->error, HW_ERR_MEMORY, "no memory for the chart of threads");
  }
  release_threads(&threads);
}
