/* test_scope_chains.c - scopes of rules on several threads, compared with a model that looks for runs of equal stacks
 *
 * Breaks if an instance begins or ends at another event than the first and the last of a stretch whose stacks match its
 * rule; if a scope that the program marked does not end it; if a call without a known stack does; or if what an instance
 * did counts for another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/counters/scopes.h"

enum { THREADS = 3, EVENTS = 4000, RULES = 3, MARKED = 4, DEEPEST = 8, STACKS = 8, PATHS_MAX = 2000 };

/* Chains: none, a, a b, a b c, b, b a, c; stack 7 is not known. Rule i has the name i + 1 in the store. */
static const char *const names[RULES] = {"a", "b", "c"};
static const struct hwi_scope_chain items[] = {{0, 0}, {0, 0}, {1, 1}, {2, 2}, {0, 1}, {4, 0}, {0, 2}};
static const uint32_t by_stack[STACKS] = {0, 1, 2, 3, 4, 5, 6, HWI_CHAIN_UNKNOWN};
static const struct hwi_scope_chains chains = {names, RULES, items, 7, by_stack, STACKS};

enum kind { CALL, FREE, MARK };

/* What happened in one thread. `path`: the marked scopes after the event, then the rules of the latest known stack. */
struct event {
  uint64_t ns, bytes;
  enum kind kind;
  int marked_depth, depth;
  uint32_t path[DEEPEST];
};

static struct event log_of[THREADS][EVENTS];
static int count_of[THREADS];
static uint64_t random_state = 11;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* Replaces the rules of the event's path. */
static void set_chain(struct event *event, uint32_t chain)
{
  uint32_t rules[RULES];
  int count = 0;
  for (; chain; chain = items[chain].outer)
    rules[count++] = items[chain].rule + 1;
  event->depth = event->marked_depth;
  while (count > 0)
    event->path[event->depth++] = rules[--count];
}

static void mark(struct hwi_scopes *scopes, uint32_t thread, struct event *event)
{
  struct hwi_resolved resolved = {.thread = thread, .entry = HW_SCOPE_BEGIN, .size = RULES + 1 + below(2)};
  event->kind = MARK;
  if (event->marked_depth == MARKED || (event->marked_depth > 0 && below(2))) {
    resolved.entry = HW_SCOPE_END;
    resolved.size = 1;
    event->marked_depth--;
  } else {
    event->path[event->marked_depth++] = (uint32_t)resolved.size;
  }
  event->depth = event->marked_depth;
  assert_true(hwi_scopes_take(&scopes, THREADS, &resolved, event->ns));
}

static void call(struct hwi_scopes *scopes, uint32_t thread, struct event *event)
{
  const uint32_t stack = below(STACKS), chain = by_stack[stack];
  event->kind = below(3) ? CALL : FREE;
  event->bytes = 1 + below(100);
  const struct hwi_scope_call made = {event->ns, event->bytes, thread, 1, 0};
  if (event->kind == FREE) {
    assert_true(hwi_scopes_free(scopes, &made));
    return;
  }
  if (chain != HWI_CHAIN_UNKNOWN)
    set_chain(event, chain);
  assert_true(hwi_scopes_leave_rules(scopes, thread, stack) &&
              hwi_scopes_enter_rules(scopes, thread, stack, event->ns) && hwi_scopes_alloc(scopes, &made));
  assert_int_equal(hwi_scopes_depth(scopes, thread), event->depth);
}

static void run(struct hwi_scopes *scopes)
{
  uint64_t ns = 1000;
  for (int i = 0; i < EVENTS; i++, ns += below(30)) {
    const uint32_t thread = below(THREADS);
    struct event *event = &log_of[thread][count_of[thread]];
    if (count_of[thread]++ > 0)
      *event = event[-1];
    event->ns = ns;
    event->bytes = 0;
    if (below(8) == 0)
      mark(scopes, thread, event);
    else
      call(scopes, thread, event);
  }
  for (uint32_t thread = 0; thread < THREADS; thread++)
    assert_true(hwi_scopes_end_thread(scopes, thread));
}

/* --- the model --- */

struct figures {
  int depth;
  uint32_t path[DEEPEST];
  uint64_t instances, duration_ns, max_ns, free_calls, freed_bytes, allocating, left_open;
};

static struct figures found[PATHS_MAX];
static int found_count;

static struct figures *find(const uint32_t *path, int depth)
{
  for (int i = 0; i < found_count; i++)
    if (found[i].depth == depth && !memcmp(found[i].path, path, (size_t)depth * sizeof *path))
      return &found[i];
  assert_true(found_count < PATHS_MAX);
  struct figures *made = &found[found_count++];
  made->depth = depth;
  memcpy(made->path, path, (size_t)depth * sizeof *path);
  return made;
}

static bool is_in(const struct event *event, const uint32_t *path, int depth)
{
  return event->depth >= depth && !memcmp(event->path, path, (size_t)depth * sizeof *path);
}

/* Adds the stretch of the thread's events from `first` on that are in the first `depth` scopes of its path, of which the
 * last is a rule's. */
static void add_stretch(const struct event *events, int first, int count, int depth)
{
  const uint32_t *path = events[first].path;
  struct figures *of = find(path, depth);
  int end = first;
  bool allocates = false;
  for (; end < count && events[end].kind != MARK && is_in(&events[end], path, depth); end++) {
    const bool is_self = events[end].depth == depth;
    allocates |= events[end].kind == CALL;
    of->free_calls += is_self && events[end].kind == FREE;
    of->freed_bytes += is_self && events[end].kind == FREE ? events[end].bytes : 0;
  }
  const uint64_t ns = events[end - 1].ns - events[first].ns;
  of->instances++;
  of->allocating += allocates;
  of->duration_ns += ns;
  of->max_ns = ns > of->max_ns ? ns : of->max_ns;
}

static void find_stretches(const struct event *events, int count)
{
  for (int i = 0; i < count; i++) {
    for (int depth = events[i].marked_depth + 1; events[i].kind != MARK && depth <= events[i].depth; depth++) {
      const bool goes_on = i > 0 && events[i - 1].kind != MARK && is_in(&events[i - 1], events[i].path, depth);
      if (!goes_on)
        add_stretch(events, i, count, depth);
    }
  }
}

static void test_like_the_model(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = hwi_scopes_create();
  struct hwi_store store = {0};
  assert_non_null(scopes);
  assert_true(hwi_scopes_use_chains(scopes, &chains, &store));
  assert_true(hwi_scopes_know_threads(scopes, THREADS));
  run(scopes);
  for (int thread = 0; thread < THREADS; thread++)
    find_stretches(log_of[thread], count_of[thread]);
  uint32_t path_count, compared = 0;
  const struct hwi_scope *paths = hwi_scopes_paths(scopes, &path_count);
  for (uint32_t number = 1; number < path_count; number++) {
    uint32_t path[DEEPEST];
    for (uint32_t at = number; at; at = paths[at].outer)
      path[paths[at].depth - 1] = hwi_scopes_name(scopes, at);
    if (hwi_scopes_name(scopes, number) > RULES)
      continue; /* marked */
    const struct figures *of = find(path, (int)paths[number].depth);
    assert_int_equal(paths[number].instances, of->instances);
    assert_int_equal(paths[number].duration_ns, of->duration_ns);
    assert_int_equal(paths[number].max_ns, of->max_ns);
    assert_int_equal(paths[number].free_calls, of->free_calls);
    assert_int_equal(paths[number].freed_bytes, of->freed_bytes);
    assert_int_equal(paths[number].allocating, of->allocating);
    assert_int_equal(paths[number].left_open, 0);
    compared++;
  }
  assert_int_equal(compared, found_count);
  assert_true(found_count > 50);
  hwi_store_release(&store);
  hwi_scopes_destroy(scopes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_like_the_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
