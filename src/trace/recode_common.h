/* recode_common.h - what both directions of re-coding agree on */
#ifndef HWI_TRACE_RECODE_COMMON_H
#define HWI_TRACE_RECODE_COMMON_H

#include "base/varint.h"
#include "trace/recode_columns.h"
#include "trace/recode_model.h"

/* A byte of the SYMBOLS column: the guess that was right, or HWI_GUESSES + the kind. */
/* A byte of the WHICH column: how a block that ends is named. */
enum {
  HWI_WHICH_UNKNOWN = 0,  /* no block: its address is in FAR */
  HWI_WHICH_OWN_NODE = 1, /* REALLOC: a block of the same node; its rank is in RANKS */
  HWI_WHICH_NODE = 2,     /* of the node in FREE_NODES; its rank is in RANKS */
  HWI_WHICH_STEP = 3,     /* + a step */
};
enum { HWI_RANK_FAR = 255 }; /* in RANKS: how many blocks younger there were is in FAR */

/* In FREE_OPS: 0 is what is habit, FREE and DELETE come next, then FREE_VIA with its entry. */
enum { HWI_FREE_HABIT = 0, HWI_FREE_PLAIN = 1, HWI_FREE_DELETE = 2, HWI_FREE_VIA = 3 };

/* A slot of a chunk (see format.h), with its sizes as the event's varints. */
struct hwi_recent {
  uint32_t node; /* 0: empty */
  uint64_t size, usable, address;
};

static inline enum hwi_column hwi_time_column(const struct hwi_model *model, bool is_free)
{
  return (enum hwi_column)(HWI_COLUMN_DT + 2 * model->was_free + is_free);
}

/* The varint of an address in an event. False: none exists, since the distance is too far. */
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

static inline int64_t hwi_unzigzag(uint64_t value)
{
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static inline uint64_t hwi_address_of(uint64_t varint, uint64_t last)
{
  uint64_t delta = (uint64_t)hwi_unzigzag(varint >> 1);
  return last + (varint & 1 ? delta : delta * 16);
}

static inline uint32_t hwi_free_context(uint32_t node)
{
  return hwi_symbol(HWI_KIND_FREE, node);
}

#endif
