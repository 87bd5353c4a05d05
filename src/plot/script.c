/* script.c - parts of a gnuplot script */
#include "plot/script.h"

#include <string.h>

const char *const hwi_colours[HWI_COLOURS] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                              "#56b4e9", "#d55e00", "#f0e442", "#6a3d9a"};

/* --- scales --- */

/* Returns the last scale whose divisor `value` reaches. */
static struct hwi_scale scale_of(const struct hwi_scale *scales, size_t count, double value)
{
  size_t i = count - 1;
  while (i > 0 && value < scales[i].per)
    i--;
  return scales[i];
}

struct hwi_scale hwi_scale_of_bytes(uint64_t most)
{
  static const struct hwi_scale scales[] = {{1, "bytes"}, {1e3, "kB"},  {1e6, "MB"}, {1e9, "GB"},
                                            {1e12, "TB"}, {1e15, "PB"}, {1e18, "EB"}};
  return scale_of(scales, sizeof scales / sizeof *scales, (double)most);
}

struct hwi_scale hwi_scale_of_counts(uint64_t most)
{
  static const struct hwi_scale scales[] = {{1, ""}, {1e3, "thousand"}, {1e6, "million"}, {1e9, "billion"}};
  return scale_of(scales, sizeof scales / sizeof *scales, (double)most / 2);
}

struct hwi_scale hwi_scale_of_time(uint64_t span_ns)
{
  static const struct hwi_scale scales[] = {{1, "ns"},  {1e3, "µs"},   {1e6, "ms"},
                                            {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}};
  const double least = 2; /* units, so that there is space for tics */
  return scale_of(scales, sizeof scales / sizeof *scales, (double)span_ns / least);
}

/* --- texts --- */

/* Marks that there was no memory for a text: hwi_script_is_whole looks for the NUL, which nothing else writes. */
static void write_no_memory_mark(FILE *script)
{
  fputc('\0', script);
}

static void write_quoted(FILE *script, const char *text, char doubled)
{
  struct hwi_line clean = {0};
  hwi_line_clean(&clean, text);
  fputc('"', script);
  for (const char *at = hwi_line_text(&clean); *at != '\0'; at++) {
    if (strchr("\"'`\\@$", *at))
      fprintf(script, "\\%03o", (unsigned char)*at);
    else
      fputc(*at, script);
    if (*at == doubled)
      fputc(*at, script);
  }
  fputc('"', script);
  if (clean.failed)
    write_no_memory_mark(script);
  hwi_line_release(&clean);
}

void hwi_script_text(FILE *script, const char *text)
{
  write_quoted(script, text, '\0');
}

static void write_line(FILE *script, const struct hwi_line *line, char doubled)
{
  write_quoted(script, hwi_line_text(line), doubled);
  if (line->failed)
    write_no_memory_mark(script);
}

void hwi_script_line(FILE *script, const struct hwi_line *line)
{
  write_line(script, line, '\0');
}

void hwi_script_tic(FILE *script, const struct hwi_line *line)
{
  write_line(script, line, '%');
}

bool hwi_script_is_whole(const char *script, size_t bytes)
{
  return !memchr(script, '\0', bytes);
}

/* --- panels --- */

void hwi_script_begin_panel(FILE *script, const struct hwi_box *box, const char *title)
{
  fputs("reset\n"
        "set border 3 linecolor '#444444' linewidth 0.6\n"
        "set grid noxtics ytics linecolor '#dddddd' linewidth 0.4 dashtype solid\n"
        "set tics nomirror out scale 0.5 textcolor '#222222'\n"
        "set format '%g'\n"
        "set style fill solid 1.0 noborder\n"
        "set style textbox opaque fillcolor '#b0ffffff' noborder margins 0.3, 0.3\n"
        "set key off\n",
        script);
  fprintf(script, "set origin %.4f, %.4f\nset size %.4f, %.4f\n", box->x, box->y, box->width, box->height);
  fputs("set label ", script);
  hwi_script_text(script, title);
  fprintf(script, " at screen %.4f, screen %.4f left offset 1, -0.9 font ',10'\nset tmargin 3.4\nset rmargin 2.5\n",
          box->x, box->y + box->height);
}

void hwi_script_no_legend(FILE *script)
{
  fputs("set tmargin 2.4\n", script);
}

void hwi_script_legend_above(FILE *script)
{
  fputs("set key at graph 0, graph 1.02 left bottom horizontal maxrows 1 Left reverse samplen 1.2 width 1 font ',8'\n",
        script);
}

void hwi_script_legend_name(FILE *script, const struct hwi_box *box, uint32_t index, const struct hwi_legend_name *name)
{
  enum { COLUMNS = 4 };
  const double indent = 0.02, first_row = 2.5, row = 1.0, sign = 1.6; /* parts of the width; lines; lines; characters */
  double x = box->x + box->width * (indent + (1 - indent) * (index % COLUMNS) / COLUMNS);
  double top = box->y + box->height, below = first_row + row * (index / COLUMNS);
  const struct hwi_legend_name parts[] = {{"", name->sign, name->colour}, {"", name->text, "#000000"}};
  for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
    fputs("set label ", script);
    hwi_script_text(script, parts[part].text);
    fprintf(script, " at screen %.4f, screen %.4f left offset %.1f, -%.1f font ',8' textcolor '%s'\n", x, top,
            part * sign, below, parts[part].colour);
  }
}

void hwi_script_note(FILE *script, const char *words)
{
  fputs("set label ", script);
  hwi_script_text(script, words);
  fputs(" at graph 0.5, graph 0.5 center textcolor '#666666'\n", script);
}

struct hwi_scale hwi_script_time_axis(FILE *script, const struct hwi_profile *profile)
{
  const struct hwi_span *span = &profile->span;
  uint64_t to_ns = span->kind == HWI_SPAN_RUN ? profile->duration_ns : span->to_ns;
  to_ns = to_ns > span->from_ns ? to_ns : span->from_ns + 1;
  struct hwi_scale scale = hwi_scale_of_time(to_ns - span->from_ns);
  fprintf(script, "t = %g # nanoseconds in %s\n", scale.per, scale.unit);
  fprintf(script, "set xrange [%.9g : %.9g]\nset xlabel 'time (%s)'\n", (double)span->from_ns / scale.per,
          (double)to_ns / scale.per, scale.unit);
  return scale;
}

/* Returns the smallest of 1, 2, 5, 10, 20, ... and their tenths such that five steps reach `most`. */
static double step_of(double most)
{
  static const double factors[] = {2, 2.5, 2}; /* 1 to 2, to 5, to 10 */
  const double least = 1e-3, tics = 5;
  double step = least;
  for (size_t i = 0; step * tics < most; i++)
    step *= factors[i % (sizeof factors / sizeof *factors)];
  return step;
}

void hwi_script_axis(FILE *script, const char *axis, const char *what, const struct hwi_scale *scale, uint64_t most)
{
  const double headroom = 1.12; /* for labels above the highest value */
  const uint64_t few = 5;       /* tics at half a call would be useless */
  if (scale->per == 1 && most <= few)
    fprintf(script, "set %stics 1\n", axis);
  else
    fprintf(script, "set %stics %g\n", axis, step_of((double)most / scale->per * headroom));
  fprintf(script, "set %srange [0 : %.9g]\n", axis, most > 0 ? (double)most / scale->per * headroom : 1);
  fprintf(script, *scale->unit != '\0' ? "set %slabel '%s (%s)'\n" : "set %slabel '%s'\n", axis, what, scale->unit);
}

void hwi_script_rows(FILE *script, uint32_t rows)
{
  fprintf(script, "set yrange [%.1f : 0.7]\nset grid xtics noytics\nset border 1\nset ytics scale 0\n",
          -(double)rows + 1 - 0.7);
}
