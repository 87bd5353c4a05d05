/* instances.h - the instances of scopes that a document lists, found while the events are followed
 *
 * instance   one stretch of a thread's time in a path, from a begin to its end. A task that is entered several times has
 *            one for each time, so that those of a thread nest.
 * net        what the thread allocated less what it freed, whosever blocks those were.
 * All figures include the instances inside, except those by size. A task is not inside the scopes around it.
 *
 * The list is bounded: of more than `most`, half are the longest ones, and half those that allocated most. They are
 * chosen again whenever the list is full, so the memory does not depend on the recording.
 */
#ifndef HWI_PAGE_INSTANCES_H
#define HWI_PAGE_INSTANCES_H

#include "page/scopes.h"

enum { HWI_PAGE_INSTANCES_MAX = 1000000, HWI_PAGE_INSTANCES_OF_OTHERS_MAX = 100000, HWI_PAGE_INSTANCE_SIZES = 8 };

struct hwi_page_size_count {
  uint64_t size;
  int64_t blocks; /* allocated less freed, without the instances inside */
};

struct hwi_page_instance {
  uint64_t order; /* of the begins */
  uint64_t begin_ns, duration_ns;
  uint64_t value;    /* of its begin */
  uint64_t sequence; /* of the path's instances, from 1; 0: a part of a task's */
  uint64_t calls, free_calls, bytes;
  int64_t net_bytes, most_net_bytes;
  int64_t inside_bytes; /* net, of the instances inside */
  size_t first_size;
  uint32_t path, thread;
  uint8_t op; /* enum hw_scope_op of its begin: what `value` is */
  uint8_t size_count;
  bool has_other_sizes;
};

struct hwi_page_open_thread;

/* All zero: no instances. */
struct hwi_page_instances {
  const struct hwi_page_scopes *scopes;
  uint32_t most;
  struct hwi_page_instance *items; /* those that have ended */
  size_t count, capacity;
  struct hwi_page_size_count *sizes;
  size_t size_count, size_capacity;
  uint64_t recorded; /* instances that have ended, listed or not */
  uint64_t begun;
  uint64_t *sequences; /* by path: instances that have begun */
  struct hwi_page_open_thread *threads;
  size_t thread_count, thread_capacity;
};

/* Returns false if there is no memory. Release `instances` even after a failure. */
bool hwi_page_instances_init(struct hwi_page_instances *instances, const struct hwi_page_scopes *scopes, uint32_t most);
void hwi_page_instances_release(struct hwi_page_instances *instances);

/* Takes a scope that begins or ends. Returns false if there is no memory. */
bool hwi_page_instances_take(struct hwi_page_instances *instances, const struct hwi_scope_event *event);

/* Counts a call for the instance that its thread is in. */
void hwi_page_instances_count(struct hwi_page_instances *instances, const struct hwi_block_event *event);

/* Ends those that are open, at `ns`, and sorts all by thread and begin. Returns false if there is no memory. */
bool hwi_page_instances_end(struct hwi_page_instances *instances, uint64_t ns);

/* Writes "instances" into the current object, if there are any. `thread_rows`: the rows of threads, by thread. */
void hwi_json_page_instances(struct hwi_json *json, const struct hwi_page_instances *instances,
                             const uint32_t *thread_rows);

#endif
