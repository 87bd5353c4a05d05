/* files.h - notes the paths of the libraries of a process that changed its folder
 *
 * The recorder resolves a relative library path against the folder in which the program started, because it must not
 * ask for the current folder in a sandbox. Once the process is seen in another folder, its mappings are read: soon
 * after that, and then less often.
 */
#ifndef HWI_LAUNCH_FOLLOW_FILES_H
#define HWI_LAUNCH_FOLLOW_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/follow/drain.h"

struct hwi_files {
  bool moved; /* the process was seen in another folder than the one its command started in */
  uint64_t next_ns, interval_ns;
  struct hwi_noted_file *noted;
  size_t count, capacity;
};

/* Reads the mappings if it is time to. Does nothing if the process is gone. */
void hwi_files_look(struct hwi_files *files, struct hwi_drain *drain, uint64_t now_ns);
void hwi_files_release(struct hwi_files *files);

#endif
