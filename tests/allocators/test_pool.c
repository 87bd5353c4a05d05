/* test_pool.c - a pool's blocks are whole, aligned and exclusive, whatever came before; and the memory in which it is
 * placed
 *
 * Breaks if blocks overlap, if free memory is lost or counted twice, if a request is met from a block that is too
 * small, if neighbours do not merge, or if the pool's own data are wrong after any step.
 */
#include "heapwright/pool.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "pool_model.h"

enum { SMALL = 1 << 16, LARGE = 1 << 24, STEPS = 20000 };

static _Alignas(4096) unsigned char memory[LARGE];

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

/* Sizes as in programs: each power of two is as likely as any other. */
static size_t any_size(unsigned most_bits)
{
  return any() & (((uint64_t)1 << any() % most_bits) - 1);
}

static void step(struct model *model, unsigned most_bits)
{
  unsigned choice = any() % 16;
  size_t which = model->count ? any() % model->count : 0;
  if (!model->count || choice < 7)
    model_alloc(model, 0, any_size(most_bits));
  else if (choice < 8)
    model_alloc(model, (size_t)1 << any() % 14, any_size(most_bits));
  else if (choice < 9)
    model_resize(model, which, any_size(most_bits));
  else if (choice < 10)
    model_realloc(model, which, any_size(most_bits));
  else
    model_free(model, which);
}

static void random_steps_keep_everything(void **state)
{
  (void)state;
  static const struct {
    size_t bytes;
    unsigned most_bits;
  } pools[] = {{SMALL, 10}, {SMALL, 16}, {1 << 20, 14}, {LARGE, 12}, {LARGE, 24}};
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
    struct model model = {.pool = hw_pool_init(memory, pools[i].bytes, 0)};
    assert_non_null(model.pool);
    for (int n = 0; n < STEPS; n++) {
      step(&model, pools[i].most_bits);
      model_expect_valid(&model);
    }
    model_finish(&model);
  }
}

/* Memory is added piece by piece, at odd places, some of it adjacent to existing regions, while blocks are allocated
 * and freed. */
static void regions_arrive_in_between(void **state)
{
  (void)state;
  enum { PIECE = 4096, PIECES = 64 };
  for (int turn = 0; turn < 20; turn++) {
    bool is_there[PIECES] = {false};
    unsigned char *pieces = memory + SMALL + any() % 64 / 16 * 8;
    struct model model = {.pool = hw_pool_init(memory, SMALL / 4, LARGE)};
    size_t piece_count = 0;
    for (int n = 0; n < 2000; n++) {
      size_t piece = any() % (PIECES * 20);
      if (piece < PIECES) {
        assert_int_equal(hw_pool_add_region(model.pool, pieces + piece * PIECE, PIECE), !is_there[piece]);
        piece_count += !is_there[piece];
        is_there[piece] = true;
      }
      step(&model, 12);
      model_expect_valid(&model);
    }
    assert_in_range(piece_count, PIECES / 2, PIECES);
    model_finish(&model);
  }
}

static size_t region_count(const struct hw_pool *pool)
{
  struct hw_pool_stats stats;
  hw_pool_get_stats(pool, &stats);
  return stats.region_count;
}

static size_t largest_free(const struct hw_pool *pool)
{
  struct hw_pool_stats stats;
  hw_pool_get_stats(pool, &stats);
  return stats.largest_free_bytes;
}

static void neighbours_become_one(void **state)
{
  (void)state;
  enum { PART = 1 << 16 };
  struct hw_pool *pool = hw_pool_init(memory, PART, LARGE);
  unsigned char *parts = memory + 2 * PART;
  assert_true(hw_pool_add_region(pool, parts, PART));
  assert_true(hw_pool_add_region(pool, parts + 2 * PART, PART));
  assert_int_equal(region_count(pool), 3);
  assert_null(hw_pool_alloc(pool, PART));
  assert_true(hw_pool_add_region(pool, parts + PART, PART)); /* merges both */
  assert_int_equal(region_count(pool), 2);
  assert_in_range(largest_free(pool), 3 * PART - 64, 3 * PART);
  void *block = hw_pool_alloc(pool, 3 * PART - 256);
  assert_ptr_equal(block, parts + 4 * sizeof(void *));
  assert_true(hw_pool_add_region(pool, memory + PART, PART)); /* and now the first with them */
  assert_int_equal(region_count(pool), 1);
  assert_true(hw_pool_is_valid(pool, NULL));
  assert_int_equal(hw_pool_free(pool, block), HW_POOL_OK);
  assert_in_range(largest_free(pool), 4 * PART, 5 * PART);
  assert_true(hw_pool_is_valid(pool, NULL));
}

/* As in growth by 100 bytes: each piece begins at the end of the last one, in the middle of an aligned word. */
static void odd_pieces_become_one(void **state)
{
  (void)state;
  struct hw_pool *pool = hw_pool_init(memory, SMALL, LARGE);
  while (hw_pool_alloc(pool, 1))
    ;
  size_t end = SMALL;
  for (size_t bytes = 100; bytes <= 800; bytes *= 2) {
    assert_null(hw_pool_alloc(pool, 1000));
    assert_true(hw_pool_add_region(pool, memory + end, bytes));
    assert_true(hw_pool_is_valid(pool, NULL));
    end += bytes;
  }
  assert_non_null(hw_pool_alloc(pool, 1000));
  assert_int_equal(region_count(pool), 1);
}

static void regions_are_refused(void **state)
{
  (void)state;
  struct hw_pool *pool = hw_pool_init(memory, SMALL, 2 * SMALL);
  struct hw_pool_stats before, after;
  hw_pool_get_stats(pool, &before);
  assert_false(hw_pool_add_region(pool, NULL, SMALL));
  assert_false(hw_pool_add_region(pool, memory + LARGE / 2, 0));
  assert_false(hw_pool_add_region(pool, memory + LARGE / 2, 5 * sizeof(void *)));
  assert_false(hw_pool_add_region(pool, memory + SMALL, 2 * sizeof(void *)));
  assert_false(hw_pool_add_region(pool, memory + LARGE / 2, 3 * SMALL));
  assert_false(hw_pool_add_region(pool, memory, 100)); /* the pool's own tables */
  assert_false(hw_pool_add_region(pool, memory + SMALL - 1, SMALL));
  assert_false(hw_pool_add_region(pool, memory + SMALL / 2, 8 * sizeof(void *)));
  assert_false(hw_pool_add_region(pool, memory + SMALL, SIZE_MAX - 8));
  assert_false(hw_pool_add_region(pool, memory + SMALL, (size_t)0 - (uintptr_t)(memory + SMALL)));
  hw_pool_get_stats(pool, &after);
  assert_int_equal(after.capacity_bytes, before.capacity_bytes);
  assert_int_equal(after.region_count, 1);
  assert_true(hw_pool_is_valid(pool, NULL));
}

/* Merged, they would be larger than the pool's limit for a region: they stay two, and both are used. */
static void regions_stay_apart_where_one_would_be_too_large(void **state)
{
  (void)state;
  struct hw_pool *pool = hw_pool_init(memory, SMALL, SMALL + SMALL / 2);
  assert_true(hw_pool_add_region(pool, memory + SMALL, SMALL));
  assert_int_equal(region_count(pool), 2);
  assert_non_null(hw_pool_alloc(pool, SMALL - 256));
  assert_true(hw_pool_is_valid(pool, NULL));
}

static void memory_may_be_small_or_odd(void **state)
{
  (void)state;
  assert_null(hw_pool_init(NULL, SMALL, 0));
  size_t least = 0;
  while (!hw_pool_init(memory, least, 0))
    least++;
  assert_in_range(least, 75 * sizeof(void *), 250 * sizeof(void *)); /* at least two rows */
  for (size_t odd = 0; odd < 64; odd++) {
    struct model model = {.pool = hw_pool_init(memory + odd, 4096 + odd * 3, 0)};
    memory[odd + 4096 + odd * 3] = 0xee;
    for (int n = 0; n < 500; n++) {
      step(&model, 11);
      model_expect_valid(&model);
    }
    model_finish(&model);
    assert_int_equal(memory[odd + 4096 + odd * 3], 0xee);
  }
}

static void large_requests_are_refused(void **state)
{
  (void)state;
  struct hw_pool *pool = hw_pool_init(memory, LARGE, (size_t)1 << (sizeof(size_t) == 8 ? 46 : 30));
  void *kept = hw_pool_alloc(pool, 100);
  for (unsigned bit = 24; bit < 8 * sizeof(size_t); bit++)
    for (int off = -40; off <= 40; off++) {
      size_t bytes = ((size_t)1 << bit) + (size_t)off;
      if (bytes < LARGE)
        continue;
      assert_null(hw_pool_alloc(pool, bytes));
      assert_null(hw_pool_alloc_aligned(pool, 64, bytes));
      assert_null(hw_pool_alloc_aligned(pool, SIZE_MAX / 2 + 1, bytes));
      assert_false(hw_pool_resize(pool, kept, bytes));
      assert_null(hw_pool_realloc(pool, kept, bytes));
    }
  assert_null(hw_pool_alloc(pool, SIZE_MAX));
  assert_int_equal(hw_pool_usable_bytes(pool, kept), sizeof(size_t) == 8 ? 104 : 100);
  assert_true(hw_pool_is_valid(pool, NULL));
}

/* At each power of two, and next to it, where the bins change: the block is large enough, and the exact rest stays
 * free. */
static void boundary_sizes(void **state)
{
  (void)state;
  struct model model = {.pool = hw_pool_init(memory, LARGE, 0)};
  for (unsigned bit = 0; bit < 23; bit++)
    for (int off = -33; off <= 33; off++) {
      if (off < 0 && ((size_t)1 << bit) < (size_t)-off)
        continue;
      model_alloc(&model, 0, ((size_t)1 << bit) + (size_t)off);
      assert_int_equal(model.count, 1);
      model_alloc(&model, 0, 1);
      model_free(&model, 0);
      model_alloc(&model, 0, model.blocks[0].bytes);
      model_expect_valid(&model);
      model_finish(&model);
    }
}

static void a_freed_size_is_given_again(void **state)
{
  (void)state;
  struct hw_pool *pool = hw_pool_init(memory, LARGE, 0);
  for (size_t bytes = 8; bytes < SMALL; bytes += 1 + bytes / 7) {
    void *block = hw_pool_alloc(pool, bytes), *fence = hw_pool_alloc(pool, 1);
    hw_pool_free(pool, block);
    assert_ptr_equal(hw_pool_alloc(pool, bytes), block);
    hw_pool_free(pool, block);
    hw_pool_free(pool, fence);
  }
}

static void alignments(void **state)
{
  (void)state;
  struct model model = {.pool = hw_pool_init(memory, LARGE, 0)};
  for (unsigned bit = 0; bit <= 20; bit++)
    for (size_t bytes = 0; bytes < 5000; bytes = bytes * 3 + 1) {
      model_alloc(&model, (size_t)1 << bit, bytes);
      model_alloc(&model, (size_t)1 << bit, bytes);
      assert_int_equal(model.count, 2);
      model_alloc(&model, 0, 1);
      model_expect_valid(&model);
      model_finish(&model);
    }
  for (size_t bad = 0; bad < 100; bad++)
    if (bad & (bad - 1) || !bad)
      assert_null(hw_pool_alloc_aligned(model.pool, bad, 100));
  assert_true(hw_pool_is_valid(model.pool, NULL));
}

/* Aligned blocks leave no gaps: the pool holds as many as there is room for, apart from the space for alignment. */
static void aligned_blocks_return_head_and_tail(void **state)
{
  (void)state;
  struct hw_pool *pool = hw_pool_init(memory, LARGE, 0);
  size_t count = 0, small = 0;
  while (hw_pool_alloc_aligned(pool, 4096, 64))
    count++;
  assert_in_range(count, LARGE / 4096 - 16, LARGE / 4096);
  while (hw_pool_alloc(pool, 1000))
    small++;
  assert_in_range(small, 3 * count, 4 * count);
  assert_true(hw_pool_is_valid(pool, NULL));
}

static void exhausted_and_whole_again(void **state)
{
  enum { WORD = sizeof(void *), SMALLEST = 4 * WORD };
  (void)state;
  static void *blocks[LARGE / 16];
  struct hw_pool *pool = hw_pool_init(memory, LARGE, 0);
  struct hw_pool_stats full, empty;
  size_t count = 0;
  hw_pool_get_stats(pool, &empty);
  while ((blocks[count] = hw_pool_alloc(pool, 3 * WORD)))
    count++;
  hw_pool_get_stats(pool, &full);
  assert_int_equal(count, empty.capacity_bytes / SMALLEST);
  assert_int_equal(full.used_bytes, empty.capacity_bytes);
  assert_int_equal(full.largest_free_bytes, 0);
  for (size_t i = 0; i < count; i += 2)
    hw_pool_free(pool, blocks[i]);
  assert_null(hw_pool_alloc(pool, 6 * WORD));
  hw_pool_get_stats(pool, &full);
  assert_in_range(full.fragmentation_permille, 990, 1000);
  for (size_t i = 1; i < count; i += 2)
    hw_pool_free(pool, blocks[i]);
  hw_pool_get_stats(pool, &full);
  assert_int_equal(full.largest_free_bytes, empty.largest_free_bytes);
  assert_int_equal(full.peak_bytes, empty.capacity_bytes);
  assert_int_equal(full.fragmentation_permille, 0);
  assert_true(hw_pool_is_valid(pool, NULL));
}

struct seen {
  size_t used, free, bytes;
  const void *last;
};

static bool see(void *context, void *block, size_t bytes, bool is_used)
{
  struct seen *seen = context;
  assert_true((uintptr_t)block > (uintptr_t)seen->last);
  seen->used += is_used;
  seen->free += !is_used;
  seen->bytes += is_used ? bytes : 0;
  seen->last = block;
  return seen->used < 3;
}

static void walk_shows_blocks_in_order(void **state)
{
  (void)state;
  struct hw_pool *pool = hw_pool_init(memory, SMALL, 0);
  hw_pool_alloc(pool, 100);
  void *gap = hw_pool_alloc(pool, 200);
  hw_pool_alloc(pool, 300);
  hw_pool_free(pool, gap);
  struct seen seen = {0};
  hw_pool_walk(pool, see, &seen);
  assert_int_equal(seen.used, 2);
  assert_int_equal(seen.free, 2);
  assert_int_equal(seen.bytes, sizeof(void *) == 8 ? 104 + 312 : 100 + 300);
  hw_pool_alloc(pool, 5000);
  hw_pool_alloc(pool, 5000);
  seen = (struct seen){0};
  hw_pool_walk(pool, see, &seen); /* ends when the callback says so */
  assert_int_equal(seen.used, 3);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_steps_keep_everything),
      cmocka_unit_test(regions_arrive_in_between),
      cmocka_unit_test(neighbours_become_one),
      cmocka_unit_test(odd_pieces_become_one),
      cmocka_unit_test(regions_are_refused),
      cmocka_unit_test(regions_stay_apart_where_one_would_be_too_large),
      cmocka_unit_test(memory_may_be_small_or_odd),
      cmocka_unit_test(large_requests_are_refused),
      cmocka_unit_test(boundary_sizes),
      cmocka_unit_test(a_freed_size_is_given_again),
      cmocka_unit_test(alignments),
      cmocka_unit_test(aligned_blocks_return_head_and_tail),
      cmocka_unit_test(exhausted_and_whole_again),
      cmocka_unit_test(walk_shows_blocks_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
