/* test_no_memory.c - a replay that runs out of memory reports it, whichever call of malloc fails
 *
 * Breaks if stacks are called unknown because their definitions, which come later in the file, could not be read.
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
#include "profile/profile.h"

enum { CALLS_MOST = 2000, MORE_THAN_A_BATCH = 1500 };

static char path[64];

/* Events of one stream name a node and a heap's name that another stream defines, so much later that a replay must read
 * ahead. Two heaps have blocks at the same addresses. */
static void make_trace(void)
{
  static struct enc enc;
  const uint64_t start = 1000000;
  enc_init(&enc, 1);
  enc_chunk(&enc, 0, 0, 0, start);
  for (uint64_t i = 0; i < MORE_THAN_A_BATCH; i++) {
    const uint32_t heap = 1 + i % 2;
    enc_alloc(&enc, 0, start + i, 2, 100, 0x10000 + 0x100 * i);
    enc_heap(&enc, 0, start + i, &(struct enc_heap_event){HW_HEAP_ALLOC, heap, 1, 2, 10, 0x10000 + 0x100 * (i / 2)});
  }
  enc_chunk(&enc, 1, 0, 1, start + MORE_THAN_A_BATCH);
  enc_alloc(&enc, 1, start + MORE_THAN_A_BATCH, 2, 10, 0x20);
  enc_heap(&enc, 1, start + MORE_THAN_A_BATCH, &(struct enc_heap_event){HW_HEAP_RESET, 1, 1, 0, 0, 0});
  enc_main(&enc, 1);
  enc_name(&enc, 1, 1, "arena");
  enc_write(&enc, path);
  enc_release(&enc);
}

static const char *heap; /* that the profile is about; NULL: malloc */

/* Returns whether all calls succeeded. */
static bool replay(uint64_t calls, uint64_t failures, bool *has_failed)
{
  const struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST, .heap = heap};
  struct hwi_profile *profile;
  struct hwi_error error = {0};
  failing_malloc_arm(calls, failures);
  int status = hwi_profile_create(&profile, path, &options, &error);
  *has_failed = failing_malloc_disarm();
  assert_true(status == 0 || failing_malloc_leaks() == 0);
  if (status < 0) {
    assert_int_equal(status, HW_ERR_MEMORY);
    assert_non_null(strstr(error.text, "memory"));
    return false;
  }
  assert_int_equal(profile->totals.allocation_calls, MORE_THAN_A_BATCH + !heap);
  assert_int_equal(profile->heap_count, !heap);
  assert_int_equal(profile->stack_count, 1 + 1); /* and no unknown one */
  hwi_profile_destroy(profile);
  return true;
}

static void every_call_may_fail(void **state)
{
  bool has_failed = true;
  uint64_t calls = 0;
  heap = *state;
  snprintf(path, sizeof path, "/tmp/hw-test-replay-no-memory-%d.hwt", (int)getpid());
  make_trace();
  assert_true(replay(0, 0, &has_failed));
  has_failed = true;
  for (; has_failed && calls < CALLS_MOST; calls++) {
    replay(calls, 1, &has_failed);
    if (has_failed)
      replay(calls, UINT64_MAX, &has_failed);
  }
  assert_false(has_failed);
  assert_true(calls > 20);
  unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_may_fail),
                                     cmocka_unit_test_prestate(every_call_may_fail, "arena")};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
