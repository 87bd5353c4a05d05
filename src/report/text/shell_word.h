/* shell_word.h - words as a shell reads them */
#ifndef HWI_REPORT_TEXT_SHELL_WORD_H
#define HWI_REPORT_TEXT_SHELL_WORD_H

#include "report/text/line.h"

/* Adds `word` so that a shell takes it for one word of just these bytes: as it is, in quotes, or, where it holds what a
 * terminal must not get, as $'...' with escapes, which POSIX has since 2024. Nothing in it can drive the terminal. */
void hwi_line_shell_word(struct hwi_line *line, const char *word);

#endif
