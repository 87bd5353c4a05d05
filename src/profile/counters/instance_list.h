/* instance_list.h - the instances of scopes that a page lists, found while the events are followed
 *
 * instance   one stretch of a thread's time in a path, from a begin to its end. A task that is entered several times has
 *            one for each time, so that those of a thread nest.
 * net        what the thread allocated less what it freed, whosever blocks those were.
 * All figures include the instances inside, except those by size. A task is not inside the scopes around it.
 *
 * The list is bounded: of more than `most`, half are the longest ones, and half those that allocated most; in the list of a
 * run that is followed, half are the latest ones, and these two a quarter each. They are chosen again whenever the list is
 * full, so the memory does not depend on the recording.
 */
#ifndef HWI_PROFILE_COUNTERS_INSTANCE_LIST_H
#define HWI_PROFILE_COUNTERS_INSTANCE_LIST_H

#include "profile/profile.h"

enum { HWI_LISTED_SIZES = 8 };

struct hwi_size_count {
  uint64_t size;
  int64_t blocks; /* allocated less freed, without the instances inside */
};

struct hwi_listed_instance {
  uint64_t order; /* of the begins */
  uint64_t begin_ns, duration_ns;
  uint64_t value;    /* of its begin */
  uint64_t sequence; /* of the path's instances, from 1; 0: a part of a task's */
  uint64_t calls, free_calls, bytes;
  int64_t net_bytes, most_net_bytes;
  int64_t inside_bytes; /* net, of the instances inside */
  size_t first_size;
  uint32_t path, outer; /* outer: the path around it */
  uint32_t thread;
  uint8_t op; /* enum hw_scope_op of its begin: what `value` is */
  uint8_t size_count;
  bool has_other_sizes;
};

struct hwi_listed_thread;

/* All zero, except the first three, which the caller sets: no instances. */
struct hwi_instance_list {
  uint32_t most;
  const uint32_t *row_of;            /* by path: 0 if its instances are not listed; NULL: those of all paths are */
  bool is_of_present;                /* the latest instances are kept, too */
  struct hwi_listed_instance *items; /* those that have ended */
  size_t count, capacity;
  struct hwi_size_count *sizes;
  size_t size_count, size_capacity;
  uint64_t recorded; /* instances that have ended, listed or not */
  uint64_t begun;
  uint64_t *sequences; /* by path: instances that have begun */
  size_t sequence_capacity;
  struct hwi_listed_thread *threads;
  size_t thread_count, thread_capacity;
};

void hwi_instance_list_release(struct hwi_instance_list *instances);

/* Adds those that `instances`, which has ended, lists of paths with a row. Returns false if there is no memory. */
bool hwi_instance_list_add_all(struct hwi_instance_list *sum, const struct hwi_instance_list *instances);

/* Takes a scope that begins or ends. Returns false if there is no memory. */
bool hwi_instance_list_take(struct hwi_instance_list *instances, const struct hwi_scope_event *event);

/* Counts a call for the instance that its thread is in. */
void hwi_instance_list_count(struct hwi_instance_list *instances, const struct hwi_block_event *event);

/* Ends those that are open, at `ns`, and sorts all by thread and begin. Returns false if there is no memory. */
bool hwi_instance_list_end(struct hwi_instance_list *instances, uint64_t ns);

#endif
