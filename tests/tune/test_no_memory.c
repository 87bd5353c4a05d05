/* test_no_memory.c - if a pool's size or size classes cannot be found because memory runs out, that is an error, whichever
 * call of malloc fails
 *
 * Breaks if a size is too small, because blocks were left out of the replay, or classes are those of a part of the blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "../trace/failing_malloc.h"
#include "tune/classes/classes.h"
#include "tune/tune.h"

enum { CALLS_MOST = 5000, BLOCKS = 3000, BYTES = 100, LARGE_BYTES = 100000, ALIGN_LOG2 = 8, APART = 0x1000 };

static const struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST};
static char path[64];

static void make_trace(void)
{
  static struct enc enc;
  uint64_t tick = 1000000;
  enc_init(&enc, 1);
  enc_chunk(&enc, 0, 0, 1, tick);
  for (uint64_t i = 1; i <= BLOCKS; i++)
    enc_alloc(&enc, 0, tick++, 0, BYTES, i * APART);
  for (uint64_t i = 1; i <= BLOCKS; i += 2)
    enc_free(&enc, 0, tick++, i * APART);
  enc_realloc(&enc, 0, tick++, 0, 0, 2 * APART, LARGE_BYTES, APART);
  enc_aligned(&enc, 0, tick++, 0, BYTES, ALIGN_LOG2, 3 * APART);
  enc_write(&enc, path);
  enc_release(&enc);
}

static int replay(void *unused, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  (void)unused;
  return hwi_profile_events(path, &options, sink, error);
}

/* Returns 0 if the size was not found. */
static uint64_t size_pool(const struct hwi_profile *profile, uint64_t calls, uint64_t failures, bool *has_failed)
{
  const struct hwi_tune_question question = {.profile = profile, .replayer = {replay, NULL}};
  struct hwi_error error = {0};
  struct hwi_tune tune;
  failing_malloc_arm(calls, failures);
  int status = hwi_tune_init(&tune, &question, &error);
  *has_failed = failing_malloc_disarm();
  if (status < 0) {
    assert_int_equal(failing_malloc_leaks(), 0);
    assert_int_equal(status, HW_ERR_MEMORY);
    assert_non_null(strstr(error.text, "memory"));
    return 0;
  }
  uint64_t bytes = tune.processes[0].pool_bytes;
  hwi_tune_release(&tune);
  return bytes;
}

static void every_call_may_fail(void **state)
{
  struct hwi_profile *profile;
  struct hwi_error error = {0};
  bool has_failed = true;
  uint64_t calls = 0, found = 0;
  (void)state;
  snprintf(path, sizeof path, "/tmp/hw-test-tune-no-memory-%d.hwt", (int)getpid());
  make_trace();
  assert_int_equal(hwi_profile_create(&profile, path, &options, &error), 0);
  uint64_t bytes = size_pool(profile, UINT64_MAX, 0, &has_failed);
  assert_false(has_failed);
  assert_true(bytes > BLOCKS * BYTES);
  for (has_failed = true; has_failed && calls < CALLS_MOST; calls++) {
    found = size_pool(profile, calls, 1, &has_failed);
    assert_true(!found || found == bytes);
    if (has_failed) {
      const uint64_t with_none = size_pool(profile, calls, UINT64_MAX, &has_failed);
      assert_true(!with_none || with_none == bytes); /* qsort does not need the memory that it requests last */
    }
  }
  assert_false(has_failed);
  assert_int_equal(found, bytes);
  assert_true(calls > 20);
  hwi_profile_destroy(profile);
  unlink(path);
}

/* Returns the cost of the classes; 0 if they were not found. */
static double find_classes(const struct hwi_profile *profile, uint64_t calls, uint64_t failures, bool *has_failed)
{
  const struct hwi_replayer replayer = {replay, NULL};
  struct hwi_error error = {0};
  struct hwi_classes classes;
  failing_malloc_arm(calls, failures);
  int status = hwi_classes_init(&classes, profile, HWI_CLASSES_CHOSEN, &replayer, &error);
  *has_failed = failing_malloc_disarm();
  if (status < 0) {
    assert_int_equal(failing_malloc_leaks(), 0);
    assert_int_equal(status, HW_ERR_MEMORY);
    assert_non_null(strstr(error.text, "memory"));
    return 0;
  }
  double cost = hwi_class_peak_bytes(&classes.needs.costs[HWI_CLASSES_TUNED]);
  hwi_classes_release(&classes);
  return cost;
}

static void every_call_may_fail_for_classes(void **state)
{
  struct hwi_profile *profile;
  struct hwi_error error = {0};
  bool has_failed = true;
  uint64_t calls = 0;
  double found = 0;
  (void)state;
  snprintf(path, sizeof path, "/tmp/hw-test-tune-no-memory-%d.hwt", (int)getpid());
  make_trace();
  assert_int_equal(hwi_profile_create(&profile, path, &options, &error), 0);
  const double cost = find_classes(profile, UINT64_MAX, 0, &has_failed);
  assert_true(cost > BLOCKS * BYTES && !has_failed);
  for (has_failed = true; has_failed && calls < CALLS_MOST; calls++) {
    found = find_classes(profile, calls, 1, &has_failed);
    assert_true(found == 0 || found == cost);
  }
  assert_false(has_failed);
  assert_true(found == cost && calls > 20);
  hwi_profile_destroy(profile);
  unlink(path);
}

static void nothing_is_inherited_by_halves(void **state)
{
  struct hwi_pool_replay parent, child;
  bool has_failed = true, is_done = false;
  (void)state;
  assert_true(hwi_pool_replay_init(&parent, 1 << 20));
  for (uint64_t i = 1; i <= BLOCKS; i++)
    assert_true(hwi_pool_replay_alloc(
        &parent, &(struct hwi_block_event){.kind = HWI_BLOCK_ALLOC, .address = i * APART, .size = BYTES}, 0));
  for (uint64_t calls = 0; has_failed && calls < CALLS_MOST; calls++) {
    assert_true(hwi_pool_replay_init(&child, 1 << 20));
    failing_malloc_arm(calls, 1);
    is_done = hwi_pool_replay_inherit(&child, &parent);
    has_failed = failing_malloc_disarm();
    assert_true(is_done || has_failed); /* qsort does without the memory that it requests */
    assert_true(!is_done || child.used_bytes == parent.used_bytes);
    hwi_pool_replay_release(&child);
  }
  assert_true(is_done);
  hwi_pool_replay_release(&parent);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_may_fail),
                                     cmocka_unit_test(every_call_may_fail_for_classes),
                                     cmocka_unit_test(nothing_is_inherited_by_halves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
