/* compared.h - the runs that a command compares: recordings, or reports of them that were saved as JSON
 *
 * What goes wrong is worded on stderr here: the functions return 0 or an exit status.
 */
#ifndef HWI_CLI_COMPARED_H
#define HWI_CLI_COMPARED_H

#include "cli/reading.h"
#include "report/json/saved.h"

struct hwi_compared {
  char path[HWI_READING_PATH_BYTES];
  struct hwi_reading_source source;  /* of a recording, which may be read again */
  const struct hwi_profile *profile; /* NULL: not opened */
  struct hwi_profile *recorded;      /* that of a recording ... */
  struct hwi_saved *saved;           /* ... or that of a report; the other is NULL */
};

/* Reads what is at `path`. To be closed, even after a failure; closing one that is all zero does nothing. */
int hwi_compared_open(struct hwi_compared *run, const struct hwi_reading *reading, const char *path);
void hwi_compared_close(struct hwi_compared *run);

/* `symbols`: the names of recordings; a report brings its own. */
struct hwi_names hwi_compared_names(const struct hwi_compared *run, struct hwi_symbols *symbols);

/* Where debug files of it may lie, for hwi_reading_symbols. NULL: a report needs none. */
const char *hwi_compared_trace(const struct hwi_compared *run);

#endif
