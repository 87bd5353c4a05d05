/* tasks.h - the tasks of a replay: work that moves between threads (heapwright/monitor.h), by number
 *
 * A task has its open scopes while no thread is inside. A thread that enters it takes them over, and gives them back when
 * it leaves. The first of them is the task's own instance.
 */
#ifndef HWI_PROFILE_COUNTERS_TASKS_H
#define HWI_PROFILE_COUNTERS_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/blocks/live.h"
#include "profile/profile.h"

struct hwi_open_instance {
  struct hwi_instance all; /* its duration_ns counts the ended scopes inside it, until it ends */
  uint32_t path, context;
  uint32_t zone; /* the innermost forbidden zone, this instance or one around it: its index + 1. 0: none */
  int64_t most_net;
  char *text; /* that the program gave it; NULL: none, or not wanted */
};

/* Instances that are open in a thread or a task, the outermost first. */
struct hwi_instance_stack {
  struct hwi_open_instance *items;
  size_t count, capacity;
  uint64_t beyond; /* scopes that were begun within the last item, but have no path */
};

struct hwi_task {
  uint64_t number;                /* of the resolved event; 0: unused */
  struct hwi_instance_stack open; /* empty while a thread is inside */
  uint64_t last_ns;               /* of its latest event */
  bool is_inside;                 /* a thread is inside */
  bool is_finished;               /* it ends when the thread leaves */
};

/* All zero: no tasks. Items move when a task is added. */
struct hwi_tasks {
  struct hwi_live numbers; /* number -> index */
  struct hwi_task *items;
  size_t count, capacity;
  uint32_t *unused; /* indices */
  size_t unused_count, unused_capacity;
};

void hwi_tasks_release(struct hwi_tasks *tasks); /* the details and texts of open instances are the caller's */

/* Adds a task without instances. Returns NULL if there is no memory; *is_known: there is one with this number. */
struct hwi_task *hwi_tasks_add(struct hwi_tasks *tasks, uint64_t number, bool *is_known);

/* Returns the task, or NULL if there is none. */
struct hwi_task *hwi_tasks_find(const struct hwi_tasks *tasks, uint64_t number);

/* Removes a task whose instances have ended. Returns false if there is no memory. */
bool hwi_tasks_remove(struct hwi_tasks *tasks, struct hwi_task *task);

#endif
