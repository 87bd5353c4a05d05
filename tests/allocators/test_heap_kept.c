/* test_heap_kept.c - blocks of other threads' pages that a thread of a general heap frees, and keeps to give them out
 *
 * Breaks if such a block is not given out again by the thread that freed it, if a short one is that does not go from thread to thread,
 * if a thread keeps more than a few of them, or keeps them when it ends or collects, if they count as used, if one that is freed twice
 * is not found, or if what a program has written to one is followed.
 */
#include "new_heap.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 64, PAGE_BYTES = 65536, MOST_KEPT = 64, MOST_BYTES = 16384, LEAST = 16, FEW = 10 };

/* --- a second thread, which does one thing at a time --- */

struct second {
  struct hw_heap *heap;
  void (*step)(struct second *second); /* NULL: it ends */
  pthread_t thread;
  sem_t begins, is_done;
  void **blocks; /* of the main thread */
  size_t count, bytes;
};

static void *do_steps(void *argument)
{
  struct second *second = argument;
  for (;;) {
    sem_wait(&second->begins);
    if (!second->step)
      return NULL;
    second->step(second);
    sem_post(&second->is_done);
  }
}

static void run_second(struct second *second)
{
  sem_init(&second->begins, 0, 0);
  sem_init(&second->is_done, 0, 0);
  assert_int_equal(pthread_create(&second->thread, NULL, do_steps, second), 0);
}

static void begin_second_in(struct hw_heap *heap, struct second *second, void **blocks, size_t count, size_t bytes)
{
  *second = (struct second){.heap = heap, .blocks = blocks, .count = count, .bytes = bytes};
  for (size_t i = 0; i < count; i++)
    assert_non_null(blocks[i] = hw_heap_alloc(heap, bytes));
  run_second(second);
}

static void begin_second(struct second *second, void **blocks, size_t count, size_t bytes)
{
  begin_second_in(new_heap(), second, blocks, count, bytes);
}

static void do_step(struct second *second, void (*step)(struct second *second))
{
  second->step = step;
  sem_post(&second->begins);
  sem_wait(&second->is_done);
}

static void end_second(struct second *second)
{
  second->step = NULL;
  sem_post(&second->begins);
  assert_int_equal(pthread_join(second->thread, NULL), 0);
}

/* With blocks that nobody has freed. */
static void end_heap_in_use(struct second *second)
{
  expect_right(second->heap);
  end_second(second);
  expect_right(second->heap);
  assert_true(hw_heap_destroy(second->heap));
}

static void end_heap(struct second *second)
{
  hw_heap_collect(second->heap);
  expect_right(second->heap);
  assert_int_equal(used_bytes(second->heap), 0);
  assert_true(hw_heap_destroy(second->heap));
}

/* --- steps --- */

static void free_all(struct second *second)
{
  for (size_t i = 0; i < second->count; i++)
    assert_int_equal(hw_heap_free(second->heap, second->blocks[i]), HW_HEAP_OK);
}

static void collect(struct second *second)
{
  hw_heap_collect(second->heap);
}

static bool is_among(struct second *second, const void *block)
{
  size_t i = 0;
  while (i < second->count && second->blocks[i] != block)
    i++;
  return i < second->count;
}

static void allocate_again(struct second *second)
{
  void *again[FEW];
  for (size_t i = 0; i < second->count; i++) {
    again[i] = hw_heap_alloc(second->heap, second->bytes);
    assert_true(is_among(second, again[i]));
  }
  for (size_t i = 0; i < second->count; i++)
    second->blocks[i] = again[i];
}

static void expect_freed(struct second *second)
{
  for (size_t i = 0; i < second->count; i++)
    assert_int_equal(hw_heap_free(second->heap, second->blocks[i]), HW_HEAP_FREED);
}

static void allocate_one(struct second *second)
{
  second->blocks[0] = hw_heap_alloc(second->heap, second->bytes);
}

/* --- tests --- */

/* By the figures, and by the walk. */
static void expect_used(struct hw_heap *heap, size_t bytes)
{
  assert_int_equal(visited_bytes(heap), bytes);
  assert_int_equal(used_bytes(heap), bytes);
  expect_right(heap);
}

static void what_a_thread_freed_it_gives_out_again(void **state)
{
  (void)state;
  struct second second;
  void *blocks[FEW];
  begin_second(&second, blocks, FEW, BYTES);
  for (int round = 0; round < 3; round++) {
    do_step(&second, free_all);
    expect_used(second.heap, 0);
    do_step(&second, allocate_again);
    expect_used(second.heap, (size_t)FEW * BYTES);
  }
  do_step(&second, free_all);
  end_second(&second);
  end_heap(&second);
}

/* --- short blocks: two threads wait for each other if they write to blocks in the same line of the processor's cache --- */

enum { LINE_BYTES = 64, EXCHANGES = 6, MANY = 600, FEW_LISTS = 3000, LEAST_FREES = 60000, MOST_FREES = 70000 };

/* Replaces the next block of the main thread by one of its own. Returns whether it is the same. */
static bool replace(struct second *second)
{
  void *block = *second->blocks;
  assert_int_equal(hw_heap_free(second->heap, block), HW_HEAP_OK);
  assert_non_null(*second->blocks = hw_heap_alloc(second->heap, second->bytes));
  second->count--;
  return *second->blocks++ == block;
}

static void replace_few(struct second *second)
{
  for (int i = 0; i < 2 * FEW; i++)
    replace(second);
}

static void replace_one(struct second *second)
{
  assert_false(replace(second));
}

static void replace_many(struct second *second)
{
  for (int i = 0; i < MANY; i++)
    assert_false(replace(second));
}

static void free_blocks(struct hw_heap *heap, void *const *blocks, size_t count)
{
  for (size_t i = 0; i < count; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
}

/* Each frees blocks of the other. The second thread keeps what it frees after that. */
static void exchange(struct second *second)
{
  for (int i = 0; i < EXCHANGES; i++) {
    do_step(second, replace_few);
    free_blocks(second->heap, second->blocks - 2 * FEW, FEW);
  }
}

static void only_free(struct second *second)
{
  free_blocks(second->heap, second->blocks, 2 * FEW);
  second->blocks += 2 * FEW;
  second->count -= 2 * FEW;
}

static void only_allocate(struct second *second)
{
  for (int i = 0; i < FEW_LISTS; i++)
    assert_non_null(hw_heap_alloc(second->heap, second->bytes));
}

/* It uses up lists of its own blocks, and goes on to free those of the main thread. */
static void replace_and_allocate(struct second *second)
{
  for (int i = 0; i < MANY; i++) {
    assert_true(replace(second));
    for (int k = 0; k < FEW_LISTS / MANY; k++)
      assert_non_null(hw_heap_alloc(second->heap, second->bytes));
  }
}

/* In turn, some blocks of the main thread, which it gives out to itself. */
static void use_again_and_again(struct second *second)
{
  enum { IN_TURN = 100 };
  int frees = 0;
  for (bool is_same = true; is_same && frees < MOST_FREES; frees++) {
    second->blocks += frees % IN_TURN ? 0 : frees ? -IN_TURN : 0;
    is_same = replace(second);
  }
  assert_in_range(frees, LEAST_FREES, MOST_FREES - 1);
}

static void only_who_exchanges_short_blocks_keeps_them(void **state)
{
  (void)state;
  static void *blocks[5 * MANY];
  for (size_t bytes = HW_HEAP_ALIGN; bytes < LINE_BYTES; bytes += HW_HEAP_ALIGN) {
    struct second second;
    begin_second(&second, blocks, COUNT(blocks), bytes);
    do_step(&second, replace_many); /* nobody frees its blocks */
    do_step(&second, only_free);
    free_blocks(second.heap, blocks, FEW);
    do_step(&second, only_free);    /* it does not allocate */
    do_step(&second, replace_many); /* nobody has freed its blocks meanwhile */
    exchange(&second);
    do_step(&second, replace_and_allocate);
    do_step(&second, only_allocate); /* it frees nobody's */
    do_step(&second, replace_many);  /* nobody frees its blocks any more */
    exchange(&second);
    do_step(&second, use_again_and_again);
    do_step(&second, replace_one);
    end_heap_in_use(&second);
  }
}

static void who_takes_over_from_an_ended_thread_has_not_exchanged(void **state)
{
  (void)state;
  struct second second;
  void *blocks[MANY];
  begin_second(&second, blocks, MANY, HW_HEAP_ALIGN);
  exchange(&second);
  end_second(&second);
  run_second(&second);
  do_step(&second, replace_one);
  end_heap_in_use(&second);
}

static void *page_blocks[(2 << 20) / HW_HEAP_ALIGN]; /* as many as a page can have */

enum { USED = 4 * FEW }; /* of these, at most, in the exchange */

static void fill_own_page(struct second *second)
{
  for (size_t i = 0; i < COUNT(page_blocks); i++)
    page_blocks[i] = hw_heap_alloc(second->heap, second->bytes);
  free_blocks(second->heap, page_blocks + COUNT(page_blocks) - USED, USED);
}

/* Its list then has all blocks of that page but a few, and those that it keeps before them, which are more than these few. */
static void free_own_page_and_keep(struct second *second)
{
  free_blocks(second->heap, page_blocks, COUNT(page_blocks) - USED);
  for (size_t end = 0; end < 2 * EXCHANGES * FEW; end += 2 * FEW)
    free_blocks(second->heap, second->blocks - end - FEW, FEW);
  for (int i = 0; i < 6 * FEW; i++)
    assert_non_null(hw_heap_alloc(second->heap, second->bytes));
  free_all(second);
}

static void a_list_of_a_whole_page_and_kept_blocks_is_right(void **state)
{
  (void)state;
  static const size_t page_bytes[] = {2 << 20};
  struct second second;
  void *blocks[2 * EXCHANGES * FEW + 2 * MOST_KEPT];
  begin_second_in(heap_with(&(struct hw_heap_config){.page_bytes = page_bytes, .page_bytes_count = 1}), &second, blocks,
                  COUNT(blocks), HW_HEAP_ALIGN);
  do_step(&second, fill_own_page);
  exchange(&second);
  do_step(&second, free_own_page_and_keep);
  end_heap_in_use(&second);
}

static size_t page_count(struct hw_heap *heap, size_t bytes)
{
  const struct hw_heap_class_stats row = row_of(heap, bytes);
  assert_int_equal(row.block_bytes, bytes);
  return row.page_count;
}

/* How many pages the blocks need that a thread keeps, at most: each is of another page in the worst case. Nobody frees short blocks of
 * the thread. */
static size_t most_pages_kept(size_t bytes, bool allocates)
{
  size_t count = bytes < LINE_BYTES ? 0 : MOST_BYTES / bytes, most = allocates ? MOST_KEPT : LEAST;
  return count < most ? count : most;
}

/* Frees the first block of each page, then the second one of each, and so on: those that are kept pin most pages. */
static void free_across(struct second *second)
{
  size_t of_page = PAGE_BYTES / second->bytes;
  for (size_t i = 0; i < of_page; i++)
    for (size_t k = i; k < second->count; k += of_page)
      assert_int_equal(hw_heap_free(second->heap, second->blocks[k]), HW_HEAP_OK);
}

/* The same, and each third time it needs a block. */
static void free_across_and_allocate(struct second *second)
{
  size_t of_page = PAGE_BYTES / second->bytes;
  for (size_t i = 0; i < of_page; i++)
    for (size_t k = i; k < second->count; k += of_page) {
      assert_int_equal(hw_heap_free(second->heap, second->blocks[k]), HW_HEAP_OK);
      second->blocks[k] = k % 3 ? NULL : hw_heap_alloc(second->heap, second->bytes);
    }
  for (size_t i = 0; i < second->count; i++)
    assert_int_equal(hw_heap_free(second->heap, second->blocks[i]), HW_HEAP_OK);
}

static void a_thread_keeps_few(void **state)
{
  (void)state;
  static const size_t sizes[] = {16, 64, 512, 2048, 4096};
  static void *blocks[200 * PAGE_BYTES / 16];
  for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
    bool allocates = i % 2;
    size_t bytes = sizes[i / 2], most = most_pages_kept(bytes, allocates);
    struct second second;
    begin_second(&second, blocks, (size_t)200 * PAGE_BYTES / bytes, bytes);
    assert_int_equal(page_count(second.heap, bytes), 200);
    do_step(&second, allocates ? free_across_and_allocate : free_across);
    expect_used(second.heap, 0);
    hw_heap_collect(second.heap);
    size_t own_count = allocates ? 2 : 0; /* pages of the second thread */
    assert_in_range(page_count(second.heap, bytes), 0, own_count + most);
    end_second(&second);
    end_heap(&second);
  }
}

static void a_thread_that_exchanges_short_blocks_keeps_few(void **state)
{
  (void)state;
  static void *blocks[200 * PAGE_BYTES / HW_HEAP_ALIGN];
  struct second second;
  begin_second(&second, blocks, COUNT(blocks), HW_HEAP_ALIGN);
  exchange(&second);
  do_step(&second, free_across_and_allocate);
  hw_heap_collect(second.heap);
  assert_in_range(page_count(second.heap, HW_HEAP_ALIGN), 0, 3 + MOST_KEPT);
  end_heap_in_use(&second);
}

/* Classes above 8 KiB are not kept at all. */
static void large_classes_are_not_kept(void **state)
{
  (void)state;
  struct second second;
  void *blocks[FEW];
  begin_second(&second, blocks, FEW, LARGEST);
  do_step(&second, free_all);
  hw_heap_collect(second.heap);
  assert_int_equal(page_count(second.heap, LARGEST), 0);
  end_second(&second);
  end_heap(&second);
}

/* If the second thread allocates, the others are in the list from which blocks are given out. */
static void a_thread_that_collects_or_ends_keeps_nothing(void **state)
{
  (void)state;
  for (int ends = 0; ends < 2; ends++)
    for (int allocates = 0; allocates < 2; allocates++) {
      struct second second;
      void *blocks[FEW];
      begin_second(&second, blocks, FEW, BYTES);
      do_step(&second, free_all);
      if (allocates) {
        do_step(&second, allocate_one);
        assert_int_equal(hw_heap_free(second.heap, blocks[0]), HW_HEAP_OK);
      }
      hw_heap_collect(second.heap);
      assert_int_equal(page_count(second.heap, BYTES), 1);
      ends ? end_second(&second) : do_step(&second, collect);
      hw_heap_collect(second.heap);
      assert_int_equal(page_count(second.heap, BYTES), 0);
      if (!ends)
        end_second(&second);
      end_heap(&second);
    }
}

static void a_kept_block_that_is_freed_twice_is_found(void **state)
{
  (void)state;
  struct second second;
  void *blocks[FEW];
  begin_second(&second, blocks, FEW, BYTES);
  do_step(&second, free_all);
  do_step(&second, expect_freed);
  expect_freed(&second);
  do_step(&second, allocate_again);
  do_step(&second, free_all);
  void *first = blocks[0];
  do_step(&second, allocate_one); /* the others are in the list from which blocks are given out */
  for (int i = 0; i < FEW; i++)
    if (blocks[i] == blocks[0] && i)
      blocks[i] = first;
  second.blocks++;
  second.count--;
  do_step(&second, expect_freed);
  expect_freed(&second);
  assert_int_equal(hw_heap_usable_bytes(second.heap, blocks[1]), 0);
  expect_used(second.heap, BYTES);
  assert_int_equal(hw_heap_free(second.heap, blocks[0]), HW_HEAP_OK);
  end_second(&second);
  end_heap(&second);
}

/* The owner of a page ends, and its page goes to the thread that keeps blocks of it. */
static void kept_blocks_outlive_the_thread_of_their_page(void **state)
{
  (void)state;
  struct second second;
  void *blocks[FEW], *own[FEW];
  begin_second(&second, blocks, 0, BYTES);
  second.count = FEW;
  do_step(&second, allocate_one);
  for (int i = 0; i < FEW; i++)
    own[i] = hw_heap_alloc(second.heap, BYTES);
  assert_int_equal(hw_heap_free(second.heap, blocks[0]), HW_HEAP_OK); /* kept by the main thread */
  end_second(&second);
  for (int i = 0; i < FEW; i++)
    assert_int_equal(hw_heap_free(second.heap, own[i]), HW_HEAP_OK);
  expect_used(second.heap, 0);
  end_heap(&second);
}

/* --- what a program must not do --- */

static void overwrite(struct second *second)
{
  for (size_t i = 0; i < second->count; i++)
    ((void **)second->blocks[i])[1] = second;
}

/* The second word of a free block says that it is free. Nothing depends on that but what is found. */
static void a_write_to_a_kept_block_is_not_followed(void **state)
{
  (void)state;
  for (int own = 0; own < 2; own++) {
    struct second second;
    void *blocks[FEW];
    begin_second(&second, blocks, FEW, BYTES);
    if (own) {
      free_all(&second);
      hw_heap_free(second.heap, hw_heap_alloc(second.heap, BYTES)); /* the others are in the thread's list */
    } else {
      do_step(&second, free_all);
    }
    overwrite(&second);
    do_step(&second, collect);
    hw_heap_collect(second.heap);
    assert_int_equal(page_count(second.heap, BYTES), 0);
    end_second(&second);
    end_heap(&second);
  }
}

static void a_kept_block_that_is_twice_in_the_list_is_damage(void **state)
{
  (void)state;
  struct second second;
  void *blocks[1];
  begin_second(&second, blocks, 1, BYTES);
  void *other = hw_heap_alloc(second.heap, LARGEST);
  do_step(&second, free_all);
  ((void **)blocks[0])[1] = NULL;
  do_step(&second, free_all);
  assert_int_equal(hw_heap_check(second.heap, NULL), HW_HEAP_DAMAGED);
  assert_int_equal(hw_heap_free(second.heap, other), HW_HEAP_OK);
  do_step(&second, allocate_one);
  do_step(&second, allocate_one);
  assert_true(hw_heap_destroy(second.heap));
  end_second(&second);
}

/* With check_all_frees, what another thread's free block contains is not believed: it may be in use by the time it is read. */
static void an_address_in_a_free_block_of_another_thread_proves_nothing(void **state)
{
  (void)state;
  struct second second = {.heap = heap_with(&(struct hw_heap_config){.check_all_frees = true}), .bytes = BYTES};
  void *blocks[1], *own = hw_heap_alloc(second.heap, BYTES);
  second.blocks = blocks;
  second.count = 1;
  run_second(&second);
  do_step(&second, allocate_one);
  do_step(&second, free_all);
  void *next = *(void **)blocks[0];
  *(void **)blocks[0] = own;
  assert_int_equal(hw_heap_free(second.heap, own), HW_HEAP_OK);
  *(void **)blocks[0] = next;
  end_second(&second);
  end_heap(&second);
}

/* --- own blocks and those of others --- */

enum { OWN = 300 };

static void free_own_and_others(struct second *second)
{
  static void *own[OWN];
  for (int i = 0; i < OWN; i++)
    assert_non_null(own[i] = hw_heap_alloc(second->heap, second->bytes));
  for (int i = 0; i < OWN; i++) {
    if (i % 100 == 50)
      assert_int_equal(hw_heap_free(second->heap, second->blocks[i / 100]), HW_HEAP_OK);
    assert_int_equal(hw_heap_free(second->heap, own[i]), HW_HEAP_OK);
    assert_int_equal(hw_heap_free(second->heap, own[i]), HW_HEAP_FREED);
  }
  expect_right(second->heap);
  assert_int_equal(used_bytes(second->heap), (second->count - 3) * second->bytes);
  for (int i = 0; i < OWN; i++)
    assert_non_null(own[i] = hw_heap_alloc(second->heap, second->bytes));
  expect_right(second->heap);
  for (int i = 0; i < OWN; i++)
    assert_int_equal(hw_heap_free(second->heap, own[i]), HW_HEAP_OK);
}

/* The list of the thread's page is the thread's own one while blocks of others are in it. */
static void own_blocks_are_freed_between_those_of_others(void **state)
{
  (void)state;
  for (int ends = 0; ends < 2; ends++) {
    struct second second;
    void *blocks[FEW];
    begin_second(&second, blocks, FEW, BYTES);
    do_step(&second, free_own_and_others);
    expect_right(second.heap);
    if (!ends)
      do_step(&second, collect);
    expect_right(second.heap);
    second.blocks += 3;
    second.count -= 3;
    free_all(&second);
    end_second(&second);
    end_heap(&second);
  }
}

/* --- forks --- */

/* What the other thread kept counts as used: it may have been handing it back. */
static void a_child_counts_what_it_walks(void **state)
{
  (void)state;
  struct second second;
  void *blocks[2 * FEW];
  begin_second(&second, blocks, 2 * FEW, BYTES);
  second.count = FEW;
  do_step(&second, free_all);
  pid_t child = fork();
  if (!child) {
    size_t visited = visited_bytes(second.heap), least = (size_t)FEW * BYTES;
    _exit(visited <= least || visited > least + (size_t)MOST_KEPT * BYTES || used_bytes(second.heap) != visited ||
          hw_heap_check(second.heap, NULL) != HW_HEAP_OK);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  second.blocks += FEW;
  free_all(&second);
  end_second(&second);
  end_heap(&second);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_thread_freed_it_gives_out_again),
      cmocka_unit_test(only_who_exchanges_short_blocks_keeps_them),
      cmocka_unit_test(who_takes_over_from_an_ended_thread_has_not_exchanged),
      cmocka_unit_test(a_list_of_a_whole_page_and_kept_blocks_is_right),
      cmocka_unit_test(a_thread_keeps_few),
      cmocka_unit_test(a_thread_that_exchanges_short_blocks_keeps_few),
      cmocka_unit_test(large_classes_are_not_kept),
      cmocka_unit_test(a_thread_that_collects_or_ends_keeps_nothing),
      cmocka_unit_test(a_kept_block_that_is_freed_twice_is_found),
      cmocka_unit_test(kept_blocks_outlive_the_thread_of_their_page),
      cmocka_unit_test(a_write_to_a_kept_block_is_not_followed),
      cmocka_unit_test(a_kept_block_that_is_twice_in_the_list_is_damage),
      cmocka_unit_test(an_address_in_a_free_block_of_another_thread_proves_nothing),
      cmocka_unit_test(own_blocks_are_freed_between_those_of_others),
      cmocka_unit_test(a_child_counts_what_it_walks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
