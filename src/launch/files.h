/* files.h - notes where the libraries of a process that went to another folder lie
 *
 * The recorder takes what was loaded by a relative path to lie in the folder in which the program started: it must not ask for
 * another in a sandbox. Once the process is seen in another folder, its mappings are looked at, soon after that and then less often.
 */
#ifndef HWI_LAUNCH_FILES_H
#define HWI_LAUNCH_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/drain.h"

struct hwi_files {
  bool moved; /* the process was seen elsewhere than its command started */
  uint64_t next_ns, interval_ns;
  struct hwi_noted_file *noted;
  size_t count, capacity;
};

/* Looks if it is time to. Nothing where the process is gone. */
void hwi_files_look(struct hwi_files *files, struct hwi_drain *drain, uint64_t now_ns);
void hwi_files_release(struct hwi_files *files);

#endif
