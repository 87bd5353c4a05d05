/* style.h - what the place that text goes to can show */
#ifndef HWI_REPORT_TEXT_STYLE_H
#define HWI_REPORT_TEXT_STYLE_H

#include <stdbool.h>
#include <stdio.h>

enum { HWI_COLUMNS_DEFAULT = 100, HWI_COLUMNS_MIN = 40, HWI_COLUMNS_MAX = 1000 };

struct hwi_style {
  FILE *out;
  unsigned columns;
  bool utf8;     /* else ASCII for what is ours; names stay as they are */
  bool terminal; /* somebody is watching */
  bool colour;
  bool paper; /* nobody can give an option: none is named */
};

/* Finds out about `out`: columns from COLUMNS, else from the terminal, else HWI_COLUMNS_DEFAULT; UTF-8 from the locale;
 * colour on a terminal unless NO_COLOR is set or TERM is dumb. Where the locale is no UTF-8, LC_CTYPE becomes C.UTF-8
 * afterwards, so that names in UTF-8 are measured rightly. */
void hwi_style_init(struct hwi_style *style, FILE *out);

enum hwi_emphasis { HWI_PLAIN, HWI_BOLD, HWI_DIM, HWI_ALARM, HWI_CHART };

/* The escape sequence that begins an emphasis, or "" without colour; HWI_PLAIN ends any. */
const char *hwi_style_begin(const struct hwi_style *style, enum hwi_emphasis emphasis);

/* The words that name an option which shows more, or "" on paper. */
const char *hwi_style_hint(const struct hwi_style *style, const char *words);

const char *hwi_style_ellipsis(const struct hwi_style *style);

#endif
