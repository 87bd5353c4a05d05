/* tasks.h - tasks (heapwright/monitor.h): scopes that move between threads
 *
 * All functions are async-signal-safe and do not change errno. An event that cannot be recorded counts as lost.
 */
#ifndef HWI_RECORD_EVENTS_TASKS_H
#define HWI_RECORD_EVENTS_TASKS_H

#include <stdint.h>

#include "heapwright/detail/monitor_table.h"

void hwi_task_create(struct hw_task *task, uint32_t name);
void hwi_task_enter(struct hw_task *task);
void hwi_task_leave(struct hw_task *task);
void hwi_task_finish(struct hw_task *task);

#endif
