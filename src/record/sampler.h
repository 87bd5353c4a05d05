/* sampler.h - which allocations of a thread are events of a sample
 *
 * Along the bytes that a thread allocates, points are drawn at random, sample_bytes apart on average: the distances have
 * an exponential distribution, rounded up to whole bytes. An allocation is an event if a point is in its bytes. So its
 * probability is exactly 1 - exp(-size / sample_bytes), whatever was drawn before. A block of no bytes counts as one.
 */
#ifndef HWI_RECORD_SAMPLER_H
#define HWI_RECORD_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_sampler {
  uint64_t countdown; /* bytes to the next point, which is in the last of them; not 0 */
  uint64_t drawn;     /* countdown, when it was last drawn */
  uintptr_t newest;   /* the block of the thread's latest event; 0: none */
  uint64_t random;    /* state of the generator */
};

/* Begins the sample of a thread. */
void hwi_sampler_init(struct hwi_sampler *sampler, uint32_t thread);

/* Returns a distance, at least 1, whose mean is `mean` bytes. */
uint64_t hwi_sampler_distance(uint64_t *random, uint64_t mean);

/* Draws the next point, after an event that allocated `block`. */
void hwi_sampler_draw(struct hwi_sampler *sampler, uintptr_t block);

/* Moves on by an allocation and returns true, if it is not an event; otherwise does nothing. A signal handler may allocate
 * in between: the countdown is read once, so that it cannot become less than 0. */
static inline bool hwi_sampler_skips(struct hwi_sampler *sampler, size_t size)
{
  size_t bytes = size + !size;
  uint64_t countdown = __atomic_load_n(&sampler->countdown, __ATOMIC_RELAXED);
  if (__builtin_expect(bytes >= countdown, 0))
    return false;
  __atomic_store_n(&sampler->countdown, countdown - bytes, __ATOMIC_RELAXED);
  return true;
}

#endif
