/* cxx_name.h - shortens the demangled names of C++, Rust and D to a readable length */
#ifndef HWI_REPORT_NAMES_CXX_NAME_H
#define HWI_REPORT_NAMES_CXX_NAME_H

#include "report/words/line.h"

/* Adds `name` without parameter lists, return type, and default arguments of the standard library. If it is still
 * wider than `cells`, template arguments are replaced by <…> from the innermost outwards; then leading scopes are
 * left out, and in the end the middle. `ellipsis` is "…" or "...". The name may have any content: control characters
 * are escaped. */
void hwi_cxx_name_add(struct hwi_line *line, const char *name, size_t cells, const char *ellipsis);

#endif
