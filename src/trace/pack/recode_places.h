/* recode_places.h - predicts the addresses of new blocks, in the same way in the packer and the unpacker
 *
 * An allocator is mostly predictable: it returns the last freed block of the size class, or the memory after the
 * previous block. Packer and unpacker remember the same recently freed blocks, and the section only stores which
 * prediction was right.
 *
 * class    blocks of the same usable size have the same class; some blocks of different sizes do too. A wrong class is
 *          only a bad prediction, the same on both sides. So nothing is checked, and no index is outside its table even
 *          for a forged file.
 * place    where a new block is, as a number below HWI_PLACE_COUNT.
 */
#ifndef HWI_TRACE_PACK_RECODE_PLACES_H
#define HWI_TRACE_PACK_RECODE_PLACES_H

#include <stdint.h>

#include "trace/format.h"

enum {
  HWI_CLASSES = 256,
  HWI_CLASS_DEPTH = 16, /* freed blocks remembered per class; a power of two */
  HWI_PLACE_FREED = 8,  /* places below this: at the block of the class that was freed so many frees ago */
  HWI_PLACE_TOP = HWI_PLACE_FREED,
  HWI_PLACE_ELSEWHERE,
  HWI_PLACE_SAME, /* where the reallocated block was */
  HWI_PLACE_COUNT,
};

/* Invariant: the `count` entries before `end`, modulo the depth, are the addresses freed last. Both are in one number:
 * if they were written as two and the compiler then read them as one, the CPU would stall (a failed store-to-load
 * forwarding). */
struct hwi_freed {
  uint64_t addresses[HWI_CLASS_DEPTH];
  uint32_t ends; /* count in its lowest bits, end above */
};
enum { HWI_FREED_END_SHIFT = 8, HWI_FREED_END = 1 << HWI_FREED_END_SHIFT, HWI_FREED_COUNT_MASK = HWI_FREED_END - 1 };

struct hwi_places {
  struct hwi_freed freed[HWI_CLASSES];
  uint64_t top;  /* the end of the block that was last placed at TOP or ELSEWHERE */
  uint64_t last; /* the block that was last placed at ELSEWHERE */
};

/* Returns the memory that a block takes, in units of 16 bytes. */
static inline uint64_t hwi_granules(uint64_t size, uint64_t usable)
{
  enum { HEADER_BYTES = 8, GRANULE_BYTES = 16 };
  return ((usable ? usable : hw_usual_usable(size)) + HEADER_BYTES) / GRANULE_BYTES;
}

static inline uint8_t hwi_class_of(uint64_t granules)
{
  return (uint8_t)(granules + granules / HWI_CLASSES);
}

static inline unsigned hwi_freed_count(const struct hwi_freed *freed)
{
  return freed->ends & HWI_FREED_COUNT_MASK;
}

static inline uint64_t *hwi_freed_at(struct hwi_freed *freed, unsigned place)
{
  return &freed->addresses[((freed->ends >> HWI_FREED_END_SHIFT) - 1 - place) % HWI_CLASS_DEPTH];
}

static inline void hwi_places_free(struct hwi_places *places, uint8_t class, uint64_t address)
{
  struct hwi_freed *freed = &places->freed[class];
  freed->addresses[(freed->ends >> HWI_FREED_END_SHIFT) % HWI_CLASS_DEPTH] = address;
  freed->ends += HWI_FREED_END + (hwi_freed_count(freed) < HWI_CLASS_DEPTH);
}

/* Returns the place of `address`, or ELSEWHERE. TOP is tried first, since that is a single comparison. */
static inline unsigned hwi_places_find(struct hwi_places *places, uint8_t class, uint64_t address)
{
  if (address == places->top)
    return HWI_PLACE_TOP;
  struct hwi_freed *freed = &places->freed[class];
  unsigned count = hwi_freed_count(freed) < HWI_PLACE_FREED ? hwi_freed_count(freed) : HWI_PLACE_FREED;
  for (unsigned place = 0; place < count; place++)
    if (*hwi_freed_at(freed, place) == address)
      return place;
  return HWI_PLACE_ELSEWHERE;
}

/* Removes the freed block at `place` < HWI_PLACE_FREED and returns its address, or returns 0 if there is none. */
static inline uint64_t hwi_places_take(struct hwi_places *places, uint8_t class, unsigned place)
{
  struct hwi_freed *freed = &places->freed[class];
  if (place >= hwi_freed_count(freed))
    return 0;
  uint64_t address = *hwi_freed_at(freed, place);
  for (; place > 0; place--)
    *hwi_freed_at(freed, place) = *hwi_freed_at(freed, place - 1);
  freed->ends -= HWI_FREED_END + 1;
  return address;
}

/* To be called when a block was placed at TOP or ELSEWHERE. */
static inline void hwi_places_move_top(struct hwi_places *places, uint64_t address, uint64_t granules)
{
  places->top = address + granules * 16;
}

#endif
