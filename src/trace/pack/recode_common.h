/* recode_common.h - the parts that packer and unpacker share: codes of ops, predictions of addresses
 *
 * An op is one byte for each event of a raw chunk, except NODE and RECORD. Ops below HWI_OP_FREE are births: the low
 * bits are the block's place, one bit is set if the size differs from that of the node's last block, and the other bits
 * are the kind of event. From HWI_OP_FREE on, an op is a free, and its value says which block ends.
 */
#ifndef HWI_TRACE_PACK_RECODE_COMMON_H
#define HWI_TRACE_PACK_RECODE_COMMON_H

#include <stdbool.h>

#include "base/varint.h"
#include "trace/format.h"

/* --- where a new block is --- */

/* An allocator is mostly predictable: it returns the last freed block of the size class, or the memory after the
 * previous block. Packer and unpacker remember the same recently freed blocks, and the section only stores which
 * prediction was right.
 *
 * class    blocks of the same usable size have the same class; some blocks of different sizes do too. A wrong class is
 *          only a bad prediction, the same on both sides. So nothing is checked, and no index is outside its table even
 *          for a forged file.
 * place    where a new block is, as a number below HWI_PLACE_COUNT.
 */
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

struct hwi_placement {
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

static inline void hwi_placement_free(struct hwi_placement *placement, uint8_t class, uint64_t address)
{
  struct hwi_freed *freed = &placement->freed[class];
  freed->addresses[(freed->ends >> HWI_FREED_END_SHIFT) % HWI_CLASS_DEPTH] = address;
  freed->ends += HWI_FREED_END + (hwi_freed_count(freed) < HWI_CLASS_DEPTH);
}

/* Returns the place of `address`, or ELSEWHERE. TOP is tried first, since that is a single comparison. */
static inline unsigned hwi_placement_find(struct hwi_placement *placement, uint8_t class, uint64_t address)
{
  if (address == placement->top)
    return HWI_PLACE_TOP;
  struct hwi_freed *freed = &placement->freed[class];
  unsigned count = hwi_freed_count(freed) < HWI_PLACE_FREED ? hwi_freed_count(freed) : HWI_PLACE_FREED;
  for (unsigned place = 0; place < count; place++)
    if (*hwi_freed_at(freed, place) == address)
      return place;
  return HWI_PLACE_ELSEWHERE;
}

/* Removes the freed block at `place` < HWI_PLACE_FREED and returns its address, or returns 0 if there is none. */
static inline uint64_t hwi_placement_take(struct hwi_placement *placement, uint8_t class, unsigned place)
{
  struct hwi_freed *freed = &placement->freed[class];
  if (place >= hwi_freed_count(freed))
    return 0;
  uint64_t address = *hwi_freed_at(freed, place);
  for (; place > 0; place--)
    *hwi_freed_at(freed, place) = *hwi_freed_at(freed, place - 1);
  freed->ends -= HWI_FREED_END + 1;
  return address;
}

/* To be called when a block was placed at TOP or ELSEWHERE. */
static inline void hwi_placement_move_top(struct hwi_placement *placement, uint64_t address, uint64_t granules)
{
  placement->top = address + granules * 16;
}

/* --- codes --- */

enum {
  HWI_OP_PLACE_MASK = 15,
  HWI_OP_SIZED = 1 << 4, /* sizes follow in SIZES */
  HWI_OP_ALLOC = 0 << 5,
  HWI_OP_ALIGNED = 1 << 5,
  HWI_OP_REALLOC = 2 << 5,          /* the op of the old block's free is next */
  HWI_OP_FAILED = 3 << 5,           /* no block; all fields are in RARE */
  HWI_OP_SCOPE = HWI_OP_FAILED | 1, /* the same */
  HWI_OP_HEAP = HWI_OP_FAILED | 2,  /* the same */
  HWI_OP_BIRTH_MASK = 3 << 5,
  HWI_OP_FREE = 1 << 7,
  HWI_OP_NEWEST = HWI_OP_FREE, /* + n: the block with n younger ones */
  HWI_NEWEST_COUNT = 32,
  HWI_OP_STEP = HWI_OP_NEWEST + HWI_NEWEST_COUNT, /* + n: born n - HWI_STEPS births after the block that ended last */
  HWI_STEPS = 16,
  HWI_STEP_COUNT = 2 * HWI_STEPS + 1,
  HWI_OP_DISTANCE = HWI_OP_STEP + HWI_STEP_COUNT, /* the number of younger blocks is in DISTANCES */
  HWI_OP_FAR,                                     /* not a block of the section; its address is in FAR */
  HWI_OP_COUNT,
};
static_assert((int)HWI_PLACE_COUNT <= (int)HWI_OP_PLACE_MASK + 1, "a place fits its bits");
static_assert((int)HWI_OP_COUNT <= UINT8_MAX + 1, "an op is a byte");

/* Added to the entry of a free: see struct hwi_event. */
enum { HWI_ENTRY_TEMPORARY = 128 };

enum { HWI_TIME_LONG = UINT8_MAX };                             /* in TIMES: see LONG_TIMES */
enum { HWI_NODE_NEW = 0, HWI_NODE_FIRST = 1 };                  /* in NODES; from FIRST on: nodes by number */
enum { HWI_PC_NEW = 0, HWI_PC_EXPECTED = 1, HWI_PC_FIRST = 2 }; /* in TREE_PCS; from FIRST on: pcs by number */

/* A node that events of the section use, and the sizes of its last block. */
struct hwi_section_node {
  uint64_t size, usable;
  uint32_t number; /* in the trace */
};

/* A return address of the section. `expected`: the pc of the node that came after the last one with this pc. */
struct hwi_pc {
  uint64_t address;
  uint32_t module, expected;
  uint8_t entry; /* as in a NODE event */
};

static inline int64_t hwi_unzigzag(uint64_t value)
{
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Encodes an address as events do: the distance in bytes, or in units of 16 with the low bit clear. Returns false if
 * the distance is too large. */
static inline bool hwi_address_varint(uint64_t address, uint64_t last, uint64_t *varint)
{
  int64_t delta = (int64_t)(address - last);
  if ((delta & 15) == 0) {
    *varint = hwi_zigzag(delta / 16) << 1;
    return true;
  }
  uint64_t folded = hwi_zigzag(delta);
  *varint = folded << 1 | 1;
  return folded >> 63 == 0;
}

static inline uint64_t hwi_address_of(uint64_t varint, uint64_t last)
{
  uint64_t delta = (uint64_t)hwi_unzigzag(varint >> 1);
  return last + (varint & 1 ? delta : delta * 16);
}

#endif
