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
  const struct hwi_scope_call made = {ns, bytes, thread, 1 + (uint32_t)ns % STACKS, 0};
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

static const struct hwi_scope *paths_of(struct hwi_scopes *scopes)
{
  uint32_t count;
  return hwi_scopes_paths(scopes, &count);
}

static struct hwi_scopes *begin_with_details(void)
{
  struct hwi_scopes *scopes = hwi_scopes_create();
  assert_non_null(scopes);
  hwi_scopes_want_details(scopes);
  return scopes;
}

static void take(struct hwi_scopes *scopes, uint8_t op, uint64_t ns)
{
  const struct hwi_resolved event = {.size = 1, .entry = op};
  assert_true(hwi_scopes_take(&scopes, 1, &event, ns));
}

static void allocate(struct hwi_scopes *scopes, uint64_t ns, uint64_t bytes)
{
  assert_true(hwi_scopes_alloc(scopes, &(struct hwi_scope_call){.ns = ns, .bytes = bytes, .stack = 1}));
}

static void release(struct hwi_scopes *scopes, uint64_t ns, bool is_known, uint64_t bytes)
{
  assert_true(hwi_scopes_free(scopes, &(struct hwi_scope_call){.ns = ns, .bytes = bytes, .stack = is_known}));
}

static void details_have_the_net_blocks_of_each_size(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = begin_with_details();
  take(scopes, HW_SCOPE_BEGIN, 1);
  allocate(scopes, 2, 16);
  release(scopes, 3, true, 8);
  release(scopes, 3, false, 0); /* of a block that is not known */
  allocate(scopes, 4, 5);
  release(scopes, 5, true, 5);
  allocate(scopes, 6, 16);
  take(scopes, HW_SCOPE_BEGIN, 7);
  allocate(scopes, 8, 1144);
  take(scopes, HW_SCOPE_END, 9);
  take(scopes, HW_SCOPE_END, 10);
  const struct hwi_worst *worst = paths_of(scopes)[1].worst;
  for (int measure = 0; measure < HWI_INSTANCE_MEASURES; measure++) {
    const struct hwi_instance *instance = &worst[measure].items[0];
    assert_int_equal(instance->detail->size_count, 2);
    assert_int_equal(instance->detail->sizes[0].size, 8);
    assert_int_equal(instance->detail->sizes[0].blocks, -1);
    assert_int_equal(instance->detail->sizes[1].size, 16);
    assert_int_equal(instance->detail->sizes[1].blocks, 2);
    assert_int_equal(instance->detail->self_bytes, 24);
    assert_int_equal(instance->net_bytes, 1168);
    assert_false(instance->detail->has_others);
  }
  hwi_scopes_destroy(scopes);
}

static void too_many_sizes_are_added_up(void **state)
{
  (void)state;
  enum { SIZES = 10000 };
  struct hwi_scopes *scopes = begin_with_details();
  take(scopes, HW_SCOPE_BEGIN, 1);
  for (uint64_t size = 1; size <= SIZES; size++)
    allocate(scopes, 2, size * 7919 % (SIZES + 1)); /* each size once, in no order */
  take(scopes, HW_SCOPE_END, 3);
  const struct hwi_instance_detail *detail = paths_of(scopes)[1].worst[HWI_INSTANCE_PEAK].items[0].detail;
  int64_t blocks = detail->other_blocks, bytes = detail->other_bytes;
  assert_int_equal(detail->size_count, HWI_INSTANCE_SIZES_MAX);
  assert_true(detail->has_others);
  for (uint32_t i = 0; i < detail->size_count; i++) {
    assert_true(i == 0 || detail->sizes[i].size > detail->sizes[i - 1].size);
    blocks += detail->sizes[i].blocks;
    bytes += (int64_t)detail->sizes[i].size * detail->sizes[i].blocks;
  }
  assert_int_equal(blocks, SIZES);
  assert_int_equal(bytes, SIZES * (SIZES + 1) / 2);
  assert_int_equal(detail->self_bytes, bytes);
  hwi_scopes_destroy(scopes);
}

/* Breaks under the address sanitizer if an instance that leaves a list of the worst takes its detail with it while
 * another list still has it, or nobody frees it. */
static void details_live_as_long_as_their_instances_are_listed(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = begin_with_details();
  for (uint64_t i = 0, ns = 0; i < 5000; i++) {
    take(scopes, HW_SCOPE_BEGIN, ns);
    for (uint32_t calls = below(20); calls > 0; calls--)
      allocate(scopes, ns, 1 + below(3000 / (calls + 1)));
    if (i == 2500)
      hwi_scopes_restart(scopes);
    take(scopes, HW_SCOPE_END, ns += below(100));
  }
  take(scopes, HW_SCOPE_BEGIN, 1000000); /* stays open */
  const struct hwi_worst *worst = paths_of(scopes)[1].worst;
  for (int measure = 0; measure < HWI_INSTANCE_MEASURES; measure++)
    for (uint32_t i = 0; i < worst[measure].count; i++)
      assert_int_equal(worst[measure].items[i].detail->self_bytes, worst[measure].items[i].net_bytes);
  hwi_scopes_destroy(scopes);
}

static void the_first_quiet_instance_is_known(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = hwi_scopes_create();
  for (uint64_t i = 0; i < 10; i++) {
    take(scopes, HW_SCOPE_BEGIN, i);
    if (i < 3 || i == 7)
      allocate(scopes, i, 1);
    take(scopes, HW_SCOPE_END, i);
  }
  const struct hwi_scope *path = &paths_of(scopes)[1];
  assert_int_equal(path->first_quiet, 4);
  assert_int_equal(path->last_allocating, 8);
  assert_null(path->worst[HWI_INSTANCE_CALLS].items[0].detail); /* was not asked for */
  hwi_scopes_destroy(scopes);
}

static void note(struct hwi_scopes *scopes, uint32_t thread, enum hw_scope_op op, uint64_t size, uint64_t value)
{
  const struct hwi_resolved event = {.size = size, .usable = value, .thread = thread, .entry = (uint8_t)op};
  assert_true(hwi_scopes_take(&scopes, THREADS, &event, 1));
}

/* A zone around a task is one of the thread: what it does in the task is a breach, what another thread does there is
 * none. */
static void a_zone_of_a_thread_applies_in_its_tasks(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = hwi_scopes_create();
  const struct hwi_scope_call in_first = {2, 10, 0, 1, 0}, in_second = {3, 20, 1, 2, 0};
  uint32_t count;
  assert_true(hwi_scopes_know_threads(scopes, THREADS));
  note(scopes, 0, HW_SCOPE_TASK, 1, 77);
  note(scopes, 0, HW_SCOPE_BEGIN, 2, 0);
  note(scopes, 0, HW_SCOPE_BEGIN_FORBIDDEN, 3, 0);
  note(scopes, 0, HW_SCOPE_ENTER, 77, 0);
  assert_true(hwi_scopes_alloc(scopes, &in_first));
  note(scopes, 0, HW_SCOPE_BEGIN, 4, 0);
  assert_true(hwi_scopes_alloc(scopes, &in_first));
  note(scopes, 0, HW_SCOPE_LEAVE, 77, 0);
  note(scopes, 1, HW_SCOPE_ENTER, 77, 0);
  assert_true(hwi_scopes_alloc(scopes, &in_second));
  const struct hwi_breach *breaches = hwi_scopes_breaches(scopes, &count);
  assert_int_equal(count, 1);
  assert_int_equal(breaches[0].calls, 2);
  assert_int_equal(hwi_scopes_name(scopes, breaches[0].scope), 3);
  hwi_scopes_destroy(scopes);
}

/* A zone that is open in a task is one in every thread that is inside, and in no other. */
static void a_zone_moves_with_its_task(void **state)
{
  (void)state;
  struct hwi_scopes *scopes = hwi_scopes_create();
  const struct hwi_scope_call in_first = {2, 10, 0, 1, 0}, in_second = {3, 20, 1, 2, 0};
  uint32_t count;
  assert_true(hwi_scopes_know_threads(scopes, THREADS));
  note(scopes, 0, HW_SCOPE_TASK, 1, 77);
  note(scopes, 0, HW_SCOPE_BEGIN, 2, 0);
  note(scopes, 0, HW_SCOPE_ENTER, 77, 0);
  note(scopes, 0, HW_SCOPE_BEGIN_FORBIDDEN, 3, 0);
  note(scopes, 0, HW_SCOPE_LEAVE, 77, 0);
  assert_true(hwi_scopes_alloc(scopes, &in_first));
  hwi_scopes_breaches(scopes, &count);
  assert_int_equal(count, 0);
  note(scopes, 1, HW_SCOPE_BEGIN, 2, 0);
  note(scopes, 1, HW_SCOPE_BEGIN, 2, 0);
  note(scopes, 1, HW_SCOPE_ENTER, 77, 0);
  assert_true(hwi_scopes_alloc(scopes, &in_second));
  const struct hwi_breach *breaches = hwi_scopes_breaches(scopes, &count);
  assert_int_equal(count, 1);
  assert_int_equal(breaches[0].stack, 2);
  hwi_scopes_destroy(scopes);
}

/* As in a forged trace. Nothing is lost or counted twice, and sanitizers find nothing. */
static void tasks_in_no_order_are_harmless(void **state)
{
  (void)state;
  enum { ROUNDS = 100000, MOST_TASKS = 5, IMAGE = 0 };
  struct hwi_scopes *scopes = hwi_scopes_create();
  assert_true(hwi_scopes_know_threads(scopes, THREADS));
  static const enum hw_scope_op ops[] = {HW_SCOPE_TASK,  HW_SCOPE_ENTER,           HW_SCOPE_LEAVE, HW_SCOPE_FINISH,
                                         HW_SCOPE_BEGIN, HW_SCOPE_BEGIN_FORBIDDEN, HW_SCOPE_END};
  for (int i = 0; i < ROUNDS; i++) {
    enum hw_scope_op op = ops[below(sizeof ops / sizeof *ops)];
    uint64_t task = 1 + below(MOST_TASKS);
    bool names_task = op == HW_SCOPE_ENTER || op == HW_SCOPE_LEAVE || op == HW_SCOPE_FINISH;
    note(scopes, below(THREADS), op, names_task ? task : 1, task);
    allocate(scopes, 1, 8);
  }
  for (uint32_t thread = 0; thread < THREADS; thread++)
    assert_true(hwi_scopes_end_thread(scopes, thread));
  assert_true(hwi_scopes_end_tasks(scopes, IMAGE));
  for (uint32_t thread = 0; thread < THREADS; thread++)
    assert_int_equal(hwi_scopes_depth(scopes, thread), 0);
  hwi_scopes_destroy(scopes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_scopes_are_those_of_the_model),
      cmocka_unit_test(contexts_of_threads_without_scopes_are_the_threads),
      cmocka_unit_test(too_many_ends_are_ignored),
      cmocka_unit_test(a_zone_moves_with_its_task),
      cmocka_unit_test(a_zone_of_a_thread_applies_in_its_tasks),
      cmocka_unit_test(tasks_in_no_order_are_harmless),
      cmocka_unit_test(details_have_the_net_blocks_of_each_size),
      cmocka_unit_test(too_many_sizes_are_added_up),
      cmocka_unit_test(details_live_as_long_as_their_instances_are_listed),
      cmocka_unit_test(the_first_quiet_instance_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
