/* pool_replay.h - the calls of one process, made again on a pool of its own
 *
 * It is the pool of pool.h itself, in address space that is reserved and not touched but where the pool writes: the headers of
 * blocks, and what it keeps in free ones. What the program kept in its blocks is neither known nor needed.
 *
 * address    of a block in the recording. X is not Y: where the pool puts it is its *place*.
 * used       bytes that blocks take in the pool: what was asked for, and rounding, which is headers, steps and alignment.
 * extent     what a pool needs that has just enough: from its tables to the end of the highest block that there ever was.
 */
#ifndef HWI_TUNE_POOL_REPLAY_H
#define HWI_TUNE_POOL_REPLAY_H

#include "heapwright/pool.h"
#include "profile/live.h"
#include "profile/profile.h"

struct hwi_pool_figures {
  uint64_t request_count; /* blocks asked for; a realloc is one */
  uint64_t refused_count; /* of these, what the pool had no room for. The replay goes on without the block */
  uint64_t used_bytes;    /* at the moment when they were most */
  uint64_t asked_bytes;   /* what was asked for of these */
  uint64_t tables_bytes;  /* that the pool keeps for itself */
  uint64_t extent_bytes;
};

struct hwi_replayed_block {
  void *place; /* NULL: the pool had none; of an unused slot: nothing */
  uint64_t asked_bytes;
  uint32_t next; /* unused slot behind this one */
};

struct hwi_pool_replay {
  struct hwi_pool_figures figures;
  struct hw_pool *pool;
  void *memory;
  size_t memory_bytes;
  struct hwi_live where; /* address -> slot in `blocks` */
  struct hwi_replayed_block *blocks;
  size_t block_capacity;
  uint32_t block_count, unused; /* slots taken so far, from 1; the first unused one, 0: none */
  uint64_t used_bytes, asked_bytes;
};

/* A pool of `bytes`, at least 64 KiB, with the tables that libheapwright-tlsf.so gives its own. False: no memory or no address space;
 * nothing is to be released then. */
bool hwi_pool_replay_init(struct hwi_pool_replay *replay, size_t bytes);
void hwi_pool_replay_release(struct hwi_pool_replay *replay);

/* The allocation of `event`. `old` is the block that a realloc hands over, or 0: resized where it stands if it can be, else
 * moved. False: no memory for the replay itself. */
bool hwi_pool_replay_alloc(struct hwi_pool_replay *replay, const struct hwi_block_event *event, uint32_t old);

/* Takes the block at `address` out of the table; it stays in the pool until it is given to hwi_pool_replay_free or _alloc. 0: none
 * is there. */
uint32_t hwi_pool_replay_take(struct hwi_pool_replay *replay, uint64_t address);
void hwi_pool_replay_free(struct hwi_pool_replay *replay, uint32_t block);

/* The blocks of `parent`, in the order of their places: what a fork hands on. False: no memory for the replay itself. */
bool hwi_pool_replay_inherit(struct hwi_pool_replay *child, const struct hwi_pool_replay *parent);

#endif
