/* instance_details.c - what instances of scopes did by block size */
#include "profile/counters/instance_details.h"

#include <stdlib.h>
#include <string.h>

enum { SIZES_FIRST = 8, SIZES_BYTES_MAX = 64 << 20 };

struct hwi_detail {
  struct hwi_instance_detail shown; /* first member: its address is the detail's */
  struct hwi_instance_size *sizes;
  uint32_t capacity, holders;
  struct hwi_instance_details *all;
};

static struct hwi_detail *of(const struct hwi_instance_detail *shown)
{
  return (struct hwi_detail *)shown; /* allocated here */
}

static void release(struct hwi_detail *detail)
{
  if (!detail)
    return;
  detail->all->bytes -= detail->capacity * sizeof *detail->sizes;
  free(detail->sizes);
  free(detail);
}

void hwi_details_release(struct hwi_instance_details *details)
{
  release(details->spare);
  details->spare = NULL;
}

const struct hwi_instance_detail *hwi_detail_take(struct hwi_instance_details *details)
{
  struct hwi_detail *detail = details->spare;
  details->spare = NULL;
  if (!detail)
    detail = calloc(1, sizeof *detail);
  if (!detail)
    return NULL;
  detail->all = details;
  detail->holders = 1;
  hwi_detail_clear(&detail->shown);
  return &detail->shown;
}

void hwi_detail_share(const struct hwi_instance_detail *shown)
{
  if (shown)
    of(shown)->holders++;
}

void hwi_detail_drop(const struct hwi_instance_detail *shown)
{
  struct hwi_detail *detail = of(shown);
  if (!detail || --detail->holders > 0)
    return;
  if (detail->all->spare)
    release(detail);
  else
    detail->all->spare = detail;
}

void hwi_detail_clear(const struct hwi_instance_detail *shown)
{
  of(shown)->shown = (struct hwi_instance_detail){.sizes = of(shown)->sizes};
}

/* Makes room for one more size. Returns false if the limits or the memory do not allow it. */
static bool grow(struct hwi_detail *detail)
{
  if (detail->shown.size_count < detail->capacity)
    return true;
  uint32_t capacity = detail->capacity ? 2 * detail->capacity : SIZES_FIRST;
  size_t more = (capacity - detail->capacity) * sizeof *detail->sizes;
  if (capacity > HWI_INSTANCE_SIZES_MAX || more > SIZES_BYTES_MAX - detail->all->bytes)
    return false;
  struct hwi_instance_size *sizes = realloc(detail->sizes, capacity * sizeof *sizes);
  if (!sizes)
    return false;
  detail->shown.sizes = detail->sizes = sizes;
  detail->capacity = capacity;
  detail->all->bytes += more;
  return true;
}

/* Returns the index of the size, or of the next larger one. */
static uint32_t search(const struct hwi_detail *detail, uint64_t size)
{
  uint32_t from = 0, to = detail->shown.size_count;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (detail->sizes[middle].size < size)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

void hwi_detail_count(const struct hwi_instance_detail *shown, uint64_t size, int64_t blocks)
{
  struct hwi_detail *detail = of(shown);
  const uint64_t bytes = size * (uint64_t)blocks; /* modulo 2^64, as the sums */
  detail->shown.self_bytes = (int64_t)((uint64_t)detail->shown.self_bytes + bytes);
  uint32_t at = search(detail, size), count = detail->shown.size_count;
  if (at < count && detail->sizes[at].size == size) {
    detail->sizes[at].blocks += blocks;
  } else if (grow(detail)) {
    memmove(&detail->sizes[at + 1], &detail->sizes[at], (count - at) * sizeof *detail->sizes);
    detail->sizes[at] = (struct hwi_instance_size){size, blocks};
    detail->shown.size_count++;
  } else {
    detail->shown.has_others = true;
    detail->shown.other_blocks += blocks;
    detail->shown.other_bytes = (int64_t)((uint64_t)detail->shown.other_bytes + bytes);
  }
}

void hwi_detail_finish(const struct hwi_instance_detail *shown)
{
  struct hwi_detail *detail = of(shown);
  uint32_t count = 0;
  for (uint32_t i = 0; i < detail->shown.size_count; i++)
    if (detail->sizes[i].blocks != 0)
      detail->sizes[count++] = detail->sizes[i];
  detail->shown.size_count = count;
}
