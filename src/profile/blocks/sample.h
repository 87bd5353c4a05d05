/* sample.h - what an allocation in a sampled trace stands for
 *
 * An allocation of `size` bytes is in the sample with the probability p = 1 - exp(-max(size, 1) / sample_bytes), so that it
 * stands for 1 / p calls (Horvitz and Thompson). Counters are whole numbers: a block counts as `weight` blocks of its
 * size, where the weight is 1 / p rounded up or down at random, so that its mean is 1 / p. It is a function of the block's
 * birth and of the image's random ID, so that all replays of a trace agree.
 *
 * With q = the part of 1 / p after the point, the weight of a call, 0 if it is not in the sample, has the variance
 * (1 - p) / p + p q (1 - q). So the variance of an estimated number of calls of one size is this number times that, and
 * calls of different sizes add up.
 */
#ifndef HWI_PROFILE_BLOCKS_SAMPLE_H
#define HWI_PROFILE_BLOCKS_SAMPLE_H

#include <stdint.h>

#include "trace/format.h"

/* `sample_bytes` is not 0. */
double hwi_sample_probability(uint64_t sample_bytes, uint64_t size);

/* Returns the weight of the block that was allocated at `tick` and `address` in the image with this ID: at least 1, and at most
 * HWI_SAMPLE_WEIGHT_MOST, for which sample_bytes must be a GiB. */
enum { HWI_SAMPLE_WEIGHT_MOST = 1 << 30 };
struct hwi_sample_birth {
  uint64_t size, tick, address;
};
uint32_t hwi_sample_weight(const struct hw_trace_header *header, const struct hwi_sample_birth *birth);

/* Returns the variance for each estimated call of this size; 0 if sample_bytes is 0. */
double hwi_sample_variance(uint64_t sample_bytes, uint64_t size);

/* Returns half of the 95 % interval of an estimate with this variance; and the other way round. */
uint64_t hwi_sample_error(double variance);
double hwi_sample_variance_of(uint64_t error);

#endif
