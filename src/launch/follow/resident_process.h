/* resident_process.h - a process that follows a long recording for viewers to come
 *
 * What it does is the caller's: see live/resident.h. It is a child of the process that packs, and ends with it at the latest.
 */
#ifndef HWI_LAUNCH_FOLLOW_RESIDENT_PROCESS_H
#define HWI_LAUNCH_FOLLOW_RESIDENT_PROCESS_H

#include <sys/types.h>

/* Starts it, without any open file, and away from the terminal: it calls `be` with the path of the run's first trace, and ends when that
 * returns. Returns its ID, or -1: it cannot be started. */
pid_t hwi_resident_process_start(void (*be)(const char *name), const char *name);

#endif
