/* ending_signals.h - SIGHUP, SIGINT and SIGTERM end the program only when its files are whole
 *
 * Signals that were ignored when the program started stay ignored. One piece of work, and one unfinished file, at a
 * time.
 */
#ifndef HWI_LAUNCH_ENDING_SIGNALS_H
#define HWI_LAUNCH_ENDING_SIGNALS_H

#include <stdbool.h>

/* --- deferred until a piece of work is complete --- */

/* From here on SIGHUP, SIGINT and SIGTERM are only noted. This is for work that moves more than one file away for a
 * time: a signal handler could not restore them. */
void hwi_deferred_begin(void);

/* Returns true if one of them came: the work should end soon. */
bool hwi_deferred_is_asked(void);

/* Restores the earlier dispositions and raises the last signal that was noted, if any: the call may not return. */
void hwi_deferred_end(void);

/* --- an unfinished file is removed --- */

/* Makes a new file with close-on-exec, as mkostemp does. It is removed if such a signal ends the program. `path` ends
 * in XXXXXX; it is changed to the file's name and must stay valid until hwi_unfinished_end. Returns a file descriptor,
 * or -1 with errno set. */
int hwi_unfinished_make(char *path);

/* To be called when the file was renamed or removed. */
void hwi_unfinished_end(void);

#endif
