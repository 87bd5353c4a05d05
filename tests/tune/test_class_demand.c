/* test_class_demand.c - the blocks of a recording by size and owner: at the peak, at most and over time
 *
 * Breaks if the size classes are chosen for other blocks than those that the program had.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heapwright/detail/entry_list.h"
#include "tune/classes/class_demand.h"

enum { EVENTS_MOST = 40000, APART = 0x100 };

/* The events are passed as they are. */
static struct hwi_block_event events[EVENTS_MOST];
static size_t event_count;
static uint64_t now_ns;

static int replay(void *context, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  (void)context;
  for (size_t i = 0; i < event_count; i++)
    if (!sink->take(sink->context, &events[i]))
      return hwi_error_set(error, HW_ERR_LIMIT, "the sink wants no more");
  return HW_OK;
}

static struct hwi_image images[3] = {{.counted = true}, {.counted = true}, {.counted = false}};
static struct hwi_recorded_demand recorded;

static void count_blocks(uint64_t duration_ns)
{
  const struct hwi_profile profile = {
      .images = images, .image_count = 3, .duration_ns = duration_ns, .totals.allocation_calls = UINT32_MAX};
  const struct hwi_replayer replayer = {replay, NULL};
  struct hwi_error error = {0};
  assert_int_equal(hwi_recorded_demand_init(&recorded, &profile, &replayer, &error), 0);
}

static int begin(void **state)
{
  (void)state;
  event_count = 0;
  now_ns = 0;
  return 0;
}

static struct hwi_block_event *add(enum hwi_block_event_kind kind, uint32_t thread, uint64_t block, uint64_t size)
{
  struct hwi_block_event *event = &events[event_count++];
  *event = (struct hwi_block_event){.ns = now_ns,
                                    .address = block * APART,
                                    .size = size,
                                    .thread = thread,
                                    .kind = (uint8_t)kind,
                                    .entry = HW_ENTRY_MALLOC,
                                    .weight = 1};
  return event;
}

static void add_alloc(uint32_t thread, uint64_t block, uint64_t size)
{
  add(HWI_BLOCK_ALLOC, thread, block, size);
}

static void add_free(uint32_t thread, uint64_t block, uint64_t size)
{
  add(HWI_BLOCK_FREE, thread, block, size);
}

/* Returns a use of zeros if there is none. */
static struct hwi_class_use use_of(uint32_t owner, unsigned granules)
{
  for (size_t i = 0; i < recorded.demand.use_count; i++)
    if (recorded.demand.uses[i].owner == owner && recorded.demand.uses[i].granules == granules)
      return recorded.demand.uses[i];
  return (struct hwi_class_use){0};
}

/* --- known answers --- */

static void test_the_peak_is_that_of_blocks_with_a_class(void **state)
{
  (void)state;
  add_alloc(0, 1, 1000000); /* no class; then it goes, and small blocks come */
  add_alloc(0, 2, 100);
  now_ns = 100;
  add_free(0, 1, 1000000);
  add_alloc(0, 3, 50000);
  add_alloc(0, 4, 112);
  add_alloc(0, 5, 0);
  now_ns = 300;
  add_free(0, 2, 100);
  count_blocks(1000);
  assert_int_equal(recorded.asked_bytes, 212);
  assert_int_equal(recorded.large_bytes, 50000);
  assert_int_equal(recorded.request_count, 3);
  assert_true(fabs(recorded.mean_asked_bytes - (100 * 300 + 112 * 900) / 1000.0) < 1e-6);
  struct hwi_class_use use = use_of(0, 7);
  assert_int_equal(use.peak_blocks, 2);
  assert_int_equal(use.most_blocks, 2);
  assert_true(fabs(use.mean_blocks - (300 + 900) / 1000.0) < 1e-6);
  assert_int_equal(use_of(0, 1).peak_blocks, 0); /* it has no bytes: the peak was before it */
  assert_int_equal(use_of(0, 1).most_blocks, 1);
  hwi_recorded_demand_release(&recorded);
}

static void test_alignments(void **state)
{
  (void)state;
  add(HWI_BLOCK_ALLOC, 0, 1, 100)->alignment_log2 = 6;
  add(HWI_BLOCK_ALLOC, 0, 2, 100)->alignment_log2 = 4;
  add(HWI_BLOCK_ALLOC, 0, 3, 100)->entry = HW_ENTRY_PVALLOC;
  add(HWI_BLOCK_ALLOC, 0, 4, 100)->alignment_log2 = 15;
  add(HWI_BLOCK_ALLOC, 0, 5, 100)->alignment_log2 = 16; /* no class has this */
  add(HWI_BLOCK_ALLOC, 0, 6, 100)->alignment_log2 = UINT8_MAX;
  count_blocks(1);
  assert_int_equal(recorded.demand.use_count, 4);
  assert_int_equal(use_of(0, 7).align_log2, 0);
  assert_int_equal(use_of(0, 8).align_log2, 2);
  assert_int_equal(use_of(0, 256).align_log2, 8);
  assert_int_equal(use_of(0, 2048).align_log2, 11);
  assert_int_equal(recorded.large_bytes, 0); /* the peak was before them */
  hwi_recorded_demand_release(&recorded);
}

/* As hw_heap_realloc: to half of the block, or more, it stays. */
static void test_realloc_to_less_stays(void **state)
{
  (void)state;
  static const uint64_t sizes[] = {1000, 500, 400, 2000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    add_alloc(0, i + 1, 1008);
    add(HWI_BLOCK_FREE, 0, i + 1, 1008)->moved = true;
    if (i == 1) /* of the address that the second half uses: it was freed unseen */
      add(HWI_BLOCK_FREE_MISSED, 0, i + 1, 1);
    add(HWI_BLOCK_ALLOC, 0, i + 1, sizes[i])->moved = true;
  }
  count_blocks(1);
  assert_int_equal(use_of(0, 63).peak_blocks, 1); /* 504 is half of 1,008 */
  assert_int_equal(use_of(0, 32).peak_blocks, 1);
  assert_int_equal(use_of(0, 25).peak_blocks, 1);
  assert_int_equal(use_of(0, 125).peak_blocks, 1);
  assert_int_equal(recorded.request_count, 8);
  hwi_recorded_demand_release(&recorded);
}

/* Threads 1 and 2 run at the same time, 3 after them; 4 is of another process. */
static void test_owners(void **state)
{
  (void)state;
  static const uint32_t order[] = {1, 2, 1, 2, 3, 3, 0};
  add_alloc(0, 1, 16);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    now_ns += 10;
    add_alloc(order[i], 10 + i, 16);
  }
  add_alloc(4, 99, 16);
  events[event_count - 1].image = 1;
  add_alloc(5, 100, 16);
  events[event_count - 1].image = 2; /* not counted */
  now_ns += 10;
  add(HWI_BLOCK_LEFT, 0, 99, 16)->image = 1;
  count_blocks(now_ns);
  assert_int_equal(recorded.demand.owner_count, 4);
  assert_int_equal(use_of(0, 1).most_blocks, 2);
  assert_int_equal(use_of(1, 1).peak_blocks, 2 + 2);
  assert_int_equal(use_of(1, 1).most_blocks, 2);
  assert_int_equal(use_of(2, 1).peak_blocks, 2);
  assert_int_equal(use_of(3, 1).peak_blocks, 1);
  assert_int_equal(recorded.asked_bytes, 9 * 16);
  hwi_recorded_demand_release(&recorded);
}

static void test_a_sample(void **state)
{
  (void)state;
  add(HWI_BLOCK_ALLOC, 0, 1, 100)->weight = 1000;
  add(HWI_BLOCK_ALLOC, 0, 2, 100)->weight = 10;
  add(HWI_BLOCK_FREE, 0, 1, 100)->weight = 1000;
  count_blocks(1);
  assert_int_equal(use_of(0, 7).peak_blocks, 1010);
  assert_int_equal(recorded.asked_bytes, 101000);
  assert_int_equal(recorded.request_count, 1010);
  hwi_recorded_demand_release(&recorded);
}

static void test_what_a_forged_recording_may_have(void **state)
{
  (void)state;
  add_alloc(0, 1, 100);
  add_alloc(0, 1, 200); /* the same address twice */
  add_alloc(0, 0, 300); /* no address */
  add_free(0, 7, 100);  /* never allocated */
  add_alloc(0, 2, UINT64_MAX);
  add(HWI_BLOCK_ALLOC, 9, 3, 16)->image = 77;
  count_blocks(0);
  assert_int_equal(use_of(0, 7).peak_blocks, 1);
  assert_int_equal(recorded.demand.use_count, 1);
  hwi_recorded_demand_release(&recorded);
}

/* --- against counts that are copied at each peak --- */

enum { BLOCKS = 300, SIZES = 40 };

static uint64_t random_below(uint64_t limit)
{
  static uint64_t state = 20220607;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % limit;
}

static void test_random_blocks(void **state)
{
  (void)state;
  uint64_t sizes[BLOCKS + 1] = {0}, live[SIZES + 1] = {0}, most[SIZES + 1] = {0}, at_peak[SIZES + 1] = {0};
  double block_ns[SIZES + 1] = {0};
  uint64_t bytes = 0, peak = 0;
  while (event_count < EVENTS_MOST) {
    uint64_t block = 1 + random_below(BLOCKS), step = random_below(5);
    now_ns += step;
    for (size_t i = 1; i <= SIZES; i++)
      block_ns[i] += (double)(live[i] * step);
    uint64_t size = sizes[block], units = (size + 15) / 16;
    if (size) {
      add_free(0, block, size);
      bytes -= size;
      live[units]--;
      sizes[block] = 0;
      continue;
    }
    sizes[block] = size = 1 + random_below(SIZES * 16);
    units = (size + 15) / 16;
    add_alloc(0, block, size);
    bytes += size;
    live[units]++;
    most[units] = live[units] > most[units] ? live[units] : most[units];
    if (bytes > peak) {
      peak = bytes;
      memcpy(at_peak, live, sizeof at_peak);
    }
  }
  count_blocks(now_ns);
  assert_int_equal(recorded.asked_bytes, peak);
  for (unsigned i = 1; i <= SIZES; i++) {
    struct hwi_class_use use = use_of(0, i);
    assert_int_equal(use.peak_blocks, at_peak[i]);
    assert_int_equal(use.most_blocks, most[i]);
    assert_true(fabs(use.mean_blocks - block_ns[i] / (double)now_ns) < 1e-6);
  }
  hwi_recorded_demand_release(&recorded);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_the_peak_is_that_of_blocks_with_a_class, begin),
      cmocka_unit_test_setup(test_alignments, begin),
      cmocka_unit_test_setup(test_realloc_to_less_stays, begin),
      cmocka_unit_test_setup(test_owners, begin),
      cmocka_unit_test_setup(test_a_sample, begin),
      cmocka_unit_test_setup(test_what_a_forged_recording_may_have, begin),
      cmocka_unit_test_setup(test_random_blocks, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
