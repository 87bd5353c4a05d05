/* line.h - text in the making, and how wide it is on a terminal
 *
 * cell       a character's place on a terminal. Wide characters take two, combining ones none: bytes, code points and cells
 *            are three different numbers.
 * A line that runs out of memory becomes shorter than it should be and says so in `failed`; nothing else goes wrong.
 */
#ifndef HWI_REPORT_TEXT_LINE_H
#define HWI_REPORT_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_line {
  char *text; /* ended by NUL; never NULL after the first use */
  size_t bytes, room;
  bool failed;
};

/* All zero: an empty line, with nothing to release. Clearing keeps the memory, and `failed`. */
void hwi_line_release(struct hwi_line *line);
void hwi_line_clear(struct hwi_line *line);

/* Releases a part of which `line` was made: where there was no memory for the part, there was none for the line. */
void hwi_line_release_part(struct hwi_line *line, struct hwi_line *part);

const char *hwi_line_text(const struct hwi_line *line); /* "" for an unused one */

/* Add text as it is; what came from outside is for hwi_line_clean. */
void hwi_line_add(struct hwi_line *line, const char *text, size_t bytes);
void hwi_line_puts(struct hwi_line *line, const char *text);
void hwi_line_printf(struct hwi_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hwi_line_repeat(struct hwi_line *line, const char *text, size_t times);

/* Adds "1 block", "12,345 blocks". */
void hwi_line_counted(struct hwi_line *line, uint64_t count, const char *noun);

/* Adds text from outside (names, command lines): control characters, and bytes that are no UTF-8, become \n, \t or \xNN,
 * so that nothing in a trace can drive the terminal. */
void hwi_line_clean(struct hwi_line *line, const char *text);

/* Adds text with each byte that is no UTF-8 replaced by U+FFFD. */
void hwi_line_replace_invalid(struct hwi_line *line, const char *text);

/* Blanks up to cell `cells` of the last line; one at least if something stands there already. */
void hwi_line_pad(struct hwi_line *line, size_t cells);

/* Adds `text` right-aligned or left-aligned in a field of `cells`. */
void hwi_line_right(struct hwi_line *line, const char *text, size_t cells);
void hwi_line_left(struct hwi_line *line, const char *text, size_t cells);

size_t hwi_cells(const char *text); /* of valid UTF-8 */
size_t hwi_cells_prefix(const char *text,
                        size_t cells); /* how many bytes fit into `cells`, never splitting a character */

/* Adds `text`, with its middle replaced by an ellipsis where it is wider than `cells`. */
void hwi_line_shorten(struct hwi_line *line, const char *text, size_t cells, const char *ellipsis);

/* Adds the longest end of `path`, in whole components, that fits into `cells` together with ":LINE" (0: no line). The last
 * component is always there, shortened where it must be. */
void hwi_line_path(struct hwi_line *line, const char *path, unsigned source_line, size_t cells, const char *ellipsis);

#endif
