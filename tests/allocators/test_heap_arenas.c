/* test_heap_arenas.c - the arenas of a general heap: how room is found in many, and what is returned without the lock
 *
 * Breaks if an arena is in the wrong list, if room is not found wherever it is, if it is not the lowest one of a few, if a small
 * request breaks up a large group while many arenas have room that fits, or if memory that is being returned is given out, or lost.
 */
#include "new_heap.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocators/heap/heap_lock.h"
#include "allocators/heap/layout.h"
#include "allocators/heap/space.h"
#include "platform/os_heap.h"

enum { SLICE = (int)HWI_SLICE_BYTES };

/* --- lists --- */

static unsigned largest_group(uint64_t set)
{
  unsigned largest = 0, length = 0;
  for (unsigned i = 0; i < HWI_SLICES; i++) {
    length = set >> i & 1 ? length + 1 : 0;
    largest = length > largest ? length : largest;
  }
  return largest;
}

static bool is_in_its_list(const struct hw_heap *heap, const struct hwi_page *arena, int order, unsigned list)
{
  uint64_t set = hwi_free_slices(arena) & (order == HWI_BY_KEPT ? hwi_touched_slices(arena) : UINT64_MAX);
  const struct hwi_page *next = arena[order].links.next, *prev = arena[order].links.prev;
  return arena->heap == heap && largest_group(set) == list && (!next || next[order].links.prev == arena) &&
         (prev ? prev[order].links.next == arena : heap->arenas[order].lists[list] == arena);
}

/* Returns how many arenas the heap has. */
static size_t expect_lists(const struct hw_heap *heap)
{
  size_t counts[HWI_ARENA_ORDERS] = {0}, kept_bytes = 0;
  for (int order = 0; order < HWI_ARENA_ORDERS; order++)
    for (unsigned list = 0; list <= HWI_SLICES; list++) {
      const struct hwi_page *arena = heap->arenas[order].lists[list];
      assert_true(list == 0 || (heap->arenas[order].room >> (list - 1) & 1) == (arena != NULL));
      for (; arena; arena = arena[order].links.next, counts[order]++) {
        assert_true(is_in_its_list(heap, arena, order, list));
        if (order == HWI_BY_KEPT)
          kept_bytes +=
              (size_t)__builtin_popcountll(hwi_free_slices(arena) & hwi_touched_slices(arena)) * HWI_SLICE_BYTES;
      }
    }
  assert_int_equal(counts[HWI_BY_FREE], counts[HWI_BY_KEPT]);
  assert_true(heap->cached || kept_bytes == heap->kept_bytes);
  return counts[HWI_BY_FREE];
}

/* With spans of 1 to 32 slices, which are made longer and shorter, and memory that goes back in all ways. */
static void arenas_are_in_their_lists(void **state)
{
  (void)state;
  static struct model model;
  static const struct hw_heap_config configs[] = {{.returns = HW_HEAP_RETURNS_AT_ONCE},
                                                  {.returns = HW_HEAP_RETURNS_ON_COLLECT},
                                                  {.returns = HW_HEAP_RETURNS_ABOVE, .keep_free_bytes = 3 * MIB},
                                                  {.arena_bytes = 16 * MIB, .return_after_ms = 1}};
  for (size_t i = 0; i < COUNT(configs); i++) {
    struct hw_heap *heap = heap_with(&configs[i]);
    model = (struct model){.heap = heap, .seed = 88172645463325252u + i};
    for (int step = 0; step < 1200; step++) {
      bool grows = step / 200 % 2 == 0;
      assert_true(grows || model.count == 0 ? model_alloc(&model, 0, model_any(&model) % (20 * SLICE) + 1)
                                            : model_free(&model, model_any(&model) % model.count));
      if (model.count && step % 3 == 0)
        assert_true(model_realloc(&model, model_any(&model) % model.count, model_any(&model) % (32 * SLICE) + 1));
      if (step % 50 == 0)
        expect_lists(heap);
      if (step % 300 == 0)
        hw_heap_collect(heap);
    }
    expect_right(heap);
    assert_true(model_free_all(&model));
    hw_heap_collect(heap);
    assert_in_range(expect_lists(heap), 1, configs[i].arena_bytes ? 4 : 1);
    hw_heap_destroy(heap);
  }
}

/* --- room --- */

enum { ARENAS = 300, OF_ARENA = HWI_SLICES / 4, MANY = ARENAS * OF_ARENA };

/* Each block has 4 slices. */
static void fill(struct hw_heap *heap, char **blocks)
{
  for (int i = 0; i < MANY; i++)
    assert_non_null(blocks[i] = hw_heap_alloc(heap, 4 * SLICE));
}

static void the_only_room_is_found_in_many_arenas(void **state)
{
  (void)state;
  static char *blocks[MANY];
  struct hw_heap *heap = new_heap();
  fill(heap, blocks);
  assert_int_equal(expect_lists(heap), ARENAS);
  for (int i = 3; i < MANY; i += MANY / 7) {
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
    assert_ptr_equal(hw_heap_alloc(heap, 4 * SLICE), blocks[i]);
  }
  assert_int_equal(expect_lists(heap), ARENAS);
  hw_heap_destroy(heap);
}

/* A group of 16 adjoining slices in an arena is free. */
static char *free_large_group(struct hw_heap *heap, char **blocks, int arena)
{
  for (int i = 0; i < 4; i++)
    hw_heap_free(heap, blocks[arena * OF_ARENA + i]);
  return blocks[arena * OF_ARENA];
}

/* What lies high is needed less often: it stays untouched, or becomes free. */
static void the_lowest_arena_with_room_is_used(void **state)
{
  (void)state;
  static char *blocks[MANY];
  struct hw_heap *heap = new_heap();
  fill(heap, blocks);
  char *high = blocks[7 * OF_ARENA], *low = blocks[2 * OF_ARENA + 5], *large = free_large_group(heap, blocks, 4);
  hw_heap_free(heap, high);
  hw_heap_free(heap, low);
  assert_ptr_equal(hw_heap_alloc(heap, 3 * SLICE), low);
  assert_ptr_equal(hw_heap_alloc(heap, 4 * SLICE), large);
  assert_ptr_equal(hw_heap_alloc(heap, 12 * SLICE), large + (size_t)4 * SLICE);
  assert_ptr_equal(hw_heap_alloc(heap, 2 * SLICE), high);
  assert_int_equal(expect_lists(heap), ARENAS);
  hw_heap_destroy(heap);
}

/* A search looks at the shortest groups that are long enough. If there are many, it does not come to the longer ones. */
static void large_groups_stay_whole(void **state)
{
  (void)state;
  enum { SHORT_GROUPS = 20 };
  static char *blocks[MANY];
  struct hw_heap *heap = new_heap();
  fill(heap, blocks);
  char *large = free_large_group(heap, blocks, 0);
  for (int i = 1; i <= SHORT_GROUPS; i++)
    hw_heap_free(heap, blocks[i * OF_ARENA]);
  for (int i = 0; i < 4; i++)
    assert_ptr_not_equal(hw_heap_alloc(heap, 3 * SLICE), large);
  assert_ptr_equal(hw_heap_alloc(heap, 16 * SLICE), large);
  assert_int_equal(expect_lists(heap), ARENAS);
  hw_heap_destroy(heap);
}

/* --- what is being returned --- */

/* As a thread that waits for the system: the lock is left, and the calls are not made yet. */
static struct hwi_page *take_pending(struct hw_heap *heap)
{
  struct hwi_page *pending = heap->pending_slices;
  heap->pending_slices = NULL;
  return pending;
}

static void what_is_being_returned_is_not_given_out(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.returns = HW_HEAP_RETURNS_ON_COLLECT};
  struct hw_heap *heap = heap_with(&config);
  char *staying = hw_heap_alloc(heap, 4 * SLICE), *block = hw_heap_alloc(heap, 4 * SLICE);
  hw_heap_free(heap, memset(block, 1, 4 * SLICE));
  hwi_heap_trim(heap, 0, false);
  struct hwi_page *pending = take_pending(heap);
  assert_ptr_equal(pending, hwi_slice_of(block));
  expect_lists(heap);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_NOT_A_BLOCK);
  assert_ptr_not_equal(hw_heap_alloc(heap, 4 * SLICE), block);
  heap->pending_slices = pending;
  hwi_heap_unlock_and_settle(heap, HWI_LOCK_NOT_NEEDED);
  assert_int_equal(block[0], 0);
  assert_ptr_equal(hw_heap_alloc(heap, 4 * SLICE), block);
  expect_lists(heap);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, staying), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

/* --- what is taken at a time --- */

/* Returns how far the arena of a block is above a multiple of `align`. */
static size_t distance(const void *block, size_t align)
{
  return hwi_page_start(hwi_unit_of(hwi_slice_of(block))) & (align - 1);
}

/* An aligned arena of one heap, and what other heaps take in between. */
static void arenas_begin_at_multiples(void **state)
{
  (void)state;
  enum { TIMES = 3, BLOCKS_OF_UNIT = 2 };
  static const struct hw_heap_config configs[] = {{.arena_align_bytes = 4 * MIB},
                                                  {.arena_align_bytes = 8 * MIB},
                                                  {.arena_align_bytes = 64 * MIB, .arena_bytes = 12 * MIB},
                                                  {.arena_align_bytes = 16 * MIB, .arena_bytes = 32 * MIB},
                                                  {.arena_align_bytes = 32 * MIB, .pages = HW_HEAP_PAGES_HUGE},
                                                  {.arena_align_bytes = sizeof(void *) == 8 ? 1024 * MIB : 128 * MIB}};
  for (size_t i = 0; i < COUNT(configs); i++) {
    struct hw_heap *heap = heap_with(&configs[i]), *other = new_heap();
    size_t align = configs[i].arena_align_bytes, bytes = configs[i].arena_bytes ? configs[i].arena_bytes : 4 * MIB;
    for (size_t k = 0; k < TIMES * BLOCKS_OF_UNIT * (bytes / HWI_UNIT_BYTES); k++) {
      void *block = hw_heap_alloc(heap, 2 * MIB);
      assert_non_null(block);
      assert_in_range(distance(block, align), 0, bytes - 1);
      assert_non_null(hw_heap_alloc(other, 2 * MIB));
    }
    hw_heap_destroy(other);
    hw_heap_destroy(heap);
  }
}

/* --- the space --- */

/* Its other units are not given out before the descriptors say that it has become shorter. */
static void units_of_a_shorter_block_stay_until_they_are_given(void **state)
{
  (void)state;
  enum { UNITS = 3 };
  uintptr_t start = hwi_space_take(UNITS * HWI_UNIT_BYTES, 1, false), after = start + HWI_UNIT_BYTES;
  assert_int_not_equal(start, 0);
  assert_int_equal(hwi_space_resize(start, UNITS * HWI_UNIT_BYTES, HWI_UNIT_BYTES, false), start);
  uintptr_t other = hwi_space_take(HWI_UNIT_BYTES, 1, false);
  assert_false(other >= start && other < start + UNITS * HWI_UNIT_BYTES);
  hwi_space_give(after, (UNITS - 1) * HWI_UNIT_BYTES);
  uintptr_t next = hwi_space_take(HWI_UNIT_BYTES, 1, false);
  assert_int_equal(next, after);
  uintptr_t units[] = {start, other, next};
  for (size_t i = 0; i < COUNT(units); i++) {
    munmap((void *)units[i], HWI_UNIT_BYTES);
    hwi_space_give(units[i], HWI_UNIT_BYTES);
  }
}

static void give_units(const uintptr_t *units, size_t count, bool (*chosen)(size_t unit))
{
  for (size_t i = 0; i < count; i++)
    if (chosen(i)) {
      munmap((void *)units[i], HWI_UNIT_BYTES);
      hwi_space_give(units[i], HWI_UNIT_BYTES);
    }
  hwi_space_try_collect();
}

static bool stays(size_t unit)
{
  return unit % 20 == 0;
}

static bool does_not_stay(size_t unit)
{
  return !stays(unit);
}

/* Except those of a few that are collected last, which were given first. Those of units that stay are as they were. */
static void descriptors_of_unused_units_go_back(void **state)
{
  (void)state;
  enum { UNITS = 60, GIVEN_FIRST = 4 };
  uintptr_t units[UNITS];
  if (!hwi_os_drops_small_pages())
    skip();
  for (size_t i = 0; i < UNITS; i++) {
    units[i] = hwi_space_take(HWI_UNIT_BYTES, 1, false);
    assert_int_equal(units[i], hwi_space.start + i * HWI_UNIT_BYTES);
    for (size_t slice = 0; slice < HWI_SLICES; slice++)
      hwi_slice_of((void *)units[i])[slice].capacity = (uint32_t)i + 1;
  }
  give_units(units, UNITS, does_not_stay);
  for (size_t i = 0; i < UNITS; i++)
    for (size_t slice = 0; slice < HWI_SLICES; slice++)
      assert_int_equal(hwi_slice_of((void *)units[i])[slice].capacity, stays(i) || i < GIVEN_FIRST ? i + 1 : 0);
  give_units(units, UNITS, stays);
}

/* --- without the lock --- */

static volatile sig_atomic_t calls, calls_with_lock;

static void see_call(int number)
{
  (void)number;
  calls++;
  calls_with_lock += hwi_heaps_has_lock();
}

enum { NO_FILTERS = 2 }; /* exit status: this kernel has no seccomp */

/* From now on, the system calls that take longer for more memory are not made, and seen. */
static void trap_calls(void)
{
  static struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mlock, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_POPULATE_WRITE, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  static const struct sock_fprog program = {COUNT(filter), filter};
  signal(SIGSYS, see_call);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    _exit(NO_FILTERS);
}

static void expect_in_child(bool (*try)(const struct hw_heap_config *config), const struct hw_heap_config *config)
{
  int status;
  pid_t child = fork();
  if (!child)
    _exit(try(config) ? 0 : 1);
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTERS)
    skip(); /* qemu-user */
  assert_int_equal(status, 0);
}

/* Returns false if there was no such call, or the thread had the lock in one. */
static bool use_without_lock(const struct hw_heap_config *config)
{
  trap_calls();
  struct hw_heap *heap = hw_heap_create(config, NULL);
  char *small = hw_heap_alloc(heap, 30000), *span = hw_heap_alloc(heap, MIB), *large = hw_heap_alloc(heap, 5 * MIB);
  for (int i = 0; i < 20; i++)
    hw_heap_alloc(heap, 2 * MIB);
  large = hw_heap_realloc(heap, large, 9 * MIB);
  bool is_right = large && !hw_heap_free(heap, small) && !hw_heap_free(heap, span) && !hw_heap_free(heap, large);
  hw_heap_collect(heap);
  int before = calls;
  return is_right && before && hw_heap_destroy(heap) && calls > before && !calls_with_lock;
}

static void no_thread_waits_for_the_system(void **state)
{
  (void)state;
  static const struct hw_heap_config configs[] = {
      {.returns = HW_HEAP_RETURNS_AT_ONCE},
      {.touch = true},
      {.lock_memory = true},
      {.threads = HW_HEAP_SINGLE, .returns = HW_HEAP_RETURNS_AT_ONCE},
      {.threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE, .returns = HW_HEAP_RETURNS_AT_ONCE},
      {.threads = HW_HEAP_CENTRAL, .returns = HW_HEAP_RETURNS_AT_ONCE}};
  for (size_t i = 0; i < COUNT(configs); i++)
    expect_in_child(use_without_lock, &configs[i]);
}

enum { SPANS = 32 };

/* Frees every second span, from the first or the second one on. Returns how many of these calls the heap makes. */
static int calls_to_free(struct hw_heap *heap, void *spans[SPANS], int first)
{
  int before = calls;
  for (int i = first; i < SPANS; i += 2)
    hw_heap_free(heap, spans[i]);
  hw_heap_collect(heap);
  return calls - before;
}

/* An arena has up to four spans. Returns whether parts of arenas go back unless the config locks memory, and whole arenas always. */
static bool returns_parts_unless_locked(const struct hw_heap_config *config)
{
  void *spans[SPANS];
  struct hw_heap *heap = hw_heap_create(config, NULL);
  for (int i = 0; i < SPANS; i++)
    spans[i] = hw_heap_alloc(heap, MIB);
  trap_calls();
  return (calls_to_free(heap, spans, 1) == 0) == config->lock_memory && calls_to_free(heap, spans, 0) > 0;
}

/* The system would refuse each time. */
static void no_part_of_locked_memory_is_to_go_back(void **state)
{
  (void)state;
  static const struct hw_heap_config configs[] = {
      {.returns = HW_HEAP_RETURNS_AT_ONCE},
      {.returns = HW_HEAP_RETURNS_AT_ONCE, .lock_memory = true},
      {.returns = HW_HEAP_RETURNS_ABOVE, .keep_free_bytes = MIB, .lock_memory = true},
      {.returns = HW_HEAP_RETURNS_LATER, .lock_memory = true},
      {.lock_memory = true},
  };
  for (size_t i = 0; i < COUNT(configs); i++)
    expect_in_child(returns_parts_unless_locked, &configs[i]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(units_of_a_shorter_block_stay_until_they_are_given), /* first: all units are free; */
      cmocka_unit_test(descriptors_of_unused_units_go_back),                /* and still */
      cmocka_unit_test(arenas_are_in_their_lists),
      cmocka_unit_test(the_only_room_is_found_in_many_arenas),
      cmocka_unit_test(the_lowest_arena_with_room_is_used),
      cmocka_unit_test(large_groups_stay_whole),
      cmocka_unit_test(what_is_being_returned_is_not_given_out),
      cmocka_unit_test(no_thread_waits_for_the_system),
      cmocka_unit_test(no_part_of_locked_memory_is_to_go_back),
      cmocka_unit_test(arenas_begin_at_multiples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
