/* line.h - builds a line of text, and measures its width on a terminal
 *
 * cell       the place of a character on a terminal. Wide characters take two, combining ones none: bytes, code
 *            points and cells are three different numbers.
 *
 * If there is no memory, the line becomes shorter than it should be and `failed` is set; there is no other error.
 */
#ifndef HWI_REPORT_WORDS_LINE_H
#define HWI_REPORT_WORDS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_line {
  char *text; /* ended by NUL; never NULL after the first use */
  size_t bytes, room;
  bool failed;
};

/* A line of zeros is empty and needs no release. Clearing keeps the memory and `failed`. */
void hwi_line_release(struct hwi_line *line);
void hwi_line_clear(struct hwi_line *line);

/* Releases `part`, from which `line` was made. If `part` failed, `line` fails too. */
void hwi_line_release_part(struct hwi_line *line, struct hwi_line *part);

const char *hwi_line_text(const struct hwi_line *line); /* "" for an unused one */

/* These add text as it is. For text from outside use hwi_line_clean. */
void hwi_line_add(struct hwi_line *line, const char *text, size_t bytes);
void hwi_line_puts(struct hwi_line *line, const char *text);
void hwi_line_printf(struct hwi_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hwi_line_repeat(struct hwi_line *line, const char *text, size_t times);

/* Adds "1 block", "12,345 blocks". */
void hwi_line_counted(struct hwi_line *line, uint64_t count, const char *noun);

/* Adds text from outside (names, command lines): control characters and bytes that are not UTF-8 become \n, \t or
 * \xNN, so that nothing in a trace can control the terminal. */
void hwi_line_clean(struct hwi_line *line, const char *text);

/* Adds text; each byte that is not UTF-8 is replaced by U+FFFD. */
void hwi_line_replace_invalid(struct hwi_line *line, const char *text);

/* Adds blanks up to cell `cells` of the last line, but at least one if the line is not empty. */
void hwi_line_pad(struct hwi_line *line, size_t cells);

/* Adds `text` right-aligned or left-aligned in a field of `cells`. */
void hwi_line_right(struct hwi_line *line, const char *text, size_t cells);
void hwi_line_left(struct hwi_line *line, const char *text, size_t cells);

size_t hwi_cells(const char *text); /* of valid UTF-8 */
size_t hwi_cells_prefix(const char *text,
                        size_t cells); /* how many bytes fit into `cells`, without splitting a character */

/* Adds `text`. If it is wider than `cells`, an ellipsis replaces its middle. */
void hwi_line_shorten(struct hwi_line *line, const char *text, size_t cells, const char *ellipsis);

/* Adds as many of the last components of `path` as fit into `cells` together with ":LINE" (0: no line). The last
 * component is always added, shortened if necessary. */
void hwi_line_path(struct hwi_line *line, const char *path, unsigned source_line, size_t cells, const char *ellipsis);

/* Adds `word` so that a shell reads it as one word of exactly these bytes: as it is, in quotes or, if it has bytes
 * that a terminal must not get, as $'...' with escapes (POSIX since 2024). Nothing in it can control the terminal. */
void hwi_line_shell_word(struct hwi_line *line, const char *word);

#endif
