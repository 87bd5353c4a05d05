/* test_heap_idle.c - what a thread has freed, and does not use any more, goes back although nobody counted it
 *
 * Breaks if the page of a class that is not in use stays with the thread, if one that is in use does not, if a block is lost or given out
 * twice by a look, or if free memory that is never needed stays in the heap. A look is due 100 ms after the last one, memory after 200:
 * the tests write other times into the records instead of waiting.
 */
#include "allocators/heap/process_owner.h"
#include "new_heap.h"

#include <pthread.h>

#include "platform/os.h"

enum { BYTES = 64, OTHER_BYTES = 160, BLOCKS = 600 }; /* more than the frees between two looks, in one page */

static void make_look_due(struct hw_heap *heap)
{
  hwi_heap_owner(heap)->looked_ns = 1;
}

static void use(struct hw_heap *heap, size_t bytes, int count)
{
  for (int i = 0; i < count; i++)
    assert_int_equal(hw_heap_free(heap, hw_heap_alloc(heap, bytes)), HW_HEAP_OK);
}

/* So many frees of a class that the thread looks. */
static void look_in(struct hw_heap *heap, size_t bytes)
{
  make_look_due(heap);
  use(heap, bytes, HWI_MOST_FREES_UNTIL_ASK);
}

/* The other class is then in use. */
static void look(struct hw_heap *heap)
{
  look_in(heap, OTHER_BYTES);
}

static size_t pages_of(struct hw_heap *heap, size_t bytes)
{
  return row_of(heap, bytes).page_count;
}

static void alloc_blocks(struct hw_heap *heap, void **blocks)
{
  for (int i = 0; i < BLOCKS; i++)
    assert_non_null(blocks[i] = hw_heap_alloc(heap, BYTES));
}

static void free_blocks(struct hw_heap *heap, void **blocks, int first)
{
  for (int i = first; i < BLOCKS; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
}

/* --- pages --- */

static void the_page_of_a_class_that_is_not_used_goes_back(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[BLOCKS];
  alloc_blocks(heap, blocks);
  look(heap);
  free_blocks(heap, blocks, 0);
  look(heap);
  assert_int_equal(pages_of(heap, BYTES), 1); /* it was used since the look before */
  look(heap);
  assert_int_equal(pages_of(heap, BYTES), 0);
  assert_int_equal(pages_of(heap, OTHER_BYTES), 1);
  assert_int_equal(row_of(heap, OTHER_BYTES).taken_page_count, 1);
  expect_right(heap);
  alloc_blocks(heap, blocks);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* Above 4 KiB, pages are counted, and stay for the next block of their class. */
static void a_page_that_was_kept_for_the_next_block_goes_back(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  use(heap, LARGEST, 1);
  assert_int_equal(pages_of(heap, LARGEST), 1);
  look(heap);
  look(heap);
  assert_int_equal(pages_of(heap, LARGEST), 0);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* It is empty whenever the thread looks. */
static void a_counted_page_that_is_used_stays(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  for (int i = 0; i < 20; i++) {
    use(heap, LARGEST, 1);
    look(heap);
    assert_int_equal(pages_of(heap, LARGEST), 1);
  }
  assert_int_equal(row_of(heap, LARGEST).taken_page_count, 1);
  hw_heap_destroy(heap);
}

static void looks_come_no_oftener_than_that(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[BLOCKS];
  alloc_blocks(heap, blocks);
  free_blocks(heap, blocks, 0);
  for (int i = 0; i < 3; i++) {
    look(heap);
    assert_int_equal(pages_of(heap, BYTES), i < 1);
    alloc_blocks(heap, blocks);
    hwi_heap_owner(heap)->looked_ns = hwi_os_coarse_ns();
    free_blocks(heap, blocks, 0);
    use(heap, OTHER_BYTES, 4 * HWI_MOST_FREES_UNTIL_ASK);
    assert_int_equal(pages_of(heap, BYTES), 1);
    look(heap);
  }
  hw_heap_destroy(heap);
}

/* Frees blocks of a class until the thread looks. Returns how many. */
static int frees_until_look_in(struct hw_heap *heap, size_t bytes)
{
  make_look_due(heap);
  int count = 0;
  for (; hwi_heap_owner(heap)->looked_ns == 1 && count < 2 * HWI_MOST_FREES_UNTIL_ASK; count++)
    use(heap, bytes, 1);
  return count;
}

static void a_thread_that_frees_rarely_looks_after_few_frees(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  use(heap, OTHER_BYTES, 1);
  hwi_heap_owner(heap)->frees_until_ask = HWI_MOST_FREES_UNTIL_ASK; /* it freed often before */
  frees_until_look_in(heap, OTHER_BYTES);
  use(heap, BYTES, 1);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pages_of(heap, BYTES), 1);
    assert_int_equal(hwi_heap_owner(heap)->frees_until_ask, HWI_FEWEST_FREES_UNTIL_ASK);
    assert_int_equal(frees_until_look_in(heap, OTHER_BYTES), HWI_FEWEST_FREES_UNTIL_ASK);
  }
  assert_int_equal(pages_of(heap, BYTES), 0);
  hw_heap_destroy(heap);
}

/* While no look is due. */
static void it_asks_after_one_free_more_each_time(void **state)
{
  enum { ASKS = 5 };
  (void)state;
  struct hw_heap *heap = new_heap();
  use(heap, OTHER_BYTES, 1);
  struct hwi_owner *owner = hwi_heap_owner(heap);
  frees_until_look_in(heap, OTHER_BYTES);
  for (int k = 0; k < ASKS; k++) {
    assert_int_equal(owner->frees_until_ask, HWI_FEWEST_FREES_UNTIL_ASK + k);
    for (int i = 0; i < HWI_FEWEST_FREES_UNTIL_ASK + k; i++) {
      owner->looked_ns = hwi_os_coarse_ns();
      use(heap, OTHER_BYTES, 1);
    }
  }
  owner->frees_until_ask = HWI_MOST_FREES_UNTIL_ASK;
  for (int i = 0; i < 2 * HWI_MOST_FREES_UNTIL_ASK; i++) {
    owner->looked_ns = hwi_os_coarse_ns();
    use(heap, OTHER_BYTES, 1);
  }
  assert_int_equal(owner->frees_until_ask, HWI_MOST_FREES_UNTIL_ASK);
  hw_heap_destroy(heap);
}

static void a_page_with_a_block_stays_until_that_is_freed(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[BLOCKS];
  alloc_blocks(heap, blocks);
  free_blocks(heap, blocks, 1);
  for (int i = 0; i < 3; i++)
    look(heap);
  assert_int_equal(pages_of(heap, BYTES), 1);
  assert_int_equal(used_bytes(heap), BYTES);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, blocks[1]), HW_HEAP_FREED);
  assert_int_equal(hw_heap_free(heap, blocks[0]), HW_HEAP_OK);
  look(heap);
  assert_int_equal(pages_of(heap, BYTES), 1); /* it was used since the look before */
  look(heap);
  assert_int_equal(pages_of(heap, BYTES), 0);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* A thread that allocates, while others free, takes new lists of free blocks. */
static void a_page_from_which_blocks_are_taken_stays(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  const struct hwi_page *page = hwi_page_of(hw_heap_alloc(heap, BYTES));
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < BLOCKS / 4; k++)
      assert_non_null(hw_heap_alloc(heap, BYTES));
    look(heap);
    assert_true(hwi_page_has_list_of_owner(page));
  }
  look(heap);
  assert_false(hwi_page_has_list_of_owner(page));
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* The program has written to a free block. Who allocates there gets what it wrote; a look does not follow it. */
static void a_link_that_the_program_has_overwritten(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[BLOCKS], *link;
  alloc_blocks(heap, blocks);
  free_blocks(heap, blocks, 0);
  void *const wrong[] = {(void *)1, (char *)blocks[5] + 8, blocks[7], heap};
  memcpy(&link, blocks[7], sizeof link);
  for (size_t i = 0; i < COUNT(wrong); i++) {
    memcpy(blocks[7], &wrong[i], sizeof link);
    for (int k = 0; k < 3; k++)
      look(heap);
    assert_int_equal(pages_of(heap, BYTES), 1);
  }
  memcpy(blocks[7], &link, sizeof link);
  look(heap);
  assert_int_equal(pages_of(heap, BYTES), 0);
  hw_heap_destroy(heap);
}

/* With checked frees, blocks that are free for longest are given out first: they stay in the thread's list. */
static void a_heap_that_is_not_to_look(void **state)
{
  (void)state;
  const struct hw_heap_config configs[] = {{.returns = HW_HEAP_RETURNS_ON_COLLECT}, {.check_all_frees = true}};
  for (size_t i = 0; i < COUNT(configs); i++) {
    struct hw_heap *heap = heap_with(&configs[i]);
    void *blocks[BLOCKS];
    alloc_blocks(heap, blocks);
    free_blocks(heap, blocks, 0);
    for (int k = 0; k < 20; k++) {
      look(heap);
      for (int n = 0; n < 40; n++)
        assert_non_null(hw_heap_alloc(heap, HWI_SYSTEM_PAGE_BYTES)); /* on the slow path */
    }
    assert_int_equal(pages_of(heap, BYTES), 1);
    hw_heap_destroy(heap);
  }
}

/* --- what makes a thread look --- */

enum { KIB = 1 << 10, MANY = 4096 };

static void alloc_many(struct hw_heap *heap, void **blocks)
{
  for (int i = 0; i < MANY; i++)
    blocks[i] = hw_heap_alloc(heap, OTHER_BYTES);
}

static void replace_in_many_pages(struct hw_heap *heap, void **blocks)
{
  for (int i = 0; i < MANY; i++) {
    void **block = &blocks[i * 1001 % MANY];
    assert_int_equal(hw_heap_free(heap, *block), HW_HEAP_OK);
    *block = hw_heap_alloc(heap, OTHER_BYTES);
  }
}

static void use_counted_pages(struct hw_heap *heap, void **blocks)
{
  (void)blocks;
  use(heap, 8 * KIB, 100);
}

static void *free_many(void *argument)
{
  struct hw_heap *heap = ((void **)argument)[0];
  void **blocks = ((void **)argument)[1];
  bool is_right = hw_heap_free(heap, hw_heap_alloc(heap, BYTES)) == HW_HEAP_OK && pages_of(heap, BYTES) == 1;
  for (int i = 0; i < MANY; i++) {
    if (i % (MANY / 4) == 0)
      make_look_due(heap);
    is_right &= hw_heap_free(heap, blocks[i]) == HW_HEAP_OK;
  }
  return is_right && pages_of(heap, BYTES) == 0 ? argument : NULL;
}

static void (*const busy[])(struct hw_heap *heap, void **blocks) = {alloc_many, replace_in_many_pages,
                                                                    use_counted_pages};

static void each_kind_of_work_makes_a_thread_look(void **state)
{
  (void)state;
  static void *blocks[MANY];
  for (size_t i = 0; i < COUNT(busy); i++) {
    struct hw_heap *heap = new_heap();
    alloc_many(heap, blocks);
    use(heap, BYTES, 1);
    for (int k = 0; k < 3; k++) {
      make_look_due(heap);
      busy[i](heap, blocks);
    }
    assert_int_equal(pages_of(heap, BYTES), 0);
    expect_right(heap);
    hw_heap_destroy(heap);
  }
}

/* Spare pages of a class that is not used are behind the first one, which has a block. */
static void all_spare_pages_go_back(void **state)
{
  (void)state;
  enum { PAGES = 20, OF_PAGE = 65536 / BYTES };
  static void *blocks[PAGES * OF_PAGE];
  struct hw_heap *heap =
      heap_with(&(struct hw_heap_config){.thread_pages = (const size_t[]){1000}, .thread_pages_count = 1});
  for (size_t i = 0; i < COUNT(blocks); i++)
    assert_non_null(blocks[i] = hw_heap_alloc(heap, BYTES));
  for (size_t i = 0; i < COUNT(blocks) - 1; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  assert_int_equal(pages_of(heap, BYTES), PAGES);
  for (int i = 0; i < 3; i++)
    look(heap);
  assert_int_equal(pages_of(heap, BYTES), 1);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* All classes have more free blocks than one look counts. */
static void a_look_is_short(void **state)
{
  (void)state;
  static void *blocks[MANY];
  struct hw_heap *heap = new_heap();
  size_t before = 0, most = 0;
  for (size_t bytes = 16; bytes <= 128; bytes += 16) {
    size_t count = 65536 / bytes;
    for (size_t i = 0; i < count; i++)
      assert_non_null(blocks[i] = hw_heap_alloc(heap, bytes));
    for (size_t i = 0; i < count; i++)
      assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  }
  before = heap->taken_bytes;
  for (int i = 0; i < 12; i++) {
    look_in(heap, 2 * KIB);
    size_t given = before > heap->taken_bytes ? before - heap->taken_bytes : 0;
    most = given > most ? given : most;
    before = heap->taken_bytes;
  }
  assert_in_range(most, 1, 5 * HWI_SLICE_BYTES);
  for (size_t bytes = 16; bytes <= 128; bytes += 16)
    assert_int_equal(pages_of(heap, bytes), 0);
  hw_heap_destroy(heap);
}

/* --- other threads --- */

static void *free_all_of(void *argument)
{
  struct hw_heap *heap = ((void **)argument)[0];
  void **blocks = ((void **)argument)[1];
  for (int i = 0; i < BLOCKS; i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      return NULL;
  return argument;
}

static void use_in_another_thread(void *(*body)(void *), struct hw_heap *heap, void *blocks)
{
  void *argument[] = {heap, blocks}, *result;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, argument);
}

/* The owner itself only frees and allocates what it has. */
static void what_others_have_freed_goes_back(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[BLOCKS];
  look(heap);
  alloc_blocks(heap, blocks);
  use_in_another_thread(free_all_of, heap, blocks);
  for (int i = 0; i < 3; i++)
    look(heap);
  assert_int_equal(pages_of(heap, BYTES), 0);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* Each of these would otherwise bring the next look nearer, or let it come after four billion frees. */
static void what_others_free_is_not_counted(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[BLOCKS];
  alloc_blocks(heap, blocks);
  use_in_another_thread(free_all_of, heap, blocks);
  use(heap, KIB, 1); /* a class without blocks, so that the thread takes back what was freed */
  look_in(heap, BYTES);
  look_in(heap, BYTES);
  assert_int_equal(pages_of(heap, KIB), 0);
  assert_int_equal(pages_of(heap, BYTES), 1);
  hw_heap_destroy(heap);
}

enum { LONG = 3 * MANY };

/* Each of these returns how many blocks stay in use. */
static int use_nothing(struct hw_heap *heap)
{
  (void)heap;
  return 0;
}

static int use_one(struct hw_heap *heap)
{
  use(heap, BYTES, 1);
  return 0;
}

static int take_one(struct hw_heap *heap)
{
  assert_non_null(hw_heap_alloc(heap, BYTES));
  return 1;
}

static int use_one_and_take_all(struct hw_heap *heap)
{
  use(heap, BYTES, 1);
  for (int i = 0; i < LONG; i++)
    assert_non_null(hw_heap_alloc(heap, BYTES));
  return LONG;
}

static void *free_one_of(void *argument)
{
  struct hw_heap *heap = ((void **)argument)[0];
  return hw_heap_free(heap, ((void **)argument)[1]) == HW_HEAP_OK ? argument : NULL;
}

/* The list then begins with the same block as before. */
static int take_two_and_let_another_thread_free_the_first(struct hw_heap *heap)
{
  void *first = hw_heap_alloc(heap, BYTES);
  assert_non_null(hw_heap_alloc(heap, BYTES));
  use_in_another_thread(free_one_of, heap, first);
  return 1;
}

/* The same, and as many frees are left as at the last look: one more than until the second time that the thread asks. */
static int take_two_and_use_the_first(struct hw_heap *heap)
{
  void *first = hw_heap_alloc(heap, BYTES);
  const struct hwi_page *page = hwi_page_of(first);
  assert_non_null(hw_heap_alloc(heap, BYTES));
  assert_int_equal(hw_heap_free(heap, first), HW_HEAP_OK);
  hwi_heap_owner(heap)->frees_until_ask = HWI_FEWEST_FREES_UNTIL_ASK + 1;
  do {
    hwi_heap_owner(heap)->looked_ns = hwi_os_coarse_ns();
    use(heap, BYTES, 1);
  } while (page->count != HWI_FEWEST_FREES_UNTIL_ASK);
  return 1;
}

/* Of a page that has more free blocks than one look counts. */
static struct hw_heap *heap_with_long_list(void)
{
  static void *blocks[LONG];
  struct hw_heap *heap =
      heap_with(&(struct hw_heap_config){.page_bytes = (const size_t[]){1 << 20}, .page_bytes_count = 1});
  for (int i = 0; i < LONG; i++)
    assert_non_null(blocks[i] = hw_heap_alloc(heap, BYTES));
  for (int i = 0; i < LONG; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  return heap;
}

/* What happens between two looks does not make the count wrong. */
static void a_long_list_is_counted_in_parts(void **state)
{
  (void)state;
  int (*const between[])(struct hw_heap *) = {use_nothing,
                                              use_one,
                                              take_one,
                                              use_one_and_take_all,
                                              take_two_and_let_another_thread_free_the_first,
                                              take_two_and_use_the_first};
  for (size_t i = 0; i < COUNT(between); i++) {
    struct hw_heap *heap = heap_with_long_list();
    for (int k = 0; k < 3; k++) /* the first one sees that the class was used */
      look(heap);
    assert_int_equal(pages_of(heap, BYTES), 1);
    int used = between[i](heap);
    look(heap);
    assert_int_equal(pages_of(heap, BYTES), i != 0);
    for (int k = 0; k < 5; k++)
      look(heap);
    assert_int_equal(pages_of(heap, BYTES), used != 0);
    assert_int_equal(used_bytes(heap), used * BYTES);
    expect_right(heap);
    hw_heap_destroy(heap);
  }
}

/* Its list changes from look to look. The thread does not begin anew, but looks at the other classes. */
static void a_class_of_which_blocks_are_taken_keeps_no_other_one(void **state)
{
  (void)state;
  struct hw_heap *heap = heap_with_long_list();
  use(heap, KIB, 1);
  for (int k = 0; k < 8; k++) {
    assert_non_null(hw_heap_alloc(heap, BYTES));
    look(heap);
  }
  assert_int_equal(pages_of(heap, KIB), 0);
  assert_int_equal(used_bytes(heap), 8 * BYTES);
  expect_right(heap);
  hw_heap_destroy(heap);
}

static bool has_kept(struct hw_heap *heap, const void *block)
{
  return hwi_heap_owner(heap)->own_lists[hwi_page_of(block)->class_index];
}

static void *keep_and_look(void *argument)
{
  struct hw_heap *heap = ((void **)argument)[0];
  void **blocks = ((void **)argument)[1];
  bool is_right = free_all_of(argument) && has_kept(heap, blocks[0]);
  for (int i = 0; i < 15; i++) {
    look(heap);
    is_right &= has_kept(heap, blocks[0]);
  }
  look(heap);
  return is_right && !has_kept(heap, blocks[0]) ? argument : NULL;
}

static void a_thread_that_frees_others_blocks_looks(void **state)
{
  (void)state;
  static void *blocks[MANY];
  struct hw_heap *heap = new_heap();
  alloc_many(heap, blocks);
  use_in_another_thread(free_many, heap, blocks);
  hw_heap_destroy(heap);
}

/* They hold its pages. */
static void kept_blocks_of_another_thread_go_back(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[BLOCKS];
  alloc_blocks(heap, blocks);
  use_in_another_thread(keep_and_look, heap, blocks);
  expect_right(heap);
  hw_heap_destroy(heap);
}

enum { THREADS = 4, STEPS = 30000, SHARED = 256 };

static struct hw_heap *shared_heap;
static struct model_block shared_blocks[SHARED];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Puts one of its blocks in a place that all share, and takes what another thread has put there. */
static bool exchange(struct model *model)
{
  size_t place = model_any(model) % SHARED, which = model->count ? model_any(model) % model->count : 0;
  if (!model->count)
    return true;
  pthread_mutex_lock(&mutex);
  struct model_block taken = shared_blocks[place];
  shared_blocks[place] = model->blocks[which];
  pthread_mutex_unlock(&mutex);
  model->blocks[which] = taken;
  if (!taken.at)
    model->blocks[which] = model->blocks[--model->count];
  return true;
}

static void *work(void *argument)
{
  struct model *model = argument;
  for (int i = 0; i < STEPS; i++) {
    if (!shared_heap->sole)
      make_look_due(shared_heap);
    unsigned most_bits = 6 + (unsigned)i / 3000 % 3 * 5; /* classes come out of use */
    if (!model_step(model, most_bits) || !exchange(model))
      return NULL;
  }
  return model_free_all(model) ? model : NULL;
}

static void each_slow_path_looks(void **state)
{
  (void)state;
  static struct model models[THREADS];
  const struct hw_heap_config configs[] = {
      {0},
      {.returns = HW_HEAP_RETURNS_AT_ONCE},
      {.thread_pages = (const size_t[]){3}, .thread_pages_count = 1},
      {.thread_pages = (const size_t[]){0}, .thread_pages_count = 1},
      {.threads = HW_HEAP_CENTRAL},
  };
  for (size_t i = 0; i < COUNT(configs); i++) {
    pthread_t threads[THREADS];
    shared_heap = heap_with(&configs[i]);
    memset(shared_blocks, 0, sizeof shared_blocks);
    for (size_t k = 0; k < THREADS; k++) {
      models[k] = (struct model){.heap = shared_heap, .seed = 88172645463325252u + i * THREADS + k};
      assert_int_equal(pthread_create(&threads[k], NULL, work, &models[k]), 0);
    }
    for (size_t k = 0; k < THREADS; k++) {
      void *result;
      assert_int_equal(pthread_join(threads[k], &result), 0);
      assert_ptr_equal(result, &models[k]);
    }
    expect_right(shared_heap);
    for (size_t k = 0; k < SHARED; k++)
      if (shared_blocks[k].at)
        assert_true(model_is_whole(&shared_blocks[k]) && hw_heap_free(shared_heap, shared_blocks[k].at) == HW_HEAP_OK);
    assert_int_equal(used_bytes(shared_heap), 0);
    expect_right(shared_heap);
    hw_heap_destroy(shared_heap);
  }
}

/* --- the heap's free memory --- */

/* What is kept was not needed for long, except what was needed since the last look. */
static void return_idle(struct hw_heap *heap)
{
  heap->idle_since_ns = 1;
  look(heap);
}

static void free_memory_that_is_not_needed_goes_back(void **state)
{
  (void)state;
  enum { KEPT = 1 << 20, NEEDED = 256 << 10 };
  struct hw_heap *heap = new_heap();
  void *block = hw_heap_alloc(heap, KEPT);
  look(heap);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  return_idle(heap);
  assert_int_equal(heap->kept_bytes, KEPT);
  use(heap, NEEDED, 1);
  return_idle(heap);
  assert_in_range(heap->kept_bytes, NEEDED, NEEDED + HWI_SLICE_BYTES);
  return_idle(heap);
  hwi_heap_collect_settled(heap);
  assert_in_range(heap->kept_bytes, 0, HWI_SLICE_BYTES);
  hw_heap_destroy(heap);
}

static void what_the_program_wants_to_keep_stays(void **state)
{
  (void)state;
  enum { KEPT = 1 << 20 };
  const struct hw_heap_config configs[] = {{.keep_free_bytes = KEPT}, {.returns = HW_HEAP_RETURNS_ABOVE}};
  for (size_t k = 0; k < COUNT(configs); k++) {
    struct hw_heap *heap = heap_with(&configs[k]);
    use(heap, KEPT, 1);
    for (int i = 0; i < 3; i++)
      return_idle(heap);
    assert_in_range(heap->kept_bytes, KEPT - HWI_SLICE_BYTES, KEPT);
    hw_heap_destroy(heap);
  }
}

/* Dropping a part of it would break huge pages, and the system would make no more of them there. */
static void an_arena_that_gets_huge_pages_stays_whole(void **state)
{
  (void)state;
  enum { KEPT = 1 << 20 };
  struct hw_heap *heap = new_heap();
  void *block = hw_heap_alloc(heap, KEPT);
  struct hwi_page *arena = hwi_unit_of(hwi_slice_of(block));
  arena->huge_pages = HWI_GETS_HUGE;
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  for (int i = 0; i < 3; i++)
    return_idle(heap);
  assert_in_range(heap->kept_bytes, KEPT - HWI_SLICE_BYTES, KEPT);
  assert_int_equal(arena->huge_pages, HWI_GETS_HUGE);
  arena->huge_pages = HWI_MAY_BECOME_HUGE;
  for (int i = 0; i < 3; i++)
    return_idle(heap);
  assert_in_range(heap->kept_bytes, 0, HWI_SLICE_BYTES);
  hw_heap_destroy(heap);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_page_of_a_class_that_is_not_used_goes_back),
      cmocka_unit_test(a_page_that_was_kept_for_the_next_block_goes_back),
      cmocka_unit_test(a_counted_page_that_is_used_stays),
      cmocka_unit_test(looks_come_no_oftener_than_that),
      cmocka_unit_test(a_thread_that_frees_rarely_looks_after_few_frees),
      cmocka_unit_test(it_asks_after_one_free_more_each_time),
      cmocka_unit_test(a_page_with_a_block_stays_until_that_is_freed),
      cmocka_unit_test(a_page_from_which_blocks_are_taken_stays),
      cmocka_unit_test(a_link_that_the_program_has_overwritten),
      cmocka_unit_test(a_heap_that_is_not_to_look),
      cmocka_unit_test(each_kind_of_work_makes_a_thread_look),
      cmocka_unit_test(all_spare_pages_go_back),
      cmocka_unit_test(a_look_is_short),
      cmocka_unit_test(a_thread_that_frees_others_blocks_looks),
      cmocka_unit_test(what_others_have_freed_goes_back),
      cmocka_unit_test(what_others_free_is_not_counted),
      cmocka_unit_test(a_long_list_is_counted_in_parts),
      cmocka_unit_test(a_class_of_which_blocks_are_taken_keeps_no_other_one),
      cmocka_unit_test(kept_blocks_of_another_thread_go_back),
      cmocka_unit_test(each_slow_path_looks),
      cmocka_unit_test(free_memory_that_is_not_needed_goes_back),
      cmocka_unit_test(what_the_program_wants_to_keep_stays),
      cmocka_unit_test(an_arena_that_gets_huge_pages_stays_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
