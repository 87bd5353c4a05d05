/* copied_run.h - where the traces of a copied run go: NAME, and NAME.children with those of its children */
#ifndef HWI_LAUNCH_COPIED_RUN_H
#define HWI_LAUNCH_COPIED_RUN_H

#include <stdbool.h>

#include "base/error.h"

struct hwi_copied_run {
  const char *name;          /* of the copy */
  bool is_single;            /* the run has one trace, which may be of a child: it becomes NAME */
  bool has_name, has_folder; /* there is a trace for NAME; NAME.children was made */
};

/* Sets *path to where the copy of the trace at `from` goes, malloc'd, and makes the folder that it needs. Returns 0 or a
 * negative status. */
int hwi_copied_run_place(struct hwi_copied_run *copied, const char *from, char **path, struct hwi_error *error);

#endif
