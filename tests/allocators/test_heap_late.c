/* test_heap_late.c - calls on a heap that was destroyed, and threads that use several heaps in turn
 *
 * Breaks if a late call writes to memory, which may be another heap's by then, if a thread takes its state in one heap for
 * that in another, or if that state is lost when the thread ends.
 */
#include "new_heap.h"

#include <pthread.h>
#include <stdio.h>

/* --- late calls --- */

enum { REMEMBERED = 4096, AT_A_TIME = 16 };

static void count_fault(void *context, struct hw_heap *heap, enum hw_heap_fault fault, void *address)
{
  (void)heap, (void)fault, (void)address;
  ++*(int *)context;
}

static bool visit(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  ++*(int *)context;
  return true;
}

static void expect_no_table(struct hw_heap *heap)
{
  char text[100] = {0};
  FILE *file = tmpfile();
  assert_non_null(file);
  hw_heap_print_stats(heap, fileno(file));
  rewind(file);
  assert_non_null(fgets(text, sizeof text, file));
  fclose(file);
  assert_string_equal(text, "heapwright: the heap was destroyed\n");
}

static void expect_destroyed(struct hw_heap *heap, void *block)
{
  int visited = 0;
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_DESTROYED);
  assert_int_equal(hw_heap_usable_bytes(heap, block), 0);
  assert_false(hw_heap_resize_in_place(heap, block, 10));
  assert_int_equal(hw_heap_good_bytes(heap, 10), 10);
  assert_null(hw_heap_realloc(heap, block, 10));
  assert_null(hw_heap_realloc(heap, block, 10 * MIB));
  assert_null(hw_heap_alloc(heap, 10));
  assert_null(hw_heap_alloc(heap, 10 * MIB));
  assert_null(hw_heap_alloc_zeroed(heap, 10));
  assert_null(hw_heap_alloc_aligned(heap, 64, 10));
  hw_heap_collect(heap);
  assert_int_equal(stats_of(heap).mapped_bytes, 0);
  hw_heap_walk(heap, visit, &visited);
  assert_int_equal(visited, 0);
  void *where = heap;
  assert_int_equal(hw_heap_check(heap, &where), HW_HEAP_DESTROYED);
  assert_null(where);
  assert_false(hw_heap_destroy(heap));
}

static const size_t sizes[] = {1, 1000, LARGEST, 100000, 3 * MIB};

enum { SIZES = sizeof sizes / sizeof *sizes };

static void fill(struct hw_heap *heap, unsigned char **blocks, unsigned char with)
{
  for (size_t i = 0; i < SIZES; i++) {
    assert_non_null(blocks[i] = hw_heap_alloc(heap, sizes[i]));
    memset(blocks[i], with, sizes[i]);
  }
}

static void expect_whole(unsigned char **blocks, unsigned char with)
{
  for (size_t i = 0; i < SIZES; i++)
    for (size_t k = 0; k < sizes[i]; k++)
      assert_int_equal(blocks[i][k], with);
}

/* Another heap has the memory meanwhile, and the thread has used that one last. */
static void a_late_call_is_found_and_writes_nothing(void **state)
{
  (void)state;
  int faults = 0;
  const struct hw_heap_config config = {.on_fault = count_fault, .fault_context = &faults};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  unsigned char *late[SIZES], *blocks[SIZES];
  fill(heap, late, 1);
  assert_true(hw_heap_destroy(heap));
  expect_destroyed(heap, late[0]);
  expect_no_table(heap);
  struct hw_heap *other = new_heap();
  fill(other, blocks, 2);
  assert_ptr_equal(blocks[1], late[1]); /* else this test shows little */
  for (size_t i = 0; i < SIZES; i++) {
    expect_destroyed(heap, late[i]);
    expect_destroyed(heap, blocks[i]);
  }
  assert_int_equal(faults, 0);
  expect_whole(blocks, 2);
  expect_right(other);
  assert_true(hw_heap_destroy(other));
  assert_true(strlen(hw_heap_fault_text(HW_HEAP_DESTROYED)) > 0);
}

static void begin_and_destroy(struct hw_heap **made, int count)
{
  for (int i = 0; i < count; i++) {
    made[i] = new_heap();
    assert_non_null(hw_heap_alloc(made[i], 100));
  }
  for (int i = 0; i < count; i++)
    assert_true(hw_heap_destroy(made[i]));
}

static void *expect_all_destroyed(void *made)
{
  for (int i = 0; i < REMEMBERED; i++)
    expect_destroyed(((struct hw_heap **)made)[i], made);
  return NULL;
}

/* Also by a thread that has used no heap. */
static void the_last_heaps_are_remembered(void **state)
{
  (void)state;
  static struct hw_heap *made[REMEMBERED];
  pthread_t thread;
  for (int i = 0; i < REMEMBERED; i += AT_A_TIME)
    begin_and_destroy(&made[i], AT_A_TIME);
  expect_all_destroyed(made);
  assert_int_equal(pthread_create(&thread, NULL, expect_all_destroyed, made), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

/* --- several heaps in turn --- */

enum { HEAPS = 20, ROUNDS = 50, THREADS = 3 };

static struct hw_heap *heaps[HEAPS];

static bool use_in_turn(uint64_t seed)
{
  struct model *models = calloc(HEAPS, sizeof *models);
  bool is_right = true;
  for (int i = 0; i < HEAPS; i++)
    models[i].heap = heaps[i], models[i].seed = seed + (unsigned)i;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < HEAPS; i++)
      for (int k = 0; k < round % 7 + 1; k++)
        is_right = is_right && model_step(&models[i], 15);
  for (int i = 0; i < HEAPS; i++)
    is_right = is_right && model_free_all(&models[i]);
  free(models);
  return is_right;
}

static void *use_in_thread(void *number)
{
  return use_in_turn(88172645463325252u + (uintptr_t)number * HEAPS) ? heaps : NULL;
}

/* With fewer heaps than a thread remembers, and with more; some are new ones meanwhile. */
static void threads_use_several_heaps_in_turn(void **state)
{
  (void)state;
  for (int i = 0; i < HEAPS; i++)
    heaps[i] = new_heap();
  for (int round = 0; round < 3; round++) {
    pthread_t threads[THREADS];
    void *result;
    for (uintptr_t i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, use_in_thread, (void *)i), 0);
    assert_true(use_in_turn(2463534242u));
    for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], &result);
      assert_ptr_equal(result, heaps);
    }
    for (int i = 0; i < HEAPS; i++) {
      hw_heap_collect(heaps[i]);
      expect_right(heaps[i]);
      assert_int_equal(used_bytes(heaps[i]), 0);
    }
    for (int i = round; i < HEAPS; i += 3) {
      assert_true(hw_heap_destroy(heaps[i]));
      heaps[i] = new_heap();
    }
  }
  for (int i = 0; i < HEAPS; i++)
    assert_true(hw_heap_destroy(heaps[i]));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_late_call_is_found_and_writes_nothing),
      cmocka_unit_test(the_last_heaps_are_remembered),
      cmocka_unit_test(threads_use_several_heaps_in_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
