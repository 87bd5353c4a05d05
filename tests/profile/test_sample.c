/* test_sample.c - the estimates of a sampled trace, and their errors
 *
 * A run is sampled 200 times. Breaks if an estimate is biased; if its error is too small or too large; if a weight is not
 * the same at the end of a block as at its birth; if calls that are counted are taken from the sample, or the other way
 * round.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "profile/blocks/sample.h"
#include "profile/counters/totals.h"
#include "profile/profile.h"

enum { SAMPLE_BYTES = 256, RUNS = 200, BLOCKS = 12000, STACKS = 3 };
static const uint64_t T = 1000000;
static struct enc enc;
static char path[] = "/tmp/hw-test-sample-XXXXXX";

static uint64_t random_state;

/* splitmix64 */
static uint64_t next_random(void)
{
  uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static bool is_chosen(uint64_t size)
{
  return (double)(next_random() >> 11) / 9007199254740992.0 < hwi_sample_probability(SAMPLE_BYTES, size);
}

/* --- weights --- */

static void test_mean_and_variance_of_weights(void **state)
{
  (void)state;
  static const uint64_t sizes[] = {0, 1, 8, 100, 150, 256, 400, 1000, 100000000};
  struct hw_trace_header header = {.sample_bytes = SAMPLE_BYTES};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const double p = hwi_sample_probability(SAMPLE_BYTES, sizes[s]);
    enum { DRAWS = 100000 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
      const struct hwi_sample_birth birth = {sizes[s], T + i, 0x10000 + i % 7 * 64};
      const uint32_t weight = hwi_sample_weight(&header, &birth);
      assert_true(weight == (uint32_t)floor(1 / p) || weight == (uint32_t)floor(1 / p) + 1);
      sum += weight;
      squares += (double)weight * weight;
    }
    assert_true(fabs(sum / DRAWS * p - 1) < 0.01);
    const double variance = squares / DRAWS * p - 1; /* of the weight of a call, 0 if it is not in the sample */
    assert_true(fabs(hwi_sample_variance(SAMPLE_BYTES, sizes[s]) - variance) <= 0.02 * variance + 0.01);
  }
  assert_true(hwi_sample_variance(0, 100) == 0);
  header.sample_bytes = UINT64_MAX;
  assert_int_equal(hwi_sample_weight(&header, &(struct hwi_sample_birth){1, 1, 1}), HWI_SAMPLE_WEIGHT_MOST);
  assert_int_equal(hwi_sample_error(0), 0);
  assert_int_equal(hwi_sample_error(-1e-9), 0);
  assert_int_equal(hwi_sample_error(100), 20);
  assert_true(fabs(hwi_sample_variance_of(hwi_sample_error(1e12)) / 1e12 - 1) < 0.001);
}

/* --- a run, and samples of it --- */

/* A block begins in a stack and may end, freed by the other thread or replaced by realloc. */
struct block {
  uint64_t size, address;
  uint32_t stack;
  bool is_freed, is_foreign, is_moved, is_temporary;
};
static struct block blocks[BLOCKS];

struct figures {
  double calls, bytes, live_bytes, temporary_calls;
};
static struct figures exact[STACKS + 1]; /* the last one is of all stacks */

static void add(struct figures *figures, const struct block *block)
{
  figures->calls++;
  figures->bytes += (double)block->size;
  figures->live_bytes += block->is_freed ? 0 : (double)block->size;
  figures->temporary_calls += block->is_freed && block->is_temporary;
}

static uint64_t any_size(uint64_t i)
{
  static const uint64_t least[] = {8, 100, 5000, 60000, 1000000, 100000000};
  const uint64_t class = i % 1000 == 0 ? 5 : i % 100 == 0 ? 4 : i % 10 == 0 ? 3 : i % 4;
  return least[class] + next_random() % least[class];
}

static void make_run(void)
{
  random_state = 1;
  memset(exact, 0, sizeof exact);
  for (uint64_t i = 0; i < BLOCKS; i++) {
    struct block *block = &blocks[i];
    *block = (struct block){.size = any_size(i), .address = (i + 1) << 32, .stack = (uint32_t)(next_random() % STACKS)};
    block->is_freed = next_random() % 3 != 0;
    block->is_foreign = next_random() % 2;
    block->is_moved = next_random() % 4 == 0;
    block->is_temporary = !block->is_foreign && !block->is_moved;
    add(&exact[block->stack], block);
    add(&exact[STACKS], block);
  }
}

/* Writes a sample of the run. Blocks of thread 1 that are foreign end in thread 2. */
static void write_sample(uint64_t seed, bool has_counts)
{
  uint64_t counts[HW_COUNTS] = {BLOCKS, (uint64_t)exact[STACKS].bytes, 0};
  for (int i = 0; i < BLOCKS; i++)
    counts[HW_COUNT_FREES] += blocks[i].is_freed;
  const uint64_t begin = T + seed; /* so that weights are rounded differently each time */
  random_state = seed;
  enc_init(&enc, 1);
  enc.header.sample_bytes = SAMPLE_BYTES;
  enc.header.fields = HW_FIELD_SAMPLED;
  for (uint32_t thread = 1; thread <= 2; thread++) {
    const int chunk = enc_chunk(&enc, thread - 1, 0, thread, T);
    enc.chunks[chunk].header.fields = HW_FIELD_SAMPLED;
    const uint32_t chunk_of[] = {thread, thread - 1, 0};
    uint8_t payload[HW_COUNTS_BYTES] = {0};
    memcpy(payload + HW_COUNTS_THREAD_OFF, chunk_of, sizeof chunk_of);
    if (thread == 1)
      memcpy(payload + HW_COUNTS_PADDING, counts, sizeof counts);
    if (has_counts)
      enc_record(&enc, chunk, HW_RECORD_COUNTS, payload, sizeof payload);
  }
  enc_main(&enc, 0);
  for (uint32_t stack = 1; stack < STACKS; stack++)
    enc_node(&enc, 0, 2 + stack, 1, 1, HW_ENTRY_MALLOC, 0x400300 + stack);
  for (uint64_t i = 0; i < BLOCKS; i++) {
    const struct block *block = &blocks[i];
    if (!is_chosen(block->size))
      continue;
    enc_alloc(&enc, 0, begin + 10 * i, 2 + block->stack, block->size, block->address);
    if (!block->is_freed)
      continue;
    if (block->is_temporary)
      enc_record(&enc, 0, HW_RECORD_TEMPORARY, NULL, 0);
    if (block->is_moved)
      enc_free_via(&enc, 0, begin + 10 * i + 3, HW_ENTRY_REALLOC, block->address);
    else
      enc_free(&enc, block->is_foreign, begin + 10 * i + 3, block->address);
  }
  enc_write(&enc, path);
  enc_release(&enc);
}

static struct hwi_profile *profile_of(enum hwi_span_kind kind)
{
  struct hwi_profile *profile;
  struct hwi_profile_options options = {.images = HWI_IMAGES_ALL, .span = {.kind = kind, .to_ns = UINT64_MAX}};
  struct hwi_error error = {.text = ""};
  assert_int_equal(hwi_profile_create(&profile, path, &options, &error), 0);
  return profile;
}

/* Of one figure, over all runs. */
struct trials {
  double sum, error_sum;
  int within;
};

static void try(struct trials *trials, double estimate, float variance, double right)
{
  const double error = (double)hwi_sample_error(variance);
  trials->sum += estimate;
  trials->error_sum += error;
  trials->within += fabs(estimate - right) <= error;
}

/* Of 200 intervals of 95 %, 190 contain the exact figure on average. The mean is 14 times as exact as one estimate. */
static void assert_fair(const struct trials *trials, double right)
{
  assert_in_range(trials->within, RUNS * 88 / 100, RUNS * 99 / 100);
  assert_true(fabs(trials->sum / RUNS - right) <= 1.5 * trials->error_sum / RUNS / sqrt(RUNS));
}

static void test_200_samples(void **state)
{
  (void)state;
  struct trials trials[STACKS + 1][4] = {0};
  make_run();
  for (uint64_t run = 0; run < RUNS; run++) {
    write_sample(1000 + run, true);
    struct hwi_profile *profile = profile_of(HWI_SPAN_RUN);
    struct hwi_stack all = {0};
    assert_int_equal(profile->sample_bytes, SAMPLE_BYTES);
    for (uint32_t s = 1; s < profile->stack_count; s++) {
      const struct hwi_stack *stack = &profile->stacks[s];
      const uint64_t address = profile->frames[stack->frame].address;
      const uint64_t number = address == 0x400200 ? 0 : address - 0x400300;
      struct trials *of = trials[number];
      try(&of[0], (double)stack->calls, stack->variance.calls, exact[number].calls);
      try(&of[1], (double)stack->bytes, stack->variance.bytes, exact[number].bytes);
      try(&of[2], (double)stack->live_bytes, stack->variance.live_bytes, exact[number].live_bytes);
      try(&of[3], (double)stack->temporary_calls, stack->variance.temporary_calls, exact[number].temporary_calls);
      all.calls += stack->calls;
      all.bytes += stack->bytes;
      hwi_variance_add(&all.variance, &stack->variance);
    }
    const struct hwi_totals *totals = &profile->totals;
    struct trials *of = trials[STACKS];
    try(&of[0], (double)all.calls, all.variance.calls, exact[STACKS].calls);
    try(&of[1], (double)all.bytes, all.variance.bytes, exact[STACKS].bytes);
    try(&of[2], (double)totals->live_bytes_at_end, all.variance.live_bytes, exact[STACKS].live_bytes);
    try(&of[3], (double)totals->temporary_calls, all.variance.temporary_calls, exact[STACKS].temporary_calls);
    hwi_profile_destroy(profile);
  }
  for (int number = 0; number <= STACKS; number++) {
    assert_fair(&trials[number][0], exact[number].calls);
    assert_fair(&trials[number][1], exact[number].bytes);
    assert_fair(&trials[number][2], exact[number].live_bytes);
    assert_fair(&trials[number][3], exact[number].temporary_calls);
  }
}

/* --- what is exact --- */

static void test_all_calls_are_counted(void **state)
{
  (void)state;
  make_run();
  write_sample(7, true);
  struct hwi_profile *profile = profile_of(HWI_SPAN_RUN);
  assert_true(profile->calls_are_exact);
  assert_int_equal(profile->totals.allocation_calls, BLOCKS);
  assert_int_equal(profile->totals.allocated_bytes, (uint64_t)exact[STACKS].bytes);
  assert_int_equal(profile->threads[0].allocation_calls + profile->threads[1].allocation_calls, BLOCKS);
  assert_int_equal(profile->totals.unmatched_frees + profile->totals.missed_frees, 0);
  uint64_t ended = 0, calls = 0;
  for (uint32_t s = 1; s < profile->stack_count; s++) {
    calls += profile->stacks[s].calls;
    for (int lifetime = 0; lifetime < HWI_LIFETIMES; lifetime++)
      ended += profile->stacks[s].lifetimes[lifetime];
  }
  assert_int_equal(ended, calls); /* each block ends with the weight that it began with */
  hwi_profile_destroy(profile);
}

/* Of a part of the run, and of a forged trace without counts, the calls are estimates. */
static void test_calls_that_are_not_counted_are_estimates(void **state)
{
  (void)state;
  make_run();
  write_sample(7, false);
  struct hwi_profile *whole = profile_of(HWI_SPAN_RUN);
  write_sample(7, true);
  struct hwi_profile *part = profile_of(HWI_SPAN_INTERVAL);
  assert_false(whole->calls_are_exact);
  assert_false(part->calls_are_exact);
  assert_int_equal(whole->totals.allocation_calls, part->totals.allocation_calls);
  assert_int_not_equal(whole->totals.allocation_calls, BLOCKS);
  assert_int_equal(whole->totals.live_bytes_at_end, part->totals.live_bytes_at_end);
  hwi_profile_destroy(whole);
  hwi_profile_destroy(part);
}

/* What is counted while a program runs is the same. */
static void test_totals(void **state)
{
  (void)state;
  struct hwi_counts counts;
  struct hwi_error error = {.text = ""};
  make_run();
  write_sample(9, true);
  struct hwi_profile *profile = profile_of(HWI_SPAN_RUN);
  const struct hwi_totals *totals = &profile->totals;
  assert_int_equal(hwi_count_trace(&counts, path, &error), 0);
  assert_int_equal(counts.allocation_calls, totals->allocation_calls);
  assert_int_equal(counts.free_calls, totals->free_calls);
  assert_int_equal(counts.temporary_calls, totals->temporary_calls);
  assert_int_equal(counts.live_bytes, totals->live_bytes_at_end);
  assert_int_equal(counts.live_blocks, totals->live_blocks_at_end);
  assert_int_equal(counts.peak_bytes, totals->peak_bytes);
  assert_int_equal(counts.peak_blocks, totals->peak_blocks);
  hwi_profile_destroy(profile);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mean_and_variance_of_weights),
      cmocka_unit_test(test_200_samples),
      cmocka_unit_test(test_all_calls_are_counted),
      cmocka_unit_test(test_calls_that_are_not_counted_are_estimates),
      cmocka_unit_test(test_totals),
  };
  const int file = mkstemp(path);
  if (file < 0)
    return 1;
  close(file);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
