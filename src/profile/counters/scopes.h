/* scopes.h - what threads did in the scopes that the program marked
 *
 * path       a scope and the scopes around it, numbered from 1: (path of the next outer scope, name). 0: no scope.
 * instance   one stretch of one thread's time in a path, from the begin to the end of its innermost scope.
 * context    a thread in a path, numbered from 0: the cells of a tally belong to contexts, so that all figures of a path
 *            that can be added are sums over cells. Without scopes, the context of a thread is the thread.
 * rule       makes a scope of each uninterrupted stretch of a thread's events whose stacks match it (profile.h). These
 *            scopes are inside those that the program marked: they end when one of these begins or ends. An event
 *            without a known stack, such as a free, neither begins nor ends them.
 * zone       a forbidden zone: an instance in which the thread must neither allocate nor free. What it does is a breach.
 * net        what a thread allocated less what it freed, whosever blocks those were.
 *
 * A scope that was left without an end ends with the next outer one that has an end, or with its thread.
 */
#ifndef HWI_PROFILE_COUNTERS_SCOPES_H
#define HWI_PROFILE_COUNTERS_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/blocks/resolve.h"

enum { HWI_PATHS_MAX = 1 << 20 }; /* scopes in further paths count for the next outer path */

struct hwi_context {
  uint32_t thread, path;
};

struct hwi_scopes; /* of one replay */

/* Returns NULL if there is no memory. */
struct hwi_scopes *hwi_scopes_create(void);
void hwi_scopes_destroy(struct hwi_scopes *scopes); /* NULL is fine */

/* The worst instances are to have details (struct hwi_instance_detail), without their texts. To be called before the
 * first scope. */
void hwi_scopes_want_details(struct hwi_scopes *scopes);

/* Makes scopes of rules, with their names in `names`. The chains must outlive the scopes. To be called before the first
 * scope. Returns false if there is no memory. */
bool hwi_scopes_use_chains(struct hwi_scopes *scopes, const struct hwi_scope_chains *chains, struct hwi_store *names);

/* Gives contexts to the threads below `count` that have none yet. Returns false if there is no memory. */
bool hwi_scopes_know_threads(struct hwi_scopes *scopes, size_t count);

/* Follows a resolved SCOPE event at `ns` of the run; *scopes is made at the first one. `thread_count`: threads so far.
 * Returns false if there is no memory. */
bool hwi_scopes_take(struct hwi_scopes **scopes, size_t thread_count, const struct hwi_resolved *event, uint64_t ns);

/* The thread has an event with this stack at `ns`: end the scopes of rules that the stack does not match, with the latest
 * event before, and begin those that it matches. Return false if there is no memory. */
bool hwi_scopes_leave_rules(struct hwi_scopes *scopes, uint32_t thread, uint32_t stack);
bool hwi_scopes_enter_rules(struct hwi_scopes *scopes, uint32_t thread, uint32_t stack, uint64_t ns);

/* Ends all scopes of rules that the thread is in, with its latest event. Returns false if there is no memory. */
bool hwi_scopes_leave_all_rules(struct hwi_scopes *scopes, uint32_t thread);

/* Return the context and the path that the thread is in, the path around a path, and the parts of a context. */
uint32_t hwi_scopes_context(const struct hwi_scopes *scopes, uint32_t thread);
uint32_t hwi_scopes_path(const struct hwi_scopes *scopes, uint32_t thread);
uint32_t hwi_scopes_outer(const struct hwi_scopes *scopes, uint32_t path);
struct hwi_context hwi_scopes_context_at(const struct hwi_scopes *scopes, uint32_t context);

/* Returns the thread's open instance at this depth, from 0 (tasks.h). */
const struct hwi_open_instance *hwi_scopes_open_at(const struct hwi_scopes *scopes, uint32_t thread, uint32_t depth);

/* Gives a text, which is freed when the instance ends, to the thread's innermost one. */
void hwi_scopes_give_text(struct hwi_scopes *scopes, uint32_t thread, char *text);

/* Return how many scopes of the thread are open, and the time of its latest event. */
uint32_t hwi_scopes_depth(const struct hwi_scopes *scopes, uint32_t thread);
uint64_t hwi_scopes_latest_ns(const struct hwi_scopes *scopes, uint32_t thread);

/* The thread has an event at `ns` that is not counted. */
void hwi_scopes_pass_time(struct hwi_scopes *scopes, uint32_t thread, uint64_t ns);

/* A call of a thread. */
struct hwi_scope_call {
  uint64_t ns, bytes; /* bytes: of the block; 0 if it is unknown, or the call failed */
  uint32_t thread;
  uint32_t stack; /* that allocated the block, or failed to; 0: unknown */
  uint32_t more;  /* in a sample: so many more calls are alike, see sample.h */
};

/* Count calls. Return false if there is no memory. */
bool hwi_scopes_alloc(struct hwi_scopes *scopes, const struct hwi_scope_call *call);
bool hwi_scopes_free(struct hwi_scopes *scopes, const struct hwi_scope_call *call);
bool hwi_scopes_failed(struct hwi_scopes *scopes, const struct hwi_scope_call *call);

/* The thread has ended: its open scopes end with its latest event. Returns false if there is no memory. */
bool hwi_scopes_end_thread(struct hwi_scopes *scopes, uint32_t thread);

/* The image has ended: its tasks that are not finished end with their latest event. The same. */
bool hwi_scopes_end_tasks(struct hwi_scopes *scopes, uint32_t image);

/* Restarts counting, at the start of a span. Scopes that are open stay open. */
void hwi_scopes_restart(struct hwi_scopes *scopes);

/* Returns the paths, without their names, and sets *count to one more than the largest number. They are valid until the
 * scopes are destroyed. */
struct hwi_scope *hwi_scopes_paths(struct hwi_scopes *scopes, uint32_t *count);

/* Returns the breaches, and sets *count to how many there are. They are valid until the scopes are destroyed. */
const struct hwi_breach *hwi_scopes_breaches(const struct hwi_scopes *scopes, uint32_t *count);

/* Returns the resolver's number of the name of the path's innermost scope. */
uint32_t hwi_scopes_name(const struct hwi_scopes *scopes, uint32_t path);

#endif
