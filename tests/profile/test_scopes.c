/* test_scopes.c - scopes on several threads, compared with a model that adds every call to every scope around it
 *
 * Breaks if a call counts for a scope that its thread is not in, or for one of several threads only; if the net bytes of
 * an instance or their maximum are lost when a scope inside it ends; if the worst instances are not the worst; or if a
 * call in a forbidden zone is missed, or counts for another zone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/counters/scopes.h"

enum { STACKS = 2, THREADS = 3, NAMES = 3, DEEPEST = 4, STEPS = 20000, INSTANCES_MAX = STEPS };

static uint64_t random_state = 7;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* An instance of the model. */
struct model {
  int path[DEEPEST + 1]; /* names, the outermost first */
  int depth;
  bool is_zone;
  uint64_t begin_ns, end_ns, calls, bytes, free_calls, freed_bytes;
  uint64_t breaches[STACKS + 1][2]; /* calls while it is the innermost zone: allocations, frees */
  int64_t net, most;
};

static struct model instances[INSTANCES_MAX];
static int instance_count;
static struct model *open[THREADS][DEEPEST];
static int open_count[THREADS];

static bool has_path(const struct model *instance, const int *path, int depth)
{
  bool same = instance->depth == depth;
  for (int i = 0; same && i < depth; i++)
    same = instance->path[i] == path[i];
  return same;
}

static void begin(struct hwi_scopes *scopes, uint32_t thread, uint64_t ns)
{
  struct model *made = &instances[instance_count++];
  int name = 1 + (int)below(NAMES), depth = open_count[thread];
  *made = (struct model){.depth = depth + 1, .begin_ns = ns, .is_zone = instance_count % 5 == 0};
  for (int i = 0; i < depth; i++)
    made->path[i] = open[thread][depth - 1]->path[i];
  made->path[depth] = name;
  open[thread][open_count[thread]++] = made;
  const struct hwi_resolved event = {
      .size = (uint64_t)name, .thread = thread, .entry = made->is_zone ? HW_SCOPE_BEGIN_FORBIDDEN : HW_SCOPE_BEGIN};
  assert_true(hwi_scopes_take(&scopes, THREADS, &event, ns));
}

static void end(struct hwi_scopes *scopes, uint32_t thread, uint64_t ns)
{
  int count = 1 + (int)below((uint32_t)open_count[thread]);
  const struct hwi_resolved event = {.size = (uint64_t)count, .thread = thread, .entry = HW_SCOPE_END};
  assert_true(hwi_scopes_take(&scopes, THREADS, &event, ns));
  while (count-- > 0)
    open[thread][--open_count[thread]]->end_ns = ns;
}

static void note_breach(uint32_t thread, const struct hwi_scope_call *made, bool is_alloc)
{
  for (int i = open_count[thread]; i-- > 0;) {
    if (!open[thread][i]->is_zone)
      continue;
    open[thread][i]->breaches[made->stack][!is_alloc]++;
    return;
  }
}

static void call(struct hwi_scopes *scopes, uint32_t thread, uint64_t ns)
{
  uint64_t bytes = 1 + below(100);
  bool is_alloc = below(5) < 3;
  const struct hwi_scope_call made = {ns, bytes, thread, 1 + (uint32_t)ns % STACKS};
  assert_true(is_alloc ? hwi_scopes_alloc(scopes, &made) : hwi_scopes_free(scopes, &made));
  note_breach(thread, &made, is_alloc);
  for (int i = 0; i < open_count[thread]; i++) {
    struct model *instance = open[thread][i];
    instance->calls += is_alloc;
    instance->bytes += is_alloc ? bytes : 0;
    instance->net += is_alloc ? (int64_t)bytes : -(int64_t)bytes;
    instance->most = instance->net > instance->most ? instance->net : instance->most;
  }
  if (!is_alloc && open_count[thread] > 0) {
    open[thread][open_count[thread] - 1]->free_calls++;
    open[thread][open_count[thread] - 1]->freed_bytes += bytes;
  }
}

static void run(struct hwi_scopes *scopes)
{
  uint64_t ns = 1000;
  for (int step = 0; step < STEPS; step++, ns += below(50)) {
    uint32_t thread = below(THREADS);
    if (below(10) > 2)
      call(scopes, thread, ns);
    else if (open_count[thread] < DEEPEST && below(2))
      begin(scopes, thread, ns);
    else if (open_count[thread] > 0)
      end(scopes, thread, ns);
  }
  for (uint32_t thread = 0; thread < THREADS; thread++) {
    while (open_count[thread] > 0)
      end(scopes, thread, ns);
    assert_true(hwi_scopes_end_thread(scopes, thread));
  }
}

static int path_of(const struct hwi_scopes *scopes, const struct hwi_scope *paths, uint32_t path, int *names)
{
  int depth = (int)paths[path].depth;
  for (int i = depth; path; path = paths[path].outer)
    names[--i] = (int)hwi_scopes_name(scopes, path);
  return depth;
}

static int descending(const void *left, const void *right)
{
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a > b ? -1 : a < b;
}

static void assert_worst(const struct hwi_worst *worst, enum hwi_instance_measure measure, uint64_t *values,
                         uint32_t count)
{
  qsort(values, count, sizeof *values, descending);
  assert_int_equal(worst->count, count < HWI_WORST_INSTANCES ? count : HWI_WORST_INSTANCES);
  for (uint32_t i = 0; i < worst->count; i++) {
    const struct hwi_instance *item = &worst->items[i];
    assert_int_equal(measure == HWI_INSTANCE_DURATION ? item->duration_ns
                     : measure == HWI_INSTANCE_PEAK   ? item->peak_bytes
                     : measure == HWI_INSTANCE_CALLS  ? item->calls
                                                      : item->bytes,
                     values[i]);
  }
}

static void assert_path(const struct hwi_scopes *scopes, const struct hwi_scope *paths, uint32_t number)
{
  static uint64_t durations[INSTANCES_MAX], peaks[INSTANCES_MAX], calls[INSTANCES_MAX], bytes[INSTANCES_MAX];
  const struct hwi_scope *path = &paths[number];
  int names[DEEPEST + 1], depth = path_of(scopes, paths, number, names);
  uint64_t duration_ns = 0, max_ns = 0, free_calls = 0, freed_bytes = 0, peak = 0, allocating = 0;
  uint32_t count = 0;
  for (int i = 0; i < instance_count; i++) {
    const struct model *instance = &instances[i];
    if (!has_path(instance, names, depth))
      continue;
    uint64_t ns = instance->end_ns - instance->begin_ns;
    duration_ns += ns;
    max_ns = ns > max_ns ? ns : max_ns;
    free_calls += instance->free_calls;
    freed_bytes += instance->freed_bytes;
    peak = (uint64_t)instance->most > peak ? (uint64_t)instance->most : peak;
    allocating += instance->calls > 0;
    durations[count] = ns;
    peaks[count] = (uint64_t)instance->most;
    calls[count] = instance->calls;
    bytes[count++] = instance->bytes;
  }
  assert_int_equal(path->instances, count);
  assert_int_equal(path->duration_ns, duration_ns);
  assert_int_equal(path->max_ns, max_ns);
  assert_int_equal(path->free_calls, free_calls);
  assert_int_equal(path->freed_bytes, freed_bytes);
  assert_int_equal(path->peak_bytes, peak);
  assert_int_equal(path->allocating, allocating);
  assert_worst(&path->worst[HWI_INSTANCE_DURATION], HWI_INSTANCE_DURATION, durations, count);
  assert_worst(&path->worst[HWI_INSTANCE_PEAK], HWI_INSTANCE_PEAK, peaks, count);
  assert_worst(&path->worst[HWI_INSTANCE_CALLS], HWI_INSTANCE_CALLS, calls, count);
  assert_worst(&path->worst[HWI_INSTANCE_BYTES], HWI_INSTANCE_BYTES, bytes, count);
}

/* Returns the breaches of zones in this path. */
static void sum_breaches(const int *names, int depth, uint64_t sums[STACKS + 1][2])
{
  memset(sums, 0, (STACKS + 1) * sizeof *sums);
  for (int i = 0; i < instance_count; i++) {
    for (int stack = 1; stack <= STACKS && has_path(&instances[i], names, depth); stack++) {
      sums[stack][0] += instances[i].breaches[stack][0];
      sums[stack][1] += instances[i].breaches[stack][1];
    }
  }
}

static void assert_breaches(const struct hwi_scopes *scopes, const struct hwi_scope *paths, uint32_t path_count)
{
  uint32_t count, found = 0;
  uint64_t sums[STACKS + 1][2];
  const struct hwi_breach *breaches = hwi_scopes_breaches(scopes, &count);
  for (uint32_t path = 1; path < path_count; path++) {
    int names[DEEPEST + 1], depth = path_of(scopes, paths, path, names);
    sum_breaches(names, depth, sums);
    for (uint32_t i = 0; i < count; i++) {
      if (breaches[i].scope != path)
        continue;
      assert_int_equal(breaches[i].calls, sums[breaches[i].stack][breaches[i].is_free]);
      found++;
    }
  }
  assert_true(count > 0);
  assert_int_equal(found, count);
  for (uint32_t i = 1; i < count; i++)
    assert_true(breaches[i].first_ns >= breaches[i - 1].first_ns);
}

static void random_scopes_are_those_of_the_model(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = hwi_scopes_create();
  assert_non_null(scopes);
  assert_true(hwi_scopes_know_threads(scopes, THREADS));
  run(scopes);
  uint32_t count;
  const struct hwi_scope *paths = hwi_scopes_paths(scopes, &count);
  assert_int_equal(count, 1 + 3 + 9 + 27 + 81);
  for (uint32_t i = 1; i < count; i++)
    assert_path(scopes, paths, i);
  assert_breaches(scopes, paths, count);
  hwi_scopes_destroy(scopes);
}

static void contexts_of_threads_without_scopes_are_the_threads(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = hwi_scopes_create();
  for (uint32_t i = 0; i < THREADS; i++) {
    assert_true(hwi_scopes_know_threads(scopes, i + 1));
    assert_int_equal(hwi_scopes_context(scopes, i), i);
  }
  const struct hwi_resolved event = {.size = 1, .thread = 1, .entry = HW_SCOPE_BEGIN};
  assert_true(hwi_scopes_take(&scopes, THREADS, &event, 1));
  struct hwi_context context = hwi_scopes_context_at(scopes, hwi_scopes_context(scopes, 1));
  assert_int_equal(context.thread, 1);
  assert_int_equal(context.path, 1);
  assert_int_equal(hwi_scopes_context(scopes, 2), 2);
  hwi_scopes_destroy(scopes);
}

/* An END that names more scopes than are open, as in a forged trace. */
static void too_many_ends_are_ignored(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = hwi_scopes_create();
  struct hwi_resolved event = {.size = UINT64_MAX, .entry = HW_SCOPE_END};
  assert_true(hwi_scopes_take(&scopes, 1, &event, 1));
  event.entry = UINT8_MAX; /* of a later version */
  assert_true(hwi_scopes_take(&scopes, 1, &event, 1));
  uint32_t count;
  hwi_scopes_paths(scopes, &count);
  assert_int_equal(count, 1);
  hwi_scopes_destroy(scopes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_scopes_are_those_of_the_model),
      cmocka_unit_test(contexts_of_threads_without_scopes_are_the_threads),
      cmocka_unit_test(too_many_ends_are_ignored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
