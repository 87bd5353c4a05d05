/* symbol_name.h - shortens the name of a frame to a readable length */
#ifndef HWI_REPORT_NAMES_SYMBOL_NAME_H
#define HWI_REPORT_NAMES_SYMBOL_NAME_H

#include "report/words/line.h"
#include "symbols/symbols.h"

/* Adds the symbol's name, which it has: that of a function as hwi_cxx_name_add does; of data, such as "member name of struct
 * person", the name of the class alone is shortened. */
void hwi_symbol_name_add(struct hwi_line *line, const struct hwi_symbol *symbol, size_t cells, const char *ellipsis);

#endif
