/* script.h - the pieces that a gnuplot script is made of
 *
 * Texts from outside stand between double quotes, every character that gnuplot could take for more than itself (quotes,
 * backquotes, backslashes, @ and $) by its number: two quotes in a row within single ones are not read everywhere as one. The
 * terminals take them as they are (noenhanced).
 */
#ifndef HWI_PLOT_SCRIPT_H
#define HWI_PLOT_SCRIPT_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "report/text/line.h"

/* A part of the page: its lower left corner and its extent, where the page is 1 by 1. */
struct hwi_box {
  double x, y, width, height;
};

/* What a figure is divided by to be read easily. */
struct hwi_scale {
  double per;
  const char *unit; /* "MB", "ms", "thousands"; "" for none */
};

struct hwi_scale hwi_scale_of_bytes(uint64_t most);
struct hwi_scale hwi_scale_of_counts(uint64_t most);
struct hwi_scale hwi_scale_of_time(uint64_t span_ns);

/* "text", its control characters and what is no UTF-8 escaped. */
void hwi_script_text(FILE *script, const char *text);

void hwi_script_line(FILE *script, const struct hwi_line *line);

/* The same where gnuplot would read formats in it, as it does in tics. */
void hwi_script_tic(FILE *script, const struct hwi_line *line);

/* False: there was no memory for a text somewhere in it. To be asked once, before the script is used. */
bool hwi_script_is_whole(const char *script, size_t bytes);

/* Begins a chart, or a part of one, in a box: nothing of the one before remains. */
void hwi_script_begin_panel(FILE *script, const struct hwi_box *box, const char *title);

/* The panel takes the room that names of curves would have. */
void hwi_script_no_legend(FILE *script);

/* Names the curves in a line between the title and the panel. */
void hwi_script_legend_above(FILE *script);

/* The same by hand, at fixed places, four to a row: where the names are many or long, gnuplot's own legend leaves the page. Below the
 * title there is room for two rows once HWI_SCRIPT_TWO_ROWS is written. */
struct hwi_legend_name {
  const char *sign, *text, *colour;
};
#define HWI_SCRIPT_TWO_ROWS "set tmargin 4.7\n"
void hwi_script_legend_name(FILE *script, const struct hwi_box *box, uint32_t index,
                            const struct hwi_legend_name *name);

/* Says in the middle of an empty panel why it is. */
void hwi_script_note(FILE *script, const char *words);

/* The same for all charts of bytes along time, so that on a page their times stand below each other. */
#define HWI_SCRIPT_BYTES_MARGIN "set lmargin 7\n"

/* The axis of time, from one moment to another; the scale is that of its columns. */
struct hwi_scale hwi_script_time_axis(FILE *script, const struct hwi_profile *profile);

/* An axis ("x", "y", or "y2" on the right) from 0 to somewhat above `most`, called `what`, with the scale's unit. */
void hwi_script_axis(FILE *script, const char *axis, const char *what, const struct hwi_scale *scale, uint64_t most);

/* The other axis, of horizontal bars: rows go down, the n-th at -n. */
void hwi_script_rows(FILE *script, uint32_t rows);

/* Colours that those who see fewer colours, and grey printers, tell apart (Okabe and Ito 2008). */
enum { HWI_COLOURS = 8 };
extern const char *const hwi_colours[HWI_COLOURS];
#define HWI_COLOUR_REST "#b4b4b4" /* of what has no colour of its own */

#endif
