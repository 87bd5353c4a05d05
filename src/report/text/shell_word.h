/* shell_word.h - words as a shell reads them */
#ifndef HWI_REPORT_TEXT_SHELL_WORD_H
#define HWI_REPORT_TEXT_SHELL_WORD_H

#include "report/text/line.h"

/* Adds `word` so that a shell reads it as one word of exactly these bytes: as it is, in quotes or, if it has bytes
 * that a terminal must not get, as $'...' with escapes (POSIX since 2024). Nothing in it can control the terminal. */
void hwi_line_shell_word(struct hwi_line *line, const char *word);

#endif
