/* cxx_name.h - the demangled names of C++, Rust and D, short enough to be read */
#ifndef HWI_REPORT_NAMES_CXX_NAME_H
#define HWI_REPORT_NAMES_CXX_NAME_H

#include "report/text/line.h"

/* Adds `name` without parameter lists and return type and with the standard library's default arguments left out; where it
 * is still wider than `cells`, template arguments collapse to <…> from the innermost on, then leading scopes go, and in the
 * end the middle. `ellipsis` is "…" or "...". The name may hold anything: control characters are escaped. */
void hwi_cxx_name_add(struct hwi_line *line, const char *name, size_t cells, const char *ellipsis);

#endif
