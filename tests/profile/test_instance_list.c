/* test_instance_list.c - the instances of scopes that a page lists: their figures, their order, and which ones are kept
 *
 * Breaks if an instance gets the calls of another one; if those of a thread do not nest; or if a list that is full
 * loses the longest instances or those that allocated most, or mixes up their sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/counters/instance_list.h"

enum { OUTER = 1, INNER, TASK, PATHS, MANY = 1000, MOST = 20 };

/* What follows the events of the paths "outer", "outer > inner" and "task". */
struct followed {
  struct hwi_instance_list instances;
};

static void begin_following(struct followed *followed, uint32_t most)
{
  *followed = (struct followed){.instances.most = most};
}

static void end_following(struct followed *followed)
{
  hwi_instance_list_release(&followed->instances);
}

static void begin(struct followed *followed, uint32_t thread, uint32_t path, uint64_t ns)
{
  const struct hwi_scope_event event = {
      .ns = ns, .path = path, .outer = path == INNER ? OUTER : 0, .thread = thread, .op = HW_SCOPE_BEGIN};
  assert_true(hwi_instance_list_take(&followed->instances, &event));
}

static void end(struct followed *followed, uint32_t thread, uint32_t count, uint64_t ns)
{
  const struct hwi_scope_event event = {.ns = ns, .ended = count, .thread = thread, .op = HW_SCOPE_END};
  assert_true(hwi_instance_list_take(&followed->instances, &event));
}

static void call(struct followed *followed, uint32_t thread, uint8_t kind, uint64_t size)
{
  const struct hwi_block_event event = {.kind = kind, .size = size, .thread = thread, .weight = 1};
  hwi_instance_list_count(&followed->instances, &event);
}

static void test_the_figures_of_nested_instances(void **state)
{
  (void)state;
  struct followed followed;
  begin_following(&followed, MOST);
  call(&followed, 0, HWI_BLOCK_ALLOC, 7); /* in no scope */
  begin(&followed, 0, OUTER, 10);
  call(&followed, 0, HWI_BLOCK_FREE, 8);
  call(&followed, 0, HWI_BLOCK_ALLOC, 16);
  call(&followed, 0, HWI_BLOCK_ALLOC, 16);
  begin(&followed, 1, OUTER, 11);
  begin(&followed, 0, INNER, 12);
  call(&followed, 0, HWI_BLOCK_ALLOC, 1144);
  call(&followed, 1, HWI_BLOCK_ALLOC, 5);
  call(&followed, 0, HWI_BLOCK_FREE_UNKNOWN, 0);
  end(&followed, 0, 2, 20); /* the inner one was left */
  assert_true(hwi_instance_list_end(&followed.instances, 30));

  const struct hwi_listed_instance *items = followed.instances.items;
  assert_int_equal(followed.instances.count, 3);
  assert_int_equal(followed.instances.recorded, 3);
  const struct hwi_listed_instance *outer = &items[0], *inner = &items[1], *other = &items[2];
  assert_int_equal(outer->path, OUTER);
  assert_int_equal(outer->begin_ns, 10);
  assert_int_equal(outer->duration_ns, 10);
  assert_int_equal(outer->calls, 3);
  assert_int_equal(outer->free_calls, 2);
  assert_int_equal(outer->bytes, 1176);
  assert_int_equal(outer->net_bytes, 1168);
  assert_int_equal(outer->most_net_bytes, 1168);
  assert_int_equal(outer->inside_bytes, 1144);
  assert_int_equal(outer->size_count, 2);
  const struct hwi_size_count *sizes = followed.instances.sizes + outer->first_size;
  assert_int_equal(sizes[0].size, 8);
  assert_int_equal(sizes[0].blocks, -1);
  assert_int_equal(sizes[1].size, 16);
  assert_int_equal(sizes[1].blocks, 2);
  assert_false(outer->has_other_sizes);
  assert_int_equal(inner->path, INNER);
  assert_int_equal(inner->calls, 1);
  assert_int_equal(inner->size_count, 1);
  assert_int_equal(other->thread, 1);
  assert_int_equal(other->duration_ns, 19); /* until the end of the run */
  assert_int_equal(other->bytes, 5);
  assert_int_equal(other->sequence, 2);
  end_following(&followed);
}

static void test_more_sizes_than_are_listed(void **state)
{
  (void)state;
  struct followed followed;
  begin_following(&followed, MOST);
  begin(&followed, 0, OUTER, 1);
  for (uint64_t size = HWI_LISTED_SIZES + 1; size > 0; size--)
    call(&followed, 0, HWI_BLOCK_ALLOC, size);
  call(&followed, 0, HWI_BLOCK_FREE, 2);
  end(&followed, 0, 1, 2);
  assert_true(hwi_instance_list_end(&followed.instances, 3));
  const struct hwi_listed_instance *item = followed.instances.items;
  assert_true(item->has_other_sizes);
  assert_int_equal(item->size_count, HWI_LISTED_SIZES - 1); /* as many of 2 bytes were freed as allocated */
  for (int i = 0; i < item->size_count; i++)
    assert_int_equal(followed.instances.sizes[i].size, i + 3);
  end_following(&followed);
}

/* Of MANY instances, each 100th is long, and the one after it allocates. */
static void test_the_longest_and_the_most_allocating_are_kept(void **state)
{
  (void)state;
  struct followed followed;
  begin_following(&followed, MOST);
  for (uint64_t i = 0; i < MANY; i++) {
    begin(&followed, 0, OUTER, 1000 * i);
    if (i % 100 == 1) {
      call(&followed, 0, HWI_BLOCK_ALLOC, 40);
      call(&followed, 0, HWI_BLOCK_ALLOC, i);
    }
    end(&followed, 0, 1, 1000 * i + (i % 100 == 0 ? 900 : 5));
  }
  assert_true(hwi_instance_list_end(&followed.instances, 1000 * MANY));
  assert_int_equal(followed.instances.recorded, MANY);
  assert_int_equal(followed.instances.count, MOST);
  for (uint64_t i = 0; i < MOST; i++) {
    const struct hwi_listed_instance *item = &followed.instances.items[i];
    const uint64_t number = i / 2 * 100 + i % 2;
    assert_int_equal(item->begin_ns, 1000 * number);
    assert_int_equal(item->sequence, number + 1);
    assert_int_equal(item->duration_ns, i % 2 ? 5 : 900);
    assert_int_equal(item->size_count, i % 2 ? 2 : 0);
    if (i % 2)
      assert_int_equal(followed.instances.sizes[item->first_size + (number > 40)].size, number);
  }
  end_following(&followed);
}

/* The second list has no row for one of the paths. */
static void test_a_list_is_added_to_another_one(void **state)
{
  (void)state;
  static const uint32_t row_of[PATHS] = {[INNER] = 1};
  struct followed followed;
  struct hwi_instance_list sum = {.most = MOST, .row_of = row_of};
  begin_following(&followed, MOST);
  begin(&followed, 0, OUTER, 1);
  call(&followed, 0, HWI_BLOCK_ALLOC, 8);
  begin(&followed, 0, INNER, 2);
  call(&followed, 0, HWI_BLOCK_ALLOC, 16);
  end(&followed, 0, 2, 3);
  assert_true(hwi_instance_list_end(&followed.instances, 3));
  assert_true(hwi_instance_list_add_all(&sum, &followed.instances));
  assert_int_equal(sum.recorded, 2);
  assert_int_equal(sum.count, 1);
  assert_int_equal(sum.items[0].path, INNER);
  assert_int_equal(sum.sizes[sum.items[0].first_size].size, 16);
  hwi_instance_list_release(&sum);
  end_following(&followed);
}

/* Of a run that is followed. */
static void test_the_latest_are_kept_too(void **state)
{
  (void)state;
  struct followed followed;
  begin_following(&followed, MOST);
  followed.instances.is_of_present = true;
  for (uint64_t i = 0; i < MANY; i++) {
    begin(&followed, 0, OUTER, 1000 * i);
    if (i % 100 == 1)
      call(&followed, 0, HWI_BLOCK_ALLOC, 40 + i);
    end(&followed, 0, 1, 1000 * i + (i % 100 == 0 ? 900 : 5));
  }
  assert_true(hwi_instance_list_end(&followed.instances, 1000 * MANY));
  assert_int_equal(followed.instances.count, MOST);
  for (uint64_t i = 0; i < MOST / 2; i++)
    assert_int_equal(followed.instances.items[MOST / 2 + i].begin_ns, 1000 * (MANY - MOST / 2 + i));
  uint64_t long_ones = 0, allocating = 0;
  for (uint64_t i = 0; i < MOST / 2; i++) {
    long_ones += followed.instances.items[i].duration_ns == 900;
    allocating += followed.instances.items[i].calls;
  }
  assert_int_equal(long_ones, MOST / 4);
  assert_int_equal(allocating, MOST / 4);
  end_following(&followed);
}

/* A task that a thread enters again goes on: it is no further instance of its path. */
static void test_parts_of_a_task_have_no_number(void **state)
{
  (void)state;
  struct followed followed;
  begin_following(&followed, MOST);
  for (uint32_t i = 0; i < 3; i++) {
    const struct hwi_scope_event event = {.ns = i, .path = OUTER, .op = HW_SCOPE_BEGIN, .is_stay = i < 2};
    assert_true(hwi_instance_list_take(&followed.instances, &event));
    end(&followed, 0, 1, i);
  }
  assert_true(hwi_instance_list_end(&followed.instances, 3));
  assert_int_equal(followed.instances.items[0].sequence, 0);
  assert_int_equal(followed.instances.items[1].sequence, 0);
  assert_int_equal(followed.instances.items[2].sequence, 1);
  end_following(&followed);
}

/* A thread that is in a scope enters a task. */
static void test_a_task_is_not_inside_the_scope_around(void **state)
{
  (void)state;
  struct followed followed;
  begin_following(&followed, MOST);
  begin(&followed, 0, OUTER, 1);
  const struct hwi_scope_event enters = {.ns = 2, .path = TASK, .op = HW_SCOPE_ENTER};
  assert_true(hwi_instance_list_take(&followed.instances, &enters));
  call(&followed, 0, HWI_BLOCK_ALLOC, 100);
  end(&followed, 0, 1, 3);
  call(&followed, 0, HWI_BLOCK_ALLOC, 7);
  end(&followed, 0, 1, 4);
  assert_true(hwi_instance_list_end(&followed.instances, 5));
  const struct hwi_listed_instance *outer = &followed.instances.items[0], *task = &followed.instances.items[1];
  assert_int_equal(outer->calls, 1);
  assert_int_equal(outer->most_net_bytes, 7);
  assert_int_equal(outer->inside_bytes, 0);
  assert_int_equal(task->bytes, 100);
  end_following(&followed);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_figures_of_nested_instances),
      cmocka_unit_test(test_more_sizes_than_are_listed),
      cmocka_unit_test(test_the_longest_and_the_most_allocating_are_kept),
      cmocka_unit_test(test_the_latest_are_kept_too),
      cmocka_unit_test(test_a_list_is_added_to_another_one),
      cmocka_unit_test(test_parts_of_a_task_have_no_number),
      cmocka_unit_test(test_a_task_is_not_inside_the_scope_around),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
