/* deferred.h - signals that would end the program wait until what was begun is undone
 *
 * For work that takes more than one file out of its place, which no signal handler could put back. One piece of work at a time.
 */
#ifndef HWI_LAUNCH_DEFERRED_H
#define HWI_LAUNCH_DEFERRED_H

#include <stdbool.h>

/* From here on SIGHUP, SIGINT and SIGTERM are only noted, but for those that the program ignores. */
void hwi_deferred_begin(void);

/* One of them came: the work should come to its end soon. */
bool hwi_deferred_is_asked(void);

/* They do again what they did before, the last one that came at once: the call may not return. */
void hwi_deferred_end(void);

#endif
