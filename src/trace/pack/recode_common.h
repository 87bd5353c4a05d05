/* recode_common.h - the bytes that packing and unpacking have in common
 *
 * An op is one byte for each event of a raw chunk, except NODE and RECORD. Ops below HWI_OP_FREE are births: the low
 * bits are the block's place, one bit is set if the size differs from that of the node's last block, and the other bits
 * are the kind of event. From HWI_OP_FREE on, an op is a free, and its value says which block ends.
 */
#ifndef HWI_TRACE_PACK_RECODE_COMMON_H
#define HWI_TRACE_PACK_RECODE_COMMON_H

#include <stdbool.h>

#include "base/varint.h"
#include "trace/pack/recode_places.h"

enum {
  HWI_OP_PLACE_MASK = 15,
  HWI_OP_SIZED = 1 << 4, /* sizes follow in SIZES */
  HWI_OP_ALLOC = 0 << 5,
  HWI_OP_ALIGNED = 1 << 5,
  HWI_OP_REALLOC = 2 << 5, /* the op of the old block's free is next */
  HWI_OP_FAILED = 3 << 5,  /* no block; all fields are in RARE */
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

enum { HWI_TIME_LONG = UINT8_MAX };                             /* in TIMES: see LONG_TIMES */
enum { HWI_NODE_NEW = 0, HWI_NODE_FIRST = 1 };                  /* in NODES; from FIRST on: nodes by number */
enum { HWI_PC_NEW = 0, HWI_PC_EXPECTED = 1, HWI_PC_FIRST = 2 }; /* in TREE_PCS; from FIRST on: pcs by number */

/* A node of the section, and the sizes of its last block. */
struct hwi_habit {
  uint64_t size, usable;
  uint32_t node;
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
