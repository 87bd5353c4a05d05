/* test_open_scopes.c - what was done in the scopes that threads are in: by thread, by size, and in the scopes inside
 *
 * Breaks if a block counts for a scope that its thread is not in, or if bytes of scopes inside are lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "export/open_scopes.h"

static struct hwi_open_scopes scopes;

static void begin(uint32_t thread, uint32_t path)
{
  const struct hwi_scope_event event = {.thread = thread, .path = path};
  assert_true(hwi_open_scopes_begin(&scopes, &event, false));
}

static void count(uint32_t thread, enum hwi_block_event_kind kind, uint64_t size)
{
  const struct hwi_block_event event = {.thread = thread, .owner = 0, .kind = (uint8_t)kind, .size = size, .weight = 1};
  assert_true(hwi_open_scopes_count(&scopes, &event));
}

static int64_t blocks_of(const struct hwi_open_scope *scope, uint64_t size)
{
  uint32_t number = hwi_numbering_find(&scope->sizes.sizes, size, 0);
  return number ? scope->sizes.blocks[number] : 0;
}

static void end(uint32_t thread, uint32_t path, int64_t self_bytes, int64_t inside_bytes)
{
  struct hwi_open_scope ended;
  assert_true(hwi_open_scopes_end(&scopes, thread, &ended));
  assert_int_equal(ended.path, path);
  assert_int_equal(ended.self_bytes, self_bytes);
  assert_int_equal(ended.inside_bytes, inside_bytes);
  hwi_open_scope_release(&ended);
}

static void test_blocks_count_for_the_innermost_scope_of_their_thread(void **state)
{
  (void)state;
  count(7, HWI_BLOCK_ALLOC, 1); /* in no scope */
  begin(7, 1);
  count(7, HWI_BLOCK_FREE, 8);
  count(7, HWI_BLOCK_ALLOC, 16);
  begin(7, 2);
  begin(3, 9);
  count(3, HWI_BLOCK_ALLOC, 1000);
  count(7, HWI_BLOCK_ALLOC, 1144);
  count(7, HWI_BLOCK_FAILED, 5);
  count(7, HWI_BLOCK_FREE_MISSED, 5); /* the thread did not free it */
  end(7, 2, 1144, 0);
  count(7, HWI_BLOCK_ALLOC, 16);
  const struct hwi_open_scope *outer = &scopes.threads[7].items[0];
  assert_int_equal(blocks_of(outer, 8), -1);
  assert_int_equal(blocks_of(outer, 16), 2);
  assert_int_equal(blocks_of(outer, 1144), 0);
  end(7, 1, 24, 1144);
  end(3, 9, 1000, 0);
  struct hwi_open_scope none;
  assert_false(hwi_open_scopes_end(&scopes, 7, &none) || hwi_open_scopes_end(&scopes, 99, &none));
  hwi_open_scopes_release(&scopes);
}

static void test_counting_restarts_in_open_scopes(void **state)
{
  (void)state;
  begin(0, 1);
  begin(0, 2);
  count(0, HWI_BLOCK_ALLOC, 100);
  end(0, 2, 100, 0);
  count(0, HWI_BLOCK_ALLOC, 10);
  hwi_open_scopes_restart(&scopes);
  count(0, HWI_BLOCK_FREE, 10);
  assert_int_equal(blocks_of(&scopes.threads[0].items[0], 10), -1);
  end(0, 1, -10, 0);
  begin(0, 3); /* released with all others */
  count(0, HWI_BLOCK_ALLOC, 10);
  hwi_open_scopes_release(&scopes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_count_for_the_innermost_scope_of_their_thread),
      cmocka_unit_test(test_counting_restarts_in_open_scopes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
