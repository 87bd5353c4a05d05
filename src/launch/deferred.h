/* deferred.h - defers the signals that would end the program until a piece of work is complete
 *
 * For work that moves more than one file away for a time: a signal handler could not restore them. One piece of work at
 * a time.
 */
#ifndef HWI_LAUNCH_DEFERRED_H
#define HWI_LAUNCH_DEFERRED_H

#include <stdbool.h>

/* From here on SIGHUP, SIGINT and SIGTERM are only noted. A signal that the program ignores stays ignored. */
void hwi_deferred_begin(void);

/* Returns true if one of them came: the work should end soon. */
bool hwi_deferred_is_asked(void);

/* Restores the earlier dispositions and raises the last signal that was noted, if any: the call may not return. */
void hwi_deferred_end(void);

#endif
