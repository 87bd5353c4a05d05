/* log_buckets.h - buckets whose width is proportional to their values
 *
 * Numbers below 1 << part_bits have a bucket each; each larger power of two is divided into 1 << part_bits equal
 * buckets. So a bucket is never wider than 1 / (1 << part_bits) of its smallest value.
 */
#ifndef HWI_PROFILE_COUNTERS_LOG_BUCKETS_H
#define HWI_PROFILE_COUNTERS_LOG_BUCKETS_H

#include <stdint.h>

#define HWI_LOG_BUCKETS(part_bits) ((64 - (part_bits) + 1) << (part_bits))

/* Buckets of the power of two with `shift` more bits than the first one are 1 << shift wide. */
static inline uint32_t hwi_log_bucket_of(uint64_t number, unsigned part_bits)
{
  if (number >> part_bits == 0)
    return (uint32_t)number;
  unsigned shift = 63 - (unsigned)__builtin_clzll(number) - part_bits;
  return (shift << part_bits) + (uint32_t)(number >> shift);
}

/* Returns the smallest value of the bucket. */
static inline uint64_t hwi_log_bucket_from(uint32_t bucket, unsigned part_bits)
{
  if (bucket >> part_bits < 2)
    return bucket;
  unsigned shift = (bucket >> part_bits) - 1;
  return (uint64_t)(bucket - (shift << part_bits)) << shift;
}

/* Returns the largest value of the bucket. */
static inline uint64_t hwi_log_bucket_to(uint32_t bucket, unsigned part_bits)
{
  return bucket + 1 < (uint32_t)HWI_LOG_BUCKETS(part_bits) ? hwi_log_bucket_from(bucket + 1, part_bits) - 1
                                                           : UINT64_MAX;
}

#endif
