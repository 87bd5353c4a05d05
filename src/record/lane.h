/* lane.h - one writer of events: its chunk, its delta state, its cached stack, its rows, its pending free
 *
 * stream     the two lanes of a thread. Lane 0 takes ordinary events; lane 1 takes those of a signal handler that
 *            interrupted an event of lane 0. Do not confuse it with format.h's "stream", which is one lane's chunks.
 * busy       the address of the frame (of an entry point or of hwi_record_*) that works in a lane; 0: none. A longjmp
 *            out of a handler leaves it set; stream.c detects that.
 * cached     the previous stack of the lane, outermost frame first, with the words that its walk loaded (see walk.c).
 * extra word a loaded word that is not a pc or bp of the caller's frame (see struct hwi_walked_frame).
 *
 * Invariant: at any instruction, the bytes below chunk->valid_bytes are complete events, and abandoning a lane's work
 * at that instruction costs at most the current event, because the event that finds a stale `busy` begins a new chunk.
 */
#ifndef HWI_RECORD_LANE_H
#define HWI_RECORD_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/own_memory.h"
#include "base/varint.h"
#include "record/session.h"
#include "trace/format.h"

/* The step outward from a frame loaded its caller's pc from the word that return_slot denotes (on x86-64 the one below the
 * caller's sp), and the caller's bp from the word that bp_slot denotes. So the caller's frame contains these words and their
 * addresses. Every other loaded word is an extra word. */
struct hwi_walked_frame {
  uintptr_t pc; /* where the frame continues: a return address, or one byte after an interrupted instruction's start */
  uintptr_t sp; /* its stack pointer at that moment */
  uintptr_t bp; /* its frame pointer register */
  union {
    uint32_t node;   /* of a cached frame: of the stack from the outermost frame to this one; 0: not looked up */
    uint32_t module; /* of a fresh frame: the ID of the module of pc */
  };
  int8_t bp_slot;  /* words from the end of the return address to the saved bp; HWI_NO_BP_SLOT: not loaded or needed */
  bool bp_is_free; /* no step from here on depends on bp: the frame saved its caller's bp, and uses bp for other data */
  bool bp_passes;  /* this step does not depend on bp either, but the caller's bp is the same one */
  struct hwi_arch_return_slot return_slot;
};
static_assert(sizeof(struct hwi_walked_frame) == 32 || HWI_ARCH_HAS_LINK, "two frames a cache line");

/* That word is the return address: it is always safe to compare, and adds no information. */
enum { HWI_NO_BP_SLOT = -1 };

struct hwi_word {
  uintptr_t address, value;
  uint32_t frame; /* index of the frame whose step outward loaded it */
};

struct hwi_words {
  struct hwi_word *items;
  uint32_t count, room;
};

enum { HWI_CACHED_STACK_INNER = 32 };

struct hwi_cached_stack { /* see cached_stack.h */
  struct hwi_walked_frame *frames;
  uint32_t frame_count, frame_room;
  struct hwi_stack_end *inner_end; /* continues the stack, inward of the last frame; NULL: none. See stack_cache.c */
  struct hwi_words extra;          /* in the order of the frames */
  struct {
    uint32_t *items;
    uint32_t count, room;
  } bps;                /* indices above 0 of the frames with a bp_slot, ascending; with room for at least all frames */
  uint32_t leaf;        /* index of the frame whose node is for an entry called from it; HWI_NO_LEAF: none */
  uint8_t leaf_entry;   /* that entry */
  uint32_t gap_at;      /* frames were left out between the first gap_at ones and the others; HWI_NO_GAP: none were */
  uint32_t left_out;    /* how many; 0: unknown */
  uint32_t exact_count; /* if a walk meets one of the first exact_count frames, all steps are verified */
  struct {
    uint32_t cut, node; /* node: 0: none yet */
    uint8_t entry;
    uintptr_t pcs[HWI_CACHED_STACK_INNER];
  } deep; /* the inner end of the last stack that was too deep, and its node */
};
#define HWI_NO_LEAF (UINT32_MAX - 1) /* there is no frame after it either */
#define HWI_NO_GAP UINT32_MAX

/* A range of memory around the current stack that is known to be readable. */
struct hwi_range {
  uintptr_t low, high; /* both page-aligned; low == high: none */
  uintptr_t wall;      /* a page found unreadable when extending upward; 0: none */
};

enum { HWI_ROW_AFTER_CALL = 1 }; /* a call ends at the address, which belongs to no code of a module */

struct hwi_cached_row { /* a row as it is used */
  uint8_t kind;         /* enum hwi_row_kind */
  int8_t bp_slot;       /* as in a frame; with HWI_ROW_BP_DEREF the row's bp_words */
  uint16_t module;      /* ID; 0: none */
  int32_t offset;       /* see the kinds; NONE: HWI_ROW_AFTER_CALL or 0 */
  struct hwi_arch_return_slot return_slot;
};

struct hwi_row_slot { /* see row_cache.c */
  uint64_t key;
  struct hwi_cached_row row;
};

struct hwi_node_slot { /* a node that was looked up */
  uint64_t key;        /* return address and entry; 0: none */
  uint32_t parent, node;
};

enum { HWI_ROW_CACHE_FIRST = 256 };

struct hwi_row_cache {
  struct hwi_row_slot *slots; /* NULL: none yet */
  struct hwi_node_slot *node_slots;
  struct hwi_cfi_cache *cfi_cache; /* NULL: none yet */
  uint32_t count, node_slot_count; /* of slots and node_slots: powers of two */
  uint32_t misses, node_misses;    /* since the last growth */
  bool has_uncovered;              /* there are rows of addresses that no module covered */
  struct hwi_row_slot
      first[HWI_ROW_CACHE_FIRST]; /* the first slots, so that there are some even if there is no memory */
};

struct hwi_new_chunk {
  struct hw_chunk_header *chunk;
  uint32_t bytes, sequence;
};

/* A pending free is being timed: it has begun, and is not written yet.
 *
 * A free gets its time before the real free, and its duration is known after it. It is written then, in one piece,
 * unless another event of the lane comes first, from a signal handler or from the allocator itself. That event first
 * writes the pending free without its duration. So the lane's events stay in the order of their times and none is lost,
 * even if a handler leaves the real free by longjmp. */
struct hwi_pending_free {
  uint64_t tick;
  void *block;
  uint8_t entry;
};

/* A value that `live` (session.h) never has. */
#define HWI_NO_EPOCH UINT32_MAX

/* The reasons why the next event of a lane must take the slow path, whatever the epoch. */
enum hwi_attention {
  HWI_LANE_NEW_CHUNK = 1,        /* it has begun a chunk since stream.c last looked */
  HWI_LANE_HAS_PENDING_FREE = 2, /* the pending free `pending_free` must be written first */
  HWI_LANE_SEALED = 4,           /* its thread cannot read the clock; stays set after the event */
  HWI_LANE_COUNTS = 8,           /* its thread's calls are counted for the program; stays set after the event */
  HWI_LANE_TRAPS = 16,           /* its thread gets SIGTRAP for each call; stays set after the event */
  HWI_LANE_OF_THREAD = HWI_LANE_SEALED | HWI_LANE_COUNTS | HWI_LANE_TRAPS,
};

struct hwi_lane {
  uintptr_t busy;
  uint32_t fast_epoch;            /* events take the fast path while `live` is this; HWI_NO_EPOCH: none does */
  uint32_t skip_epoch;            /* the same for calls that are not events of a sample; then there is a chunk */
  struct hw_chunk_header *chunk;  /* NULL: none yet */
  uint8_t *at, *end;              /* where the next event goes; an event may only write below `end` */
  struct hwi_new_chunk new_chunk; /* not yet added to the trace; chunk NULL: none */
  uint64_t last_tick, last_address, last_node_address;
  uint32_t last_node;        /* defined in this chunk */
  int32_t walks_until_audit; /* before the next one that is audited */
  struct hwi_cached_stack cached;
  struct hwi_range range;
  struct hwi_row_cache rows;
  struct hwi_stack_end_pair *stack_cache; /* see stack_cache.c; NULL: none yet */
  struct hwi_walked_frame *fresh;         /* frames of the current walk, innermost first */
  uint32_t fresh_room;
  struct hwi_words fresh_extra; /* and their extra words */
  uint32_t module_epoch;        /* the last one seen */
  uint32_t unload_epoch;        /* the one that the cached stack and the rows belong to */
  uint32_t stream, sequence;
  uint32_t chunk_bytes;                         /* of the open chunk; the size of the next depends on it */
  uint64_t chunk_began;                         /* in clock units */
  uint32_t thread;                              /* ID of the thread whose events these are */
  uint8_t attention;                            /* enum hwi_attention */
  struct hwi_pending_free pending_free;         /* valid if attention has HWI_LANE_HAS_PENDING_FREE */
  struct hwi_own_alloc recent[HW_RECENT_SLOTS]; /* of this chunk's allocations, see format.h */
};

/* Makes the next event take the slow path, for this reason. */
static inline void hwi_lane_request_attention(struct hwi_lane *lane, enum hwi_attention why)
{
  lane->attention |= (uint8_t)why;
  lane->fast_epoch = lane->skip_epoch = HWI_NO_EPOCH;
}

/* Makes room for `bytes` more, in a new chunk if necessary. Returns false if nothing can be recorded any more; the
 * caller counts the loss. */
bool hwi_lane_reserve_slow(struct hwi_lane *lane, uint32_t bytes);

static inline bool hwi_lane_has_room(const struct hwi_lane *lane, uint32_t bytes)
{
  return __builtin_expect((uintptr_t)lane->end - (uintptr_t)lane->at >= bytes, 1);
}

static inline bool hwi_lane_reserve(struct hwi_lane *lane, uint32_t bytes)
{
  return hwi_lane_has_room(lane, bytes) || hwi_lane_reserve_slow(lane, bytes);
}

/* Returns why an event is lost for which hwi_lane_reserve found no room. */
enum hw_loss hwi_lane_loss(void);

/* Begins a chunk of the largest size and makes all of it writable, for a thread that will not be able to get another
 * one. */
void hwi_lane_begin_last_chunk(struct hwi_lane *lane);

/* To be called when an event was abandoned: completes the change of chunks that it had begun, and closes the chunks. */
void hwi_lane_recover(struct hwi_lane *lane);

/* Closes the chunk; the next event begins another one. */
void hwi_lane_retire(struct hwi_lane *lane);

/* Returns the counts of the open chunk of a sample: HW_COUNTS numbers. */
static inline uint64_t *hwi_lane_counts(const struct hwi_lane *lane)
{
  return (uint64_t *)((uint8_t *)(lane->chunk + 1) + HW_COUNTS_OFF);
}

/* Writes the beginning of an event: its first byte and its time. The caller has reserved HW_EVENT_MAX_BYTES. */
static inline uint8_t *hwi_lane_begin(struct hwi_lane *lane, enum hw_op op, uint64_t tick)
{
  uint8_t *at = lane->at;
  uint64_t dt = tick - lane->last_tick;
  if (__builtin_expect(dt < HW_DT_LONG, 1)) {
    lane->last_tick = tick;
    *at++ = (uint8_t)(op | dt << HW_OP_BITS);
    return at;
  }
  if ((int64_t)dt < 0) { /* the previous event was a realloc, which ended later, or the clocks of two CPUs differ */
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

/* Completes the event: from here on it survives whatever happens to the process. */
static inline void hwi_lane_commit(struct hwi_lane *lane, uint8_t *at)
{
  lane->at = at;
  uint32_t valid = (uint32_t)(at - (uint8_t *)(lane->chunk + 1));
  __atomic_store_n(&lane->chunk->valid_bytes, valid, __ATOMIC_RELEASE);
}

/* Writes a complete free. `fields` has HW_FIELD_DURATION if the session's fields have it. `took`: as in the event. The
 * caller has reserved HW_EVENT_MAX_BYTES. */
static inline __attribute__((always_inline)) void hwi_lane_put_reserved_free(struct hwi_lane *lane,
                                                                             const struct hwi_pending_free *free,
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

/* Writes a complete free with the session's fields. If there is no room, the event is counted as lost. */
void hwi_lane_put_free(struct hwi_lane *lane, const struct hwi_pending_free *free, uint64_t took);

/* Makes this free the pending one of the lane; to be called before the real free. In this function and the next one the
 * caller has entered the lane. */
void hwi_pending_free_begin(struct hwi_lane *lane, const struct hwi_pending_free *pending_free);

/* Writes the lane's pending free. `took`: as in the event; 0: unknown. */
void hwi_pending_free_write(struct hwi_lane *lane, uint64_t took);

struct hwi_bytes {
  const void *at; /* NULL: no bytes */
  uint32_t count;
};

/* Writes one HW_OP_RECORD whose payload is `head` and then `text`, either of which may be empty. Returns false if it is
 * lost. */
bool hwi_lane_put_record(struct hwi_lane *lane, enum hw_record_type type, struct hwi_bytes head, struct hwi_bytes text);

/* Grows *items (NULL: none yet) to at least `count` items of `bytes` each. It may be abandoned at any instruction and
 * leaves *items and *room usable. Returns false if there is no memory. */
bool hwi_lane_grow(void **items, uint32_t *room, uint32_t count, uint32_t bytes);

#endif
