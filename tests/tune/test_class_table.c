/* test_class_table.c - the table of size classes is the best one: compared with all other tables
 *
 * Breaks if a table is worse than another one of as many classes, or if a cost is not what blocks take in pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/classes/class_table.h"

enum { USES_MOST = 400, OWNERS = 4 };

static struct hwi_class_optimum optimum;
static struct hwi_class_use uses[USES_MOST];

static uint64_t random_below(uint64_t limit)
{
  static uint64_t state = 20220607;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % limit;
}

static int by_granules(const void *left, const void *right)
{
  return ((const struct hwi_class_use *)left)->granules - ((const struct hwi_class_use *)right)->granules;
}

/* Makes a random demand. Alignments are up to 2^align_most granules. */
static struct hwi_class_demand random_demand(size_t count, unsigned granules, unsigned align_most)
{
  struct hwi_class_demand demand = {uses, count, OWNERS, (uint16_t)granules};
  for (size_t i = 0; i < count; i++) {
    unsigned align_log2 = random_below(4) ? 0 : (unsigned)random_below(align_most + 1);
    unsigned units = granules >> align_log2;
    uint64_t peak = random_below(3) ? random_below(random_below(2) ? 20 : 5000) : 0;
    uses[i] = (struct hwi_class_use){.owner = (uint32_t)random_below(OWNERS),
                                     .granules = (uint16_t)((1 + random_below(units)) << align_log2),
                                     .align_log2 = (uint8_t)align_log2,
                                     .peak_blocks = peak,
                                     .most_blocks = peak + random_below(500),
                                     .mean_blocks = (double)random_below(1000) / 7};
  }
  qsort(uses, count, sizeof *uses, by_granules);
  return demand;
}

/* What the header says that a table costs, counted in the simplest way. */
static double objective(const struct hwi_class_demand *demand, const struct hwi_class_table *table)
{
  double sum = 0, all_bytes = 0, harmonic = 0;
  for (size_t i = 0, class = 0; i < table->count; i++) {
    const double bytes = (double)table->bytes[i], page = bytes > 4096 ? 4 * 65536 : 65536,
                 block = page / floor(page / bytes);
    for (uint32_t owner = 0; owner < demand->owner_count; owner++) {
      double at_peak = 0, most = 0;
      bool is_used = false;
      for (size_t k = 0; k < demand->use_count; k++) {
        const struct hwi_class_use *use = &demand->uses[k];
        for (class = 0; table->bytes[class] < use->granules * 16u || table->bytes[class] % (16u << use->align_log2);)
          class ++;
        if (class != i || use->owner != owner)
          continue;
        is_used = true;
        at_peak += (double)use->peak_blocks * block;
        most = fmax(most, (double)use->most_blocks * bytes);
        sum += ((double)use->peak_blocks + (double)use->most_blocks + use->mean_blocks) * block;
        all_bytes += ((double)use->peak_blocks + (double)use->most_blocks + use->mean_blocks) * use->granules * 16;
      }
      if (is_used)
        sum += 2048 + fmax(0, fmin(page, ceil(most / 4096) * 4096) - at_peak);
    }
  }
  for (unsigned i = 1; i <= demand->granules; i++)
    harmonic += 1.0 / i;
  for (unsigned i = 1, class = 0; i <= demand->granules; i++) {
    class += table->bytes[class] < i * 16u;
    const double page = table->bytes[class] > 4096 ? 4 * 65536 : 65536;
    sum += 0.03 * all_bytes / (harmonic * 16 * i * i) * page / floor(page / (double)table->bytes[class]);
  }
  return sum;
}

static void assert_equal(double a, double b)
{
  assert_true(fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)));
}

/* Sets the least cost of each number of classes: all subsets of the smaller classes are tried. */
static void try_all(double *best, const struct hwi_class_demand *demand)
{
  for (size_t i = 0; i <= demand->granules; i++)
    best[i] = INFINITY;
  for (unsigned subset = 0; subset < 1u << (demand->granules - 1); subset++) {
    struct hwi_class_table table = {.count = 0};
    for (unsigned i = 1; i <= demand->granules; i++)
      if (i == demand->granules || subset >> (i - 1) & 1)
        table.bytes[table.count++] = (size_t)i * HWI_CLASS_GRANULE_BYTES;
    best[table.count] = fmin(best[table.count], objective(demand, &table));
  }
}

static void assert_none_is_better(const struct hwi_class_demand *demand)
{
  enum { GRANULES_MOST = 16 };
  double best[GRANULES_MOST + 1];
  try_all(best, demand);
  assert_true(hwi_class_optimize(&optimum, demand));
  for (size_t count = 1; count <= demand->granules; count++) {
    assert_int_equal(optimum.tables[count].count, count);
    assert_equal(optimum.costs[count], best[count]);
    assert_equal(optimum.bounds[count], best[count]);
    assert_equal(objective(demand, &optimum.tables[count]), best[count]);
  }
  assert_true(isinf(optimum.costs[demand->granules + 1]));
}

static void test_no_other_table_is_better(void **state)
{
  (void)state;
  enum { GRANULES = 12, ROUNDS = 60 };
  for (int round = 0; round < ROUNDS; round++) {
    const struct hwi_class_demand demand = random_demand(1 + random_below(40), GRANULES, 2);
    assert_none_is_better(&demand);
  }
}

/* A class that was no multiple of the alignment of one block used to be left out, even if that block could have a larger class.
 * From few blocks, to as many that all pages are full; from none that are aligned to all. */
static void test_no_other_table_is_better_for_aligned_blocks(void **state)
{
  (void)state;
  enum { GRANULES = 8, ROUNDS = 1500 };
  for (unsigned round = 0; round < ROUNDS; round++) {
    const struct hwi_class_demand demand = random_demand(1 + random_below(12), GRANULES, 3);
    for (size_t i = 0; i < demand.use_count; i++) {
      if (round % 3 == 0 && uses[i].granules % 2 == 0)
        uses[i].align_log2 = uses[i].granules % 4 ? 1 : (uint8_t)(1 + random_below(2));
      if (round % 4 == 0)
        uses[i].peak_blocks = uses[i].most_blocks;
      if (round % 5 == 0)
        uses[i].mean_blocks = (double)uses[i].most_blocks * 100;
    }
    assert_none_is_better(&demand);
  }
}

/* One block of 4 KiB that is aligned to its size, between many smaller and larger ones: it gets the largest class. */
static void test_an_aligned_block_does_not_keep_a_class_away(void **state)
{
  (void)state;
  struct hwi_class_use known[] = {
      {.granules = 250, .peak_blocks = 750, .most_blocks = 750, .mean_blocks = 750},
      {.granules = 256, .align_log2 = 8, .peak_blocks = 1, .most_blocks = 1, .mean_blocks = 1},
      {.granules = 288, .peak_blocks = 750, .most_blocks = 750, .mean_blocks = 750}};
  const struct hwi_class_demand demand = {known, 3, 1, HWI_CLASS_GRANULES};
  assert_true(hwi_class_optimize(&optimum, &demand));
  assert_int_equal(optimum.tables[2].bytes[0], 4672); /* 56 in a page, as of 4,608 */
  assert_equal(objective(&demand, &optimum.tables[2]), optimum.costs[2]);
  assert_equal(optimum.bounds[2], optimum.costs[2]);
}

/* All sizes of several threads are aligned, to different powers of two: not all tables are looked at. The bound is below the cost
 * then, but not by much. */
static void test_many_aligned_sizes(void **state)
{
  (void)state;
  enum { GRANULES = 256, COUNT = 200 };
  const struct hwi_class_demand demand = {uses, COUNT, OWNERS, GRANULES};
  size_t open_count = 0;
  for (size_t i = 0; i < COUNT; i++) {
    const unsigned align_log2 = 1 + (unsigned)random_below(3);
    const uint64_t blocks = 1 + random_below(5);
    uses[i] = (struct hwi_class_use){.owner = (uint32_t)random_below(OWNERS),
                                     .granules = (uint16_t)((1 + random_below(GRANULES >> align_log2)) << align_log2),
                                     .align_log2 = (uint8_t)align_log2,
                                     .peak_blocks = blocks,
                                     .most_blocks = blocks,
                                     .mean_blocks = (double)blocks};
  }
  qsort(uses, COUNT, sizeof *uses, by_granules);
  assert_true(hwi_class_optimize(&optimum, &demand));
  for (size_t count = 1; count <= HWI_CLASS_COUNT_MAX; count++) {
    assert_equal(objective(&demand, &optimum.tables[count]), optimum.costs[count]);
    assert_true(optimum.bounds[count] <= optimum.costs[count] && optimum.bounds[count] >= optimum.costs[count] * 0.98);
    open_count += optimum.bounds[count] < optimum.costs[count];
  }
  assert_true(open_count > 0);
}

/* Sizes up to 32 KiB, where pages have two lengths: all tables of two classes are tried, and all that differ from the best one in
 * one class. */
static void test_no_change_is_better(void **state)
{
  (void)state;
  enum { ROUNDS = 2, COUNTS = 3 };
  static const size_t counts[COUNTS] = {2, 9, 40};
  for (int round = 0; round < ROUNDS; round++) {
    const struct hwi_class_demand demand = random_demand(30 + random_below(USES_MOST - 30), HWI_CLASS_GRANULES, 11);
    assert_true(hwi_class_optimize(&optimum, &demand));
    for (size_t k = 0; k < COUNTS; k++) {
      struct hwi_class_table table = optimum.tables[counts[k]];
      const double cost = objective(&demand, &table);
      assert_equal(cost, optimum.costs[counts[k]]);
      assert_int_equal(table.bytes[table.count - 1], HW_HEAP_LARGEST_CLASS_BYTES);
      size_t changed = random_below(table.count - 1);
      size_t from = changed ? table.bytes[changed - 1] : 0, to = table.bytes[changed + 1];
      for (size_t bytes = from + HWI_CLASS_GRANULE_BYTES; bytes < to; bytes += HWI_CLASS_GRANULE_BYTES) {
        table.bytes[changed] = bytes;
        assert_true(objective(&demand, &table) >= cost * (1 - 1e-9));
      }
    }
  }
}

/* 1,000 blocks of 100 bytes, and 10 of 5,000, which another thread has. */
static void test_a_known_cost(void **state)
{
  (void)state;
  struct hwi_class_use known[] = {
      {.owner = 0, .granules = 7, .peak_blocks = 1000, .most_blocks = 1000, .mean_blocks = 500},
      {.owner = 1, .granules = 313, .peak_blocks = 10, .most_blocks = 10, .mean_blocks = 10}};
  const struct hwi_class_demand demand = {known, 2, 2, HWI_CLASS_GRANULES};
  const struct hwi_class_table table = {{128, 6144, 32768}, 3};
  struct hwi_class_cost cost;
  assert_true(hwi_class_cost_of(&cost, &demand, &table));
  assert_equal(cost.block_bytes, 1000 * 128 + 10 * 6144);
  assert_equal(cost.end_bytes, 10 * (262144.0 / 42 - 6144));
  assert_equal(cost.part_bytes, 2 * 2048);
  assert_equal(cost.mean_bytes, 500 * 128 + 10 * 262144.0 / 42);
}

/* The first page of a class stays with its thread: what was in it, up to its end. */
static void test_pages_that_are_kept(void **state)
{
  (void)state;
  struct hwi_class_use known[] = {{.granules = 1, .peak_blocks = 1, .most_blocks = 1000},
                                  {.granules = 2, .peak_blocks = 0, .most_blocks = 400},
                                  {.granules = 8, .peak_blocks = 0, .most_blocks = UINT64_MAX}};
  const struct hwi_class_demand demand = {known, 3, 1, HWI_CLASS_GRANULES};
  const struct hwi_class_table apart = {{16, 32, 128, 32768}, 4}, together = {{32, 128, 32768}, 3};
  struct hwi_class_cost cost;
  assert_true(hwi_class_cost_of(&cost, &demand, &apart));
  assert_equal(cost.part_bytes, 3 * 2048 + 4 * 4096 - 16 + 4 * 4096 + 65536);
  assert_true(hwi_class_cost_of(&cost, &demand, &together));
  assert_equal(cost.part_bytes, 2 * 2048 + 8 * 4096 - 32 + 65536);
}

/* A size of which there are many for a moment, before the peak: its class is not much too large. */
static void test_blocks_that_are_gone_at_the_peak(void **state)
{
  (void)state;
  struct hwi_class_use known[] = {{.granules = 7, .peak_blocks = 100000, .most_blocks = 100000, .mean_blocks = 50000},
                                  {.granules = 273, .peak_blocks = 0, .most_blocks = 1000}};
  const struct hwi_class_demand demand = {known, 2, 1, HWI_CLASS_GRANULES};
  assert_true(hwi_class_optimize(&optimum, &demand));
  assert_int_equal(optimum.tables[3].bytes[0], 112);
  assert_int_equal(optimum.tables[3].bytes[1], 4368);
}

/* As the heap: the first class that is a multiple of the alignment. */
static void test_aligned_blocks(void **state)
{
  (void)state;
  struct hwi_class_use known[] = {{.granules = 4, .align_log2 = 2, .peak_blocks = 1, .most_blocks = 1}};
  const struct hwi_class_demand demand = {known, 1, 1, HWI_CLASS_GRANULES};
  const struct hwi_class_table table = {{48, 80, 112, 192, 32768}, 5};
  struct hwi_class_cost cost;
  assert_true(hwi_class_cost_of(&cost, &demand, &table));
  assert_equal(cost.block_bytes, 192);
}

/* Another run has other sizes: the table is then usable, too. */
static void test_sizes_that_were_not_recorded(void **state)
{
  (void)state;
  struct hwi_class_use known[] = {{.granules = 7, .peak_blocks = 100000, .most_blocks = 100000, .mean_blocks = 100000}};
  const struct hwi_class_demand demand = {known, 1, 1, HWI_CLASS_GRANULES};
  assert_true(hwi_class_optimize(&optimum, &demand));
  const struct hwi_class_table *table = &optimum.tables[16];
  bool has_it = false;
  for (size_t i = 0; i < table->count; i++) {
    has_it |= table->bytes[i] == 112;
    assert_true(i == 0 || table->bytes[i] <= 3 * table->bytes[i - 1]);
  }
  assert_true(has_it);
}

static void test_nothing_is_needed(void **state)
{
  (void)state;
  const struct hwi_class_demand demand = {uses, 0, 0, HWI_CLASS_GRANULES};
  assert_true(hwi_class_optimize(&optimum, &demand));
  for (size_t i = 1; i <= HWI_CLASS_COUNT_MAX; i++) {
    assert_int_equal(optimum.tables[i].count, i);
    assert_int_equal(optimum.tables[i].bytes[i - 1], HW_HEAP_LARGEST_CLASS_BYTES);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_other_table_is_better),
      cmocka_unit_test(test_no_other_table_is_better_for_aligned_blocks),
      cmocka_unit_test(test_an_aligned_block_does_not_keep_a_class_away),
      cmocka_unit_test(test_many_aligned_sizes),
      cmocka_unit_test(test_no_change_is_better),
      cmocka_unit_test(test_a_known_cost),
      cmocka_unit_test(test_pages_that_are_kept),
      cmocka_unit_test(test_blocks_that_are_gone_at_the_peak),
      cmocka_unit_test(test_aligned_blocks),
      cmocka_unit_test(test_sizes_that_were_not_recorded),
      cmocka_unit_test(test_nothing_is_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
