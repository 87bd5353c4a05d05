/* compared.h - the runs that a command compares: recordings, or reports saved as JSON
 *
 * The functions report errors on stderr and return 0 or an exit status.
 */
#ifndef HWI_CLI_COMPARED_H
#define HWI_CLI_COMPARED_H

#include "cli/reading.h"
#include "report/json/saved.h"

struct hwi_compared {
  char path[HWI_READING_PATH_BYTES];
  struct hwi_reading_source source;  /* for a recording, which may be read again */
  const struct hwi_profile *profile; /* NULL: not opened */
  struct hwi_profile *recorded;      /* set for a recording ... */
  struct hwi_saved *saved;           /* ... or this is set, for a saved report; the other is NULL */
};

/* Reads the recording or saved report at `path`. Call hwi_compared_close even after a failure; it does nothing if `run`
 * is all zero. */
int hwi_compared_open(struct hwi_compared *run, const struct hwi_reading *reading, const char *path);
void hwi_compared_close(struct hwi_compared *run);

/* `symbols` has the names for recordings; a saved report contains its own names. */
struct hwi_names hwi_compared_names(const struct hwi_compared *run, struct hwi_symbols *symbols);

/* Returns the path near which its debug files may be, for hwi_reading_symbols, or NULL for a report, which needs
 * none. */
const char *hwi_compared_trace(const struct hwi_compared *run);

#endif
