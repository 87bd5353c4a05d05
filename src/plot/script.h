/* script.h - parts of a gnuplot script
 *
 * Untrusted texts are written in double quotes, with every special character of gnuplot (quotes, backquotes,
 * backslashes, @ and $) as an escape by its number. Single quotes are not used, since not every version reads two
 * quotes within them as one. The terminals print the texts unchanged (noenhanced).
 */
#ifndef HWI_PLOT_SCRIPT_H
#define HWI_PLOT_SCRIPT_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "report/words/line.h"

/* A part of the page: its lower left corner and its size, where the page is 1 by 1. */
struct hwi_box {
  double x, y, width, height;
};

/* The unit of a figure, and the divisor for it. */
struct hwi_scale {
  double per;
  const char *unit; /* "MB", "ms", "thousands"; "" for none */
};

struct hwi_scale hwi_scale_of_bytes(uint64_t most);
struct hwi_scale hwi_scale_of_counts(uint64_t most);
struct hwi_scale hwi_scale_of_time(uint64_t span_ns);

/* Writes "text", with control characters and invalid UTF-8 escaped. */
void hwi_script_text(FILE *script, const char *text);

void hwi_script_line(FILE *script, const struct hwi_line *line);

/* The same for tics, in which gnuplot would interpret formats. */
void hwi_script_tic(FILE *script, const struct hwi_line *line);

/* Returns false if there was no memory for a text in the script. Call it once, before the script is used. */
bool hwi_script_is_whole(const char *script, size_t bytes);

/* Begins a chart, or a part of one, in a box, and resets all settings of the previous one. */
void hwi_script_begin_panel(FILE *script, const struct hwi_box *box, const char *title);

/* The panel takes the space of the legend. */
void hwi_script_no_legend(FILE *script);

/* Writes the legend in a line between the title and the panel. */
void hwi_script_legend_above(FILE *script);

/* The same as labels at fixed places, four in a row: with many or long names, gnuplot's own legend would leave the
 * page. HWI_SCRIPT_TWO_ROWS makes space for two rows below the title. */
struct hwi_legend_name {
  const char *sign, *text, *colour;
};
#define HWI_SCRIPT_TWO_ROWS "set tmargin 4.7\n"
void hwi_script_legend_name(FILE *script, const struct hwi_box *box, uint32_t index,
                            const struct hwi_legend_name *name);

/* Writes the reason into the middle of an empty panel. */
void hwi_script_note(FILE *script, const char *words);

/* The same margin for all charts of bytes over time, so that their time axes are aligned on a page. */
#define HWI_SCRIPT_BYTES_MARGIN "set lmargin 7\n"

/* Writes the time axis of the profile's span. Returns the scale for the columns of times. */
struct hwi_scale hwi_script_time_axis(FILE *script, const struct hwi_profile *profile);

/* Writes an axis ("x", "y", or "y2" on the right) from 0 to slightly above `most`, with the label `what` and the
 * scale's unit. */
void hwi_script_axis(FILE *script, const char *axis, const char *what, const struct hwi_scale *scale, uint64_t most);

/* Writes the other axis for horizontal bars: rows go down, the n-th is at -n. */
void hwi_script_rows(FILE *script, uint32_t rows);

/* Colours that colour-blind readers can distinguish, also in grey print (Okabe and Ito 2008). */
enum { HWI_COLOURS = 8 };
extern const char *const hwi_colours[HWI_COLOURS];
#define HWI_COLOUR_REST "#b4b4b4" /* for items without a colour of their own */

#endif
