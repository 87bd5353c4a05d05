/* heap_variables.h - variables that only look like the heap's are not passed to a process on it
 *
 * The tool has reported them. The heap would do so again, in each process.
 */
#ifndef HWI_LAUNCH_START_HEAP_VARIABLES_H
#define HWI_LAUNCH_START_HEAP_VARIABLES_H

/* Removes them from the environment of this process if its LD_PRELOAD has the heap. Called before a program is executed. */
void hwi_heap_variables_drop_unknown(void);

#endif
