/* scopes.h - what threads did in the scopes that the program marked
 *
 * path       a scope and the scopes around it, numbered from 1: (path of the next outer scope, name). 0: no scope.
 * instance   one stretch of one thread's time in a path, from the begin to the end of its innermost scope.
 * context    a thread in a path, numbered from 0: the cells of a tally belong to contexts, so that all figures of a path
 *            that can be added are sums over cells. Without scopes, the context of a thread is the thread.
 * net        what a thread allocated less what it freed, whosever blocks those were.
 *
 * A scope that was left without an end ends with the next outer one that has an end, or with its thread.
 */
#ifndef HWI_PROFILE_COUNTERS_SCOPES_H
#define HWI_PROFILE_COUNTERS_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

enum {
  HWI_PATHS_MAX = 1 << 20,    /* further paths count as their outermost known part */
  HWI_WORST_INSTANCES = 10,   /* of each path and measure */
};

/* By which instances are ranked. */
enum hwi_instance_measure {
  HWI_INSTANCE_DURATION = 0,
  HWI_INSTANCE_PEAK,  /* most net bytes at a time */
  HWI_INSTANCE_NET,   /* net bytes at its end */
  HWI_INSTANCE_CALLS, /* allocation calls */
  HWI_INSTANCE_BYTES, /* allocated */
  HWI_INSTANCE_MEASURES
};

/* An instance, with the scopes inside it. */
struct hwi_instance {
  uint64_t begin_ns, duration_ns;
  uint64_t value;    /* of the BEGIN event */
  uint64_t sequence; /* of the path's instances, from 1 in the order of their begins */
  uint64_t calls, bytes, peak_bytes;
  int64_t net_bytes;
  uint32_t thread;
  uint8_t op; /* enum hw_scope_op: what `value` is */
};

/* The instances with the largest values, as a heap: the smallest first. */
struct hwi_worst {
  uint32_t count;
  struct hwi_instance items[HWI_WORST_INSTANCES];
};

/* What the path's own scope did, without the scopes inside it: what the tally's cells do not show. */
struct hwi_path_tally {
  uint32_t outer, name;
  uint32_t depth; /* scopes in the path */
  uint64_t instances, left_open;
  uint64_t duration_ns, self_ns, max_ns; /* self: without the scopes inside */
  uint64_t free_calls, freed_blocks, freed_bytes;
  uint64_t failed_calls;
  uint64_t peak_bytes; /* most net bytes of an instance, with the scopes inside it */
  uint64_t allocating; /* instances that allocated, also in scopes inside */
  uint64_t last_allocating; /* sequence of the last of them */
  struct hwi_worst *worst; /* by measure; NULL: no instance has ended yet */
};

struct hwi_context {
  uint32_t thread, path;
};

struct hwi_scopes; /* of one replay */

/* Returns NULL if there is no memory. */
struct hwi_scopes *hwi_scopes_create(void);
void hwi_scopes_destroy(struct hwi_scopes *scopes); /* NULL is fine */

/* A SCOPE event of the thread (numbered in the tally) at `ns`. `name`: numbered in the profile. *context becomes the
 * thread's context after it. Returns false if there is no memory. */
struct hwi_scope_event {
  uint64_t ns, value;
  uint32_t thread, name, count;
  uint8_t op; /* enum hw_scope_op */
};
bool hwi_scopes_take(struct hwi_scopes *scopes, const struct hwi_scope_event *event, uint32_t *context);

/* Returns the context of a thread that begins, or UINT32_MAX if there is no memory. */
uint32_t hwi_scopes_add_thread(struct hwi_scopes *scopes, uint32_t thread);

/* Count calls of a thread that is in a scope. */
void hwi_scopes_alloc(struct hwi_scopes *scopes, uint32_t thread, uint64_t bytes);
void hwi_scopes_free(struct hwi_scopes *scopes, uint32_t thread, bool is_known, uint64_t bytes);
void hwi_scopes_failed(struct hwi_scopes *scopes, uint32_t thread);

/* All threads have ended: their open scopes end at `ns`. */
bool hwi_scopes_end(struct hwi_scopes *scopes, uint64_t ns);

#endif
