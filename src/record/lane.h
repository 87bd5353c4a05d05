/* lane.h - one writer of events: its chunk, its delta state, its kept stack and its rows
 *
 * stream     what a thread records into: two lanes. Lane 0 takes ordinary events; lane 1 takes those of a signal handler that
 *            interrupted lane 0 in the middle of one. X is not Y: format.h's "stream" is one lane's chunks.
 * busy       the address of the frame that is at work in a lane, of an entry point or of hwi_record_*; 0: none. After a longjmp
 *            out of a handler nobody clears it; stream.c finds out.
 * kept       the previous stack of the lane, outermost frame first; it says which words its walk loaded (see walk.c).
 * odd word   one of those that does not follow from two frames beside each other (see struct hwi_frame).
 *
 * Invariant: at any instruction, the bytes below chunk->valid_bytes are complete events, and abandoning a lane's work at that
 * instruction costs at most the event in work, because whoever finds a stale `busy` begins a new chunk.
 */
#ifndef HWI_RECORD_LANE_H
#define HWI_RECORD_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/varint.h"
#include "record/session.h"
#include "trace/format.h"

/* The step outward from a frame loaded its caller's pc from the word below the caller's sp, and the caller's bp from the one
 * that bp_slot tells: what was loaded, and from where, is said by the caller's frame. All else is an odd word. */
struct hwi_frame {
  uintptr_t pc;  /* where the frame goes on: a return address, or behind the first byte of an interrupted instruction */
  uintptr_t sp;  /* its stack pointer at that moment */
  uintptr_t bp;  /* its frame pointer register */
  uint32_t node; /* the node of the stack from the outermost frame to this one; 0: not looked up */
  int8_t bp_slot;  /* words from the caller's sp to where its bp was saved; HWI_NO_BP_SLOT: not loaded, or of no use */
  bool bp_is_free; /* no step from here on hangs on bp: the frame saved its caller's, and uses it for other things */
  bool bp_passes;  /* nor does this step, but the caller's bp is the same one */
};
static_assert(sizeof(struct hwi_frame) == 32, "two frames a cache line");

/* The return address is there: so to look at this word is always safe, and tells nothing new. */
enum { HWI_NO_BP_SLOT = -1 };

struct hwi_word {
  uintptr_t address, value;
  uint32_t frame; /* index of the one whose step outward loaded it */
};

struct hwi_words {
  struct hwi_word *items;
  uint32_t count, room;
};

enum { HWI_KEPT_INNER = 32 };

struct hwi_kept { /* see kept.h */
  struct hwi_frame *frames;
  uint32_t frame_count, frame_room;
  struct hwi_tip *tip;  /* the stack goes on with, inward of the last frame; NULL: it does not. See tips.c */
  struct hwi_words odd; /* in the order of the frames */
  struct {
    uint32_t *items;
    uint32_t count, room;
  } bps;         /* indices above 0 of the frames that have a bp_slot, ascending; as much room as for frames, or more */
  uint32_t leaf; /* index of the frame whose node is for an entry called from it; HWI_NO_LEAF: none */
  uint8_t leaf_entry;   /* that entry */
  uint32_t gap_at;      /* frames were left out between the first gap_at ones and the others; HWI_NO_GAP: none were */
  uint32_t left_out;    /* how many; 0: nobody knows */
  uint32_t exact_count; /* where a walk meets one of the first so many frames, all steps are verified */
  struct {
    uint32_t cut, node; /* node: 0: none yet */
    uint8_t entry;
    uintptr_t pcs[HWI_KEPT_INNER];
  } deep; /* the inner end of the last stack that was too deep, and its node */
};
#define HWI_NO_LEAF (UINT32_MAX - 1) /* nor is there a frame after it */
#define HWI_NO_GAP UINT32_MAX

/* A stretch of memory around the current stack that is known to be readable. */
struct hwi_range {
  uintptr_t low, high; /* both page-aligned; low == high: none */
  uintptr_t wall;      /* a page found unreadable when extending upward; 0: none */
};

struct hwi_row_of { /* a row as it is used */
  uint8_t kind;     /* enum hwi_row_kind */
  int8_t bp_slot;   /* as in a frame; with HWI_ROW_BP_DEREF the row's bp_words */
  uint16_t module;  /* number; 0: none */
  int32_t offset;   /* see the kinds */
};

struct hwi_row_slot { /* see rows.c */
  uint64_t key;
  struct hwi_row_of row;
};

struct hwi_memo { /* a node that was looked up */
  uint64_t key;   /* return address and entry; 0: none */
  uint32_t parent, node;
};

enum { HWI_ROWS_FIRST = 256 };

struct hwi_rows {
  struct hwi_row_slot *slots; /* NULL: none yet */
  struct hwi_memo *memos;
  struct hwi_cfi_cache *cfi_cache;           /* NULL: none yet */
  uint32_t count, memo_count;                /* of slots and memos: powers of two */
  uint32_t misses, memo_misses;              /* since the last growth */
  bool has_uncovered;                        /* there are rows of addresses that no module covered */
  struct hwi_row_slot first[HWI_ROWS_FIRST]; /* the first slots, so that there are some where no memory can be had */
};

struct hwi_new_chunk {
  struct hw_chunk_header *chunk;
  uint32_t bytes, sequence;
};

/* A free that was begun and is not written yet, because how long it takes is not known: see owed.h. */
struct hwi_owed {
  uint64_t tick;
  void *block;
  uint8_t entry;
};

struct hwi_recent { /* the last allocation of a slot */
  uint64_t size, usable, address;
  uint32_t node; /* 0: the slot is empty */
};

/* No epoch. */
#define HWI_NO_PASS UINT32_MAX

/* Why the next event of a lane must look closer, whatever the epoch. */
enum hwi_attention {
  HWI_LANE_NEW_CHUNK = 1, /* since stream.c last looked */
  HWI_LANE_OWES = 2,      /* `owed` is to be written first */
  HWI_LANE_SEALED = 4,    /* its thread cannot look at the time; stays */
};

struct hwi_lane {
  uintptr_t busy;
  uint32_t
      pass; /* what `live` of the address space must be for an event that need not look closer; HWI_NO_PASS: each must */
  uint8_t *at, *end;             /* where the next event goes; the last byte that one may touch lies below `end` */
  struct hw_chunk_header *chunk; /* NULL: none yet */
  struct hwi_new_chunk made;     /* on its way into the trace; made.chunk NULL: none */
  uint64_t last_tick, last_address, last_node_address;
  uint32_t last_node;  /* defined in this chunk */
  int32_t until_audit; /* walks that are not audited, before one that is */
  struct hwi_kept kept;
  struct hwi_range range;
  struct hwi_rows rows;
  struct hwi_tip_pair *tips; /* see tips.c; NULL: none yet */
  struct hwi_frame
      *fresh; /* scratch of a walk: the frames that it walked, innermost first; `node` is the module's number */
  uint32_t fresh_room;
  struct hwi_words fresh_odd; /* and their odd words */
  uint32_t module_epoch;      /* that was last looked at */
  uint32_t unload_epoch;      /* that kept and rows belong to */
  uint32_t stream, sequence;
  uint32_t chunk_bytes;                      /* of the open chunk, and from it of the next */
  uint64_t chunk_began;                      /* clock */
  uint32_t thread;                           /* number of the thread whose events these are */
  uint8_t attention;                         /* enum hwi_attention */
  struct hwi_owed owed;                      /* where attention says so */
  struct hwi_recent recent[HW_RECENT_SLOTS]; /* of this chunk's allocations, see format.h */
};

/* The next event must look closer. */
static inline void hwi_lane_call(struct hwi_lane *lane, enum hwi_attention why)
{
  lane->attention |= (uint8_t)why;
  lane->pass = HWI_NO_PASS;
}

/* Makes sure that `bytes` more fit, in a new chunk if need be. False: nothing can be kept any more (counted by the caller). */
bool hwi_lane_reserve_slow(struct hwi_lane *lane, uint32_t bytes);

static inline bool hwi_lane_has_room(const struct hwi_lane *lane, uint32_t bytes)
{
  return __builtin_expect((uintptr_t)lane->end - (uintptr_t)lane->at >= bytes, 1);
}

static inline bool hwi_lane_reserve(struct hwi_lane *lane, uint32_t bytes)
{
  return hwi_lane_has_room(lane, bytes) || hwi_lane_reserve_slow(lane, bytes);
}

/* Why an event is lost that hwi_lane_reserve found no room for. */
enum hw_loss hwi_lane_loss(void);

/* Begins a chunk of the largest size and makes all of it writable, for a thread that can get no other any more. */
void hwi_lane_stock(struct hwi_lane *lane);

/* The event in work was abandoned: brings to its end what it had begun with chunks, and gives them up. */
void hwi_lane_recover(struct hwi_lane *lane);

/* Gives the chunk up; the next event begins another. */
void hwi_lane_retire(struct hwi_lane *lane);

/* Begins an event: its first byte and its time. The caller has reserved HW_EVENT_MAX_BYTES. */
static inline uint8_t *hwi_lane_begin(struct hwi_lane *lane, enum hw_op op, uint64_t tick)
{
  uint8_t *at = lane->at;
  uint64_t dt = tick - lane->last_tick;
  if (__builtin_expect(dt < HW_DT_LONG, 1)) {
    lane->last_tick = tick;
    *at++ = (uint8_t)(op | dt << HW_OP_BITS);
    return at;
  }
  if ((int64_t)dt < 0) { /* the event before was a realloc, which ended later, or a clock is behind another */
    *at++ = (uint8_t)op;
    return at;
  }
  lane->last_tick = tick;
  *at++ = (uint8_t)(op | HW_DT_LONG << HW_OP_BITS);
  return hwi_put_varint(at, dt);
}

static inline uint8_t *hwi_lane_put_address(struct hwi_lane *lane, uint8_t *at, uint64_t address, uint64_t base)
{
  int64_t delta = (int64_t)(address - base);
  lane->last_address = address;
  if (__builtin_expect((delta & 15) == 0, 1))
    return hwi_put_varint(at, hwi_zigzag(delta >> 4) << 1);
  return hwi_put_varint(at, hwi_zigzag(delta) << 1 | 1); /* user-space deltas need 48 bits: nothing is shifted out */
}

/* The event is complete: from here on it survives whatever happens to the process. */
static inline void hwi_lane_commit(struct hwi_lane *lane, uint8_t *at)
{
  lane->at = at;
  uint32_t valid = (uint32_t)(at - (uint8_t *)(lane->chunk + 1));
  __atomic_store_n(&lane->chunk->valid_bytes, valid, __ATOMIC_RELEASE);
}

/* Writes a free: whole, with HW_FIELD_DURATION in `fields` where that is in the session's. `took`: as in the event. The caller
 * has reserved HW_EVENT_MAX_BYTES. */
static inline __attribute__((always_inline)) void hwi_lane_put_reserved_free(struct hwi_lane *lane,
                                                                             const struct hwi_owed *free,
                                                                             uint8_t fields, uint64_t took)
{
  enum hw_op op = free->entry == HW_ENTRY_FREE           ? HW_OP_FREE
                  : free->entry == HW_ENTRY_DELETE_SIZED ? HW_OP_DELETE
                                                         : HW_OP_FREE_VIA;
  uint8_t *at = hwi_lane_begin(lane, op, free->tick);
  if (op == HW_OP_FREE_VIA)
    *at++ = free->entry;
  at = hwi_lane_put_address(lane, at, (uintptr_t)free->block, lane->last_address);
  if (fields & HW_FIELD_DURATION)
    at = hwi_put_varint(at, took);
  hwi_lane_commit(lane, at);
}

/* The same with the session's fields, where there is room; else the event is counted as lost. */
void hwi_lane_put_free(struct hwi_lane *lane, const struct hwi_owed *free, uint64_t took);

struct hwi_bytes {
  const void *at; /* NULL: there are none */
  uint32_t count;
};

/* Writes one HW_OP_RECORD whose payload is `head` and then `text`, either of which may be empty. False: lost. */
bool hwi_lane_put_record(struct hwi_lane *lane, enum hw_record_type type, struct hwi_bytes head, struct hwi_bytes text);

/* Makes *items (NULL: none yet) room for at least `count` items of `bytes` each. At any instruction, abandoning it leaves
 * *items and *room usable. False where there is no memory. */
bool hwi_lane_grow(void **items, uint32_t *room, uint32_t count, uint32_t bytes);

#endif
