/* test_sampler.c - which allocations are events of a sample
 *
 * If this fails, every estimate of a sampled recording is wrong by a factor that depends on the size of the blocks. The
 * generator begins with fixed numbers, so that the results are always the same.
 */
#include "record/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record/session.h"

enum { DRAWS = 400000, SIGMAS = 4 };

/* Returns whether `hits` of `tries` fit the probability. */
static bool fits(uint64_t hits, uint64_t tries, double probability)
{
  double expected = (double)tries * probability, sigma = sqrt(expected * (1 - probability));
  return fabs((double)hits - expected) <= SIGMAS * sigma + 1;
}

static void test_distances_are_exponential(void **state)
{
  static const uint64_t means[] = {1, 2, 64, 512 << 10, UINT64_C(1) << 40};
  static const double shares[] = {0.001, 0.1, 0.7, 1, 3, 10};
  (void)state;
  for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
    uint64_t random = m, within[sizeof shares / sizeof *shares] = {0};
    for (int i = 0; i < DRAWS; i++) {
      uint64_t distance = hwi_sampler_distance(&random, means[m]);
      assert_true(distance >= 1);
      for (size_t s = 0; s < sizeof shares / sizeof *shares; s++)
        within[s] += distance <= (uint64_t)(shares[s] * (double)means[m]);
    }
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
      double bytes = floor(shares[s] * (double)means[m]);
      assert_true(fits(within[s], DRAWS, 1 - exp(-bytes / (double)means[m])));
    }
  }
}

/* In any order of sizes, each is chosen with its own probability. */
static void test_each_size_has_its_probability(void **state)
{
  static const size_t sizes[] = {8, 3000, 0, 64, 100, 100000, 1};
  enum { SIZES = sizeof sizes / sizeof *sizes, CALLS = 2000000, MEAN = 1000 };
  uint64_t calls[SIZES] = {0}, chosen[SIZES] = {0}, order = 1;
  struct hwi_sampler sampler;
  (void)state;
  hwi_session.options.sample_bytes = MEAN;
  hwi_sampler_init(&sampler, 7);
  for (int i = 0; i < CALLS; i++) {
    order = order * UINT64_C(6364136223846793005) + 1442695040888963407;
    size_t n = (order >> 33) % SIZES;
    calls[n]++;
    if (hwi_sampler_skips(&sampler, sizes[n]))
      continue;
    chosen[n]++;
    hwi_sampler_draw(&sampler, 16);
  }
  for (int n = 0; n < SIZES; n++)
    assert_true(fits(chosen[n], calls[n], 1 - exp(-(double)(sizes[n] ? sizes[n] : 1) / MEAN)));
}

static void test_threads_have_samples_of_their_own(void **state)
{
  struct hwi_sampler first, second;
  (void)state;
  hwi_session.options.sample_bytes = 512 << 10;
  hwi_sampler_init(&first, 0);
  hwi_sampler_init(&second, 1);
  assert_int_not_equal(first.countdown, second.countdown);
  hwi_sampler_draw(&first, 16);
  assert_int_not_equal(first.countdown, second.countdown);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_distances_are_exponential),
      cmocka_unit_test(test_each_size_has_its_probability),
      cmocka_unit_test(test_threads_have_samples_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
