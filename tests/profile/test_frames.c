/* test_frames.c - a frame has one ID, however many other frames its caller calls
 *
 * Breaks if the first callee of a caller, which is found there, is taken for another one; if other callees, which are
 * found by their hashes, are taken for new ones; the same for frames without a caller; or if frames that differ in only
 * one property are merged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/blocks/frames.h"

enum { CALLERS = 300, CALLEES = 7 };

static struct hwi_frame frame_of(uint32_t caller, uint32_t i)
{
  return (struct hwi_frame){.address = i / 2, .caller = caller, .entry = i % 2};
}

static void test_tree(void **state)
{
  (void)state;
  struct hwi_frames frames;
  assert_true(hwi_frames_init(&frames));
  for (int round = 0; round < 2; round++) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < CALLERS; i++) {
      const struct hwi_frame outermost = frame_of(0, i);
      const uint32_t caller = hwi_frames_intern(&frames, &outermost);
      assert_int_equal(caller, ++expected);
      for (uint32_t c = 0; c < CALLEES; c++) {
        const struct hwi_frame callee = frame_of(caller, c);
        assert_int_equal(hwi_frames_intern(&frames, &callee), ++expected);
        assert_int_equal(frames.frames[expected].caller, caller);
      }
    }
    assert_int_equal(frames.count, expected + 1);
  }
  const struct hwi_frame cut = {.caller = 1, .cut = true};
  const size_t count = frames.count;
  assert_int_equal(hwi_frames_intern(&frames, &cut), count);
  assert_true(frames.frames[count].cut);
  hwi_frames_release(&frames);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
