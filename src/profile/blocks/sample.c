/* sample.c - what an allocation in a sampled trace stands for */
#include "profile/blocks/sample.h"

#include <math.h>
#include <string.h>

static const double INTERVAL_95 = 1.96; /* in standard deviations */

double hwi_sample_probability(uint64_t sample_bytes, uint64_t size)
{
  return -expm1(-(double)(size ? size : 1) / (double)sample_bytes);
}

/* Returns a number in [0, 1) that looks random (the finalizer of MurmurHash3). */
static double fraction_of(const struct hw_trace_header *header, const struct hwi_sample_birth *birth)
{
  static const double two_to_53 = 9007199254740992.0;
  uint64_t image;
  memcpy(&image, header->image_id, sizeof image);
  uint64_t mixed = (birth->tick * UINT64_C(0x9E3779B97F4A7C15) ^ birth->address) + image;
  for (int round = 0; round < 2; round++) {
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
  }
  return (double)(mixed >> 11) / two_to_53;
}

uint32_t hwi_sample_weight(const struct hw_trace_header *header, const struct hwi_sample_birth *birth)
{
  const double probability = hwi_sample_probability(header->sample_bytes, birth->size);
  const double weight = floor(1 / probability + fraction_of(header, birth));
  return weight < HWI_SAMPLE_WEIGHT_MOST ? (uint32_t)weight : (uint32_t)HWI_SAMPLE_WEIGHT_MOST;
}

double hwi_sample_variance(uint64_t sample_bytes, uint64_t size)
{
  if (!sample_bytes)
    return 0;
  const double p = hwi_sample_probability(sample_bytes, size), weight = 1 / p, q = weight - floor(weight);
  return (1 - p) / p + p * q * (1 - q);
}

uint64_t hwi_sample_error(double variance)
{
  const double error = ceil(INTERVAL_95 * sqrt(variance > 0 ? variance : 0)); /* less than 0: rounding */
  return error < (double)(UINT64_MAX / 2) ? (uint64_t)error : UINT64_MAX / 2;
}

double hwi_sample_variance_of(uint64_t error)
{
  const double deviation = (double)error / INTERVAL_95;
  return deviation * deviation;
}
