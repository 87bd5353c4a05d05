/* row_name.h - what a row of a comparison is called */
#ifndef HWI_COMPARE_ROW_NAME_H
#define HWI_COMPARE_ROW_NAME_H

#include "compare/compare.h"
#include "report/words/line.h"
#include "report/words/style.h"

/* Returns the side whose names are shown for a row: NEW, if the row has an item there. */
int hwi_row_side(const struct hwi_row *row);

/* Returns whether rows are functions, source files, source lines or modules. */
bool hwi_comparison_is_grouped(const struct hwi_comparison *comparison);

/* Adds the name of a group, thread, size or entry point; for a stack, the function that requested the memory. */
void hwi_row_name(struct hwi_line *line, struct hwi_comparison *comparison, const struct hwi_row *row, size_t cells,
                  const struct hwi_style *style);

#endif
