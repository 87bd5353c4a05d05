/* style.h - the abilities of a text's output: width, UTF-8, colour */
#ifndef HWI_REPORT_WORDS_STYLE_H
#define HWI_REPORT_WORDS_STYLE_H

#include <stdbool.h>
#include <stdio.h>

enum { HWI_COLUMNS_DEFAULT = 100, HWI_COLUMNS_MIN = 40, HWI_COLUMNS_MAX = 1000 };

struct hwi_style {
  FILE *out;
  unsigned columns;
  bool utf8;     /* else our own text is ASCII; names stay as they are */
  bool terminal; /* the output is a terminal */
  bool colour;
  bool paper; /* the text is part of a document, whose reader cannot give options: it names none */
};

/* Sets the style for `out`: columns from COLUMNS, else from the terminal, else HWI_COLUMNS_DEFAULT; UTF-8 from the
 * locale; colour on a terminal unless NO_COLOR is set or TERM is dumb. If the locale is not UTF-8, LC_CTYPE is then
 * set to C.UTF-8, so that names in UTF-8 are measured correctly. */
void hwi_style_init(struct hwi_style *style, FILE *out);

enum hwi_emphasis { HWI_PLAIN, HWI_BOLD, HWI_DIM, HWI_ALARM, HWI_CHART };

/* Returns the escape sequence that begins an emphasis; "" without colour. HWI_PLAIN ends any emphasis. */
const char *hwi_style_begin(const struct hwi_style *style, enum hwi_emphasis emphasis);

/* Returns `words`, which name an option that shows more; "" on paper. */
const char *hwi_style_hint(const struct hwi_style *style, const char *words);

const char *hwi_style_ellipsis(const struct hwi_style *style);
const char *hwi_style_plus_minus(const struct hwi_style *style);

#endif
