/* sampler.c - which allocations of a thread are events of a sample */
#include "record/sampler.h"

#include <string.h>

#include "base/wide.h"
#include "record/session.h"

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
  uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
  mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
  return mixed ^ mixed >> 31;
}

/* Von Neumann's method, which needs no logarithm: x is drawn from [0, 1), and then numbers as long as each is smaller than the
 * one before. The count of these numbers, x included, is odd with the probability exp(-x). Then the result is x plus the
 * number of times that the count was even. */
uint64_t hwi_sampler_distance(uint64_t *random, uint64_t mean)
{
  for (uint64_t whole = 0;; whole++) {
    uint64_t first = next_random(random), last = first, next;
    bool is_odd = true;
    for (; (next = next_random(random)) < last; last = next)
      is_odd = !is_odd;
    if (is_odd)
      return whole * mean + hwi_wide_product(first, mean).high + 1;
  }
}

void hwi_sampler_draw(struct hwi_sampler *sampler, uintptr_t block)
{
  sampler->newest = block;
  sampler->countdown = sampler->drawn = hwi_sampler_distance(&sampler->random, hwi_session.options.sample_bytes);
}

/* An image's ID is random. */
void hwi_sampler_init(struct hwi_sampler *sampler, uint32_t thread)
{
  uint64_t seed;
  if (!hwi_session.options.sample_bytes)
    return;
  memcpy(&seed, hwi_session.image_id, sizeof seed);
  seed += thread;
  sampler->random = next_random(&seed);
  hwi_sampler_draw(sampler, 0);
}
