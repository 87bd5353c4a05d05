/* test_heap.c - a general heap used by one thread: its blocks are whole and exclusive, its config is checked, faults are
 * found, memory goes back, and where there is no memory nothing changes
 *
 * Breaks if blocks overlap or lose their contents, if the records are wrong after any step, if a wrong config is
 * accepted or the wrong member is named, if a destroyed heap leaves memory behind, or if a request that fails damages
 * the heap.
 */
#include "heapwright/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap_model.h"

enum { LARGEST = (int)HW_HEAP_LARGEST_CLASS_BYTES, MIB = 1 << 20 };

static struct hw_heap *default_heap(void)
{
  struct hw_heap *heap = hw_heap_create(NULL, NULL);
  assert_non_null(heap);
  return heap;
}

static void expect_right(struct hw_heap *heap)
{
  void *where;
  assert_int_equal(hw_heap_check(heap, &where), HW_HEAP_OK);
  assert_null(where);
}

static size_t used_bytes(struct hw_heap *heap)
{
  struct hw_heap_stats stats;
  hw_heap_get_stats(heap, &stats);
  return stats.used_bytes;
}

static size_t mapped_bytes(struct hw_heap *heap)
{
  struct hw_heap_stats stats;
  hw_heap_get_stats(heap, &stats);
  assert_true(stats.peak_mapped_bytes >= stats.mapped_bytes);
  return stats.mapped_bytes;
}

/* Pages of the system: all that are mapped, and those in memory. */
static void process_pages(size_t *mapped, size_t *resident)
{
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%zu %zu", mapped, resident), 2);
  fclose(file);
}

/* --- config --- */

static void errors_of_a_config_name_the_member(void **state)
{
  (void)state;
  static const size_t not_16[] = {16, 40, LARGEST}, zero[] = {0, LARGEST}, falling[] = {64, 32, LARGEST},
                      twice[] = {32, 32, LARGEST}, short_of_it[] = {16, 64}, beyond[] = {16, LARGEST, 2 * LARGEST};
  static size_t many[HW_HEAP_MOST_CLASSES + 1];
  static const struct {
    struct hw_heap_config config;
    const char *field;
    size_t index;
  } cases[] = {
      {{.class_count = 3}, "class_bytes", 0},
      {{.class_bytes = not_16}, "class_count", 0},
      {{.class_bytes = many, .class_count = HW_HEAP_MOST_CLASSES + 1}, "class_count", 0},
      {{.class_bytes = not_16, .class_count = 3}, "class_bytes", 1},
      {{.class_bytes = zero, .class_count = 2}, "class_bytes", 0},
      {{.class_bytes = falling, .class_count = 3}, "class_bytes", 1},
      {{.class_bytes = twice, .class_count = 3}, "class_bytes", 1},
      {{.class_bytes = short_of_it, .class_count = 2}, "class_bytes", 1},
      {{.class_bytes = beyond, .class_count = 3}, "class_bytes", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hw_heap_error error = {0};
    assert_null(hw_heap_create(&cases[i].config, &error));
    assert_string_equal(error.field, cases[i].field);
    assert_int_equal(error.index, cases[i].index);
    assert_non_null(error.rule);
    assert_null(hw_heap_create(&cases[i].config, NULL));
  }
}

static void each_request_gets_the_smallest_class_that_is_large_enough(void **state)
{
  (void)state;
  static const size_t classes[] = {16, 48, 1008, 4096, 20000, LARGEST};
  enum { COUNT = sizeof classes / sizeof *classes };
  const struct hw_heap_config config = {.class_bytes = classes, .class_count = COUNT};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  assert_non_null(heap);
  size_t class_index = 0;
  for (size_t bytes = 0; bytes <= LARGEST; bytes++) {
    class_index += bytes > classes[class_index];
    void *block = hw_heap_alloc(heap, bytes);
    assert_int_equal(hw_heap_usable_bytes(heap, block), classes[class_index]);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  }
  assert_int_equal(used_bytes(heap), 0);
  expect_right(heap);
  hw_heap_destroy(heap);
}

static void alignments(void **state)
{
  (void)state;
  struct hw_heap *heap = default_heap();
  for (size_t align = 1; align <= (size_t)64 * MIB; align *= 2)
    for (size_t bytes = 0; bytes < 3 * (size_t)MIB; bytes = bytes * 3 + 1) {
      char *block = hw_heap_alloc_aligned(heap, align, bytes);
      assert_non_null(block);
      assert_int_equal((uintptr_t)block % align, 0);
      assert_true(hw_heap_usable_bytes(heap, block) >= bytes);
      if (bytes)
        block[0] = block[bytes - 1] = 1;
      assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
    }
  assert_null(hw_heap_alloc_aligned(heap, 0, 1));
  assert_null(hw_heap_alloc_aligned(heap, 48, 1));
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* --- blocks --- */

static bool count_block(void *context, void *block, size_t bytes)
{
  const struct model *model = ((void **)context)[0];
  size_t *count = ((void **)context)[1];
  for (size_t i = 0; i < model->count; i++)
    *count += model->blocks[i].at == block && model->blocks[i].bytes <= bytes;
  return true;
}

static void random_steps_keep_everything(void **state)
{
  (void)state;
  enum { STEPS = 60000, CHECK_STEPS = 5000 };
  static struct model model;
  for (unsigned most_bits = 6; most_bits <= 24; most_bits += 6) {
    model = (struct model){.heap = default_heap(), .seed = 88172645463325252u + most_bits};
    for (int i = 1; i <= STEPS / (most_bits > 20 ? 20 : 1); i++) {
      assert_true(model_step(&model, most_bits));
      if (i % CHECK_STEPS)
        continue;
      size_t count = 0;
      expect_right(model.heap);
      hw_heap_walk(model.heap, count_block, (void *[]){&model, &count});
      assert_int_equal(count, model.count);
    }
    assert_true(model_free_all(&model));
    assert_int_equal(used_bytes(model.heap), 0);
    hw_heap_collect(model.heap);
    expect_right(model.heap);
    hw_heap_destroy(model.heap);
  }
}

static bool end_at_third(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  return ++*(int *)context < 3;
}

static void a_walk_ends_when_the_visitor_wants(void **state)
{
  (void)state;
  struct hw_heap *heap = default_heap();
  int count = 0;
  for (int i = 0; i < 10; i++)
    hw_heap_alloc(heap, (size_t)1 << 2 * i);
  hw_heap_walk(heap, end_at_third, &count);
  assert_int_equal(count, 3);
  hw_heap_destroy(heap);
}

static void impossible_sizes(void **state)
{
  (void)state;
  struct hw_heap *heap = default_heap();
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX, (size_t)1 << 46};
  void *block = hw_heap_alloc(heap, 100);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    assert_null(hw_heap_alloc(heap, sizes[i]));
    assert_null(hw_heap_alloc_zeroed(heap, sizes[i]));
    assert_null(hw_heap_alloc_aligned(heap, 4096, sizes[i]));
    assert_null(hw_heap_realloc(heap, block, sizes[i]));
  }
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
}

static void a_large_block_grows_and_shrinks_without_a_copy(void **state)
{
  (void)state;
  struct hw_heap *heap = default_heap();
  size_t bytes = 4 * MIB;
  unsigned char *block = hw_heap_alloc(heap, bytes), *barrier = hw_heap_alloc(heap, 4 * MIB);
  memset(block, 7, bytes);
  for (int i = 0; i < 4; i++, bytes *= 2) {
    block = hw_heap_realloc(heap, block, 2 * bytes);
    assert_non_null(block);
    assert_int_equal(block[0], 7);
    assert_int_equal(block[bytes - 1], 7);
    assert_int_equal(block[bytes], 0);
    memset(block + bytes, 7, bytes);
  }
  size_t before = mapped_bytes(heap);
  block = hw_heap_realloc(heap, block, 4 * MIB);
  assert_int_equal(block[4 * MIB - 1], 7);
  assert_int_equal(mapped_bytes(heap), before - bytes + 4 * MIB);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(heap, barrier), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* A span grows over free memory after it, and gives back its end. */
static void a_span_changes_its_size_in_place(void **state)
{
  (void)state;
  struct hw_heap *heap = default_heap();
  unsigned char *block = hw_heap_alloc(heap, 100000);
  memset(block, 5, 100000);
  assert_ptr_equal(hw_heap_realloc(heap, block, 1000000), block);
  memset(block + 100000, 5, 900000);
  unsigned char *after = hw_heap_alloc(heap, 100000);
  memset(after, 6, 100000);
  unsigned char *moved = hw_heap_realloc(heap, block, 1500000);
  assert_ptr_not_equal(moved, block);
  for (size_t i = 0; i < 1000000; i++)
    assert_int_equal(moved[i], 5);
  size_t before = used_bytes(heap);
  assert_ptr_equal(hw_heap_realloc(heap, moved, 200000), moved);
  assert_true(used_bytes(heap) <= before - 1200000);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, moved), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(heap, after), HW_HEAP_OK);
  assert_int_equal(used_bytes(heap), 0);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* A freed large block is given out again, and calloc clears it. */
static void large_blocks_are_kept_for_a_while(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.keep_free_bytes = SIZE_MAX};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  unsigned char *block = hw_heap_alloc(heap, 3 * MIB);
  memset(block, 1, 3 * MIB);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  unsigned char *again = hw_heap_alloc_zeroed(heap, 3 * MIB - 5000);
  assert_ptr_equal(again, block);
  for (size_t i = 0; i < 3 * MIB - 5000; i++)
    assert_int_equal(again[i], 0);
  assert_int_equal(hw_heap_free(heap, again), HW_HEAP_OK);
  size_t before = mapped_bytes(heap);
  hw_heap_collect(heap);
  assert_true(mapped_bytes(heap) <= before - 3 * MIB);
  hw_heap_destroy(heap);
}

/* --- faults --- */

struct seen {
  int count;
  enum hw_heap_fault fault;
  void *address;
};

static void see_fault(void *context, struct hw_heap *heap, enum hw_heap_fault fault, void *address)
{
  (void)heap;
  struct seen *seen = context;
  *seen = (struct seen){seen->count + 1, fault, address};
}

static void expect_fault(struct hw_heap *heap, struct seen *seen, void *address, enum hw_heap_fault fault)
{
  int before = seen->count;
  assert_int_equal(hw_heap_free(heap, address), fault);
  assert_int_equal(seen->count, before + 1);
  assert_int_equal(seen->fault, fault);
  assert_ptr_equal(seen->address, address);
  assert_true(strlen(hw_heap_fault_text(fault)) > 0);
}

static void faults_are_found_and_change_nothing(void **state)
{
  (void)state;
  struct seen seen = {0};
  const struct hw_heap_config config = {.check_all_frees = true, .on_fault = see_fault, .fault_context = &seen};
  struct hw_heap *heap = hw_heap_create(&config, NULL), *other = default_heap();
  static const size_t sizes[] = {1, 16, 40, 5000, LARGEST, 100000, 5 * MIB};
  char on_stack[64];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *block = hw_heap_alloc(heap, sizes[i]), *others = hw_heap_alloc(other, sizes[i]);
    memset(block, 0, sizes[i]);
    expect_fault(heap, &seen, block + 8, HW_HEAP_NOT_A_BLOCK);
    if (sizes[i] > 16)
      expect_fault(heap, &seen, block + 16, HW_HEAP_NOT_A_BLOCK);
    if (sizes[i] > 70000)
      expect_fault(heap, &seen, block + 65536, HW_HEAP_NOT_A_BLOCK);
    expect_fault(heap, &seen, others, HW_HEAP_FOREIGN);
    int before = seen.count;
    assert_int_equal(hw_heap_usable_bytes(heap, block + 8), 0);
    assert_null(hw_heap_realloc(heap, block + 8, 1));
    assert_int_equal(seen.count, before + 2);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
    expect_fault(heap, &seen, block, sizes[i] <= LARGEST ? HW_HEAP_FREED : HW_HEAP_NOT_A_BLOCK);
    if (sizes[i] <= LARGEST && sizes[i] >= 16) {
      memset(block + 8, 0, 8);
      expect_fault(heap, &seen, block, HW_HEAP_FREED);
    }
    assert_int_equal(hw_heap_free(other, others), HW_HEAP_OK);
  }
  static void *const wild[] = {(void *)8, (void *)0x1234567890, (void *)-16, (void *)0xdeadbeefdeadbee0};
  for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
    expect_fault(heap, &seen, wild[i], HW_HEAP_FOREIGN);
  expect_fault(heap, &seen, on_stack, HW_HEAP_FOREIGN);
  assert_int_equal(hw_heap_free(heap, NULL), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
  hw_heap_destroy(other);
}

/* The check by default: a word that looks as in a free block is not taken for one. */
static void a_block_freed_twice_is_found_by_default(void **state)
{
  (void)state;
  struct hw_heap *heap = default_heap();
  uintptr_t *block = hw_heap_alloc(heap, 64), *another = hw_heap_alloc(heap, 64);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_FREED);
  another[1] = block[1];
  assert_int_equal(hw_heap_free(heap, another), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
}

static void the_check_finds_a_write_to_a_free_block(void **state)
{
  (void)state;
  struct hw_heap *heap = default_heap();
  uintptr_t *blocks[3];
  for (int i = 0; i < 3; i++)
    blocks[i] = hw_heap_alloc(heap, 48);
  for (int i = 0; i < 3; i++)
    hw_heap_free(heap, blocks[i]);
  expect_right(heap);
  uintptr_t next = blocks[2][0];
  void *where;
  static const uintptr_t wrong[] = {1, 0x1234567890, UINTPTR_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    blocks[2][0] = wrong[i];
    assert_int_equal(hw_heap_check(heap, &where), HW_HEAP_DAMAGED);
    assert_true((uintptr_t)blocks[2] - (uintptr_t)where < 65536);
  }
  blocks[2][0] = (uintptr_t)blocks[2]; /* a cycle */
  assert_int_equal(hw_heap_check(heap, NULL), HW_HEAP_DAMAGED);
  blocks[2][0] = next;
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* --- memory --- */

static void use_heaps(int count)
{
  struct hw_heap *heaps[8];
  for (int i = 0; i < count; i++) {
    heaps[i] = default_heap();
    for (size_t bytes = 1; bytes <= 4 * MIB; bytes *= 2)
      for (int k = 0; k < 10; k++)
        memset(hw_heap_alloc(heaps[i], bytes), 1, bytes);
    expect_right(heaps[i]);
  }
  for (int i = 0; i < count; i++)
    hw_heap_destroy(heaps[i]);
  hw_heap_destroy(NULL);
}

static void a_destroyed_heap_leaves_nothing(void **state)
{
  (void)state;
  size_t mapped, resident, mapped_after, resident_after;
  enum { SLACK_PAGES = 512 };
  use_heaps(8); /* the table of descriptors stays */
  process_pages(&mapped, &resident);
  for (int i = 0; i < 5; i++)
    use_heaps(8);
  process_pages(&mapped_after, &resident_after);
  assert_true(mapped_after <= mapped);
  assert_true(resident_after <= resident + SLACK_PAGES);
}

static void free_memory_goes_back(void **state)
{
  (void)state;
  enum { BLOCKS = 200000, BYTES = 500, ALL_PAGES = BLOCKS / 4096 * BYTES };
  static void *blocks[BLOCKS];
  struct hw_heap *heap = default_heap();
  size_t mapped, before, full, after;
  process_pages(&mapped, &before);
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = hw_heap_alloc(heap, BYTES), 1, BYTES);
  process_pages(&mapped, &full);
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(heap, blocks[i]);
  hw_heap_collect(heap);
  process_pages(&mapped, &after);
  assert_true(full >= before + ALL_PAGES);
  assert_true(after <= before + ALL_PAGES / 20);
  assert_int_equal(used_bytes(heap), 0);
  hw_heap_destroy(heap);
}

/* --- no memory ---
 *
 * The limit of the address space is raised step by step, so that each mapping in turn is the first one that fails. */

static void *any_block(struct hw_heap *heap, int i)
{
  static const size_t sizes[] = {24, 3000, 30000, 200000, 1500000, 5000000};
  size_t bytes = sizes[i % 6];
  void *block = i % 5 == 4 ? hw_heap_alloc_aligned(heap, 8 * MIB, bytes) : hw_heap_alloc(heap, bytes);
  if (block && i % 3 == 2) {
    void *moved = hw_heap_realloc(heap, block, 3 * bytes);
    block = moved ? moved : block;
  }
  return block;
}

/* Returns whether all requests were met. Ends the process if the heap is not as it should be. */
static bool use_within_limit(size_t limit)
{
  enum { BLOCKS = 60 };
  void *blocks[BLOCKS];
  size_t mapped, resident, failed = 0;
  process_pages(&mapped, &resident);
  struct rlimit old, new = {mapped * 4096 + limit, RLIM_INFINITY};
  assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
  assert_int_equal(setrlimit(RLIMIT_AS, &new), 0);
  struct hw_heap_error error = {"none", 0, NULL};
  struct hw_heap *heap = hw_heap_create(NULL, &error);
  if (!heap && (error.field || !error.rule))
    _exit(2);
  for (int i = 0; heap && i < BLOCKS; i++) {
    blocks[i] = any_block(heap, i);
    failed += !blocks[i];
    if (hw_heap_check(heap, NULL) != HW_HEAP_OK)
      _exit(3);
  }
  setrlimit(RLIMIT_AS, &old);
  if (!heap)
    return false;
  for (int i = 0; i < BLOCKS; i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK || !(blocks[i] = any_block(heap, i)))
      _exit(4);
  if (hw_heap_check(heap, NULL) != HW_HEAP_OK)
    _exit(5);
  hw_heap_destroy(heap);
  return failed == 0;
}

static void without_memory_nothing_changes(void **state)
{
  (void)state;
  bool is_enough = false;
  int failed = 0;
  for (size_t limit = 0; !is_enough; limit += limit < 256 << 10 ? 4096 : limit / 8) {
    int status;
    pid_t child = fork(); /* in each one, the first mapping is still to come */
    if (!child)
      _exit(use_within_limit(limit) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) <= 1);
    is_enough = WEXITSTATUS(status) == 0;
    failed += !is_enough;
  }
  assert_true(failed > 20);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_memory_nothing_changes), /* first: the process has no heap yet */
      cmocka_unit_test(errors_of_a_config_name_the_member),
      cmocka_unit_test(each_request_gets_the_smallest_class_that_is_large_enough),
      cmocka_unit_test(alignments),
      cmocka_unit_test(random_steps_keep_everything),
      cmocka_unit_test(a_walk_ends_when_the_visitor_wants),
      cmocka_unit_test(impossible_sizes),
      cmocka_unit_test(a_large_block_grows_and_shrinks_without_a_copy),
      cmocka_unit_test(a_span_changes_its_size_in_place),
      cmocka_unit_test(large_blocks_are_kept_for_a_while),
      cmocka_unit_test(faults_are_found_and_change_nothing),
      cmocka_unit_test(a_block_freed_twice_is_found_by_default),
      cmocka_unit_test(the_check_finds_a_write_to_a_free_block),
      cmocka_unit_test(a_destroyed_heap_leaves_nothing),
      cmocka_unit_test(free_memory_goes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
