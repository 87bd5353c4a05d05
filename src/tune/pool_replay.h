/* pool_replay.h - repeats the calls of one process on a pool
 *
 * It uses the pool of pool.h itself. The pool's address space is reserved, and only those pages are touched that the
 * pool writes: the headers of blocks, and its data in free blocks. The contents of the program's blocks are neither
 * known nor needed.
 *
 * address    of a block in the recording. The address of the block in the pool is its *place*.
 * used       bytes that blocks take in the pool: the requested bytes and the rounding, which is headers, steps and
 *            alignment.
 * extent     the size of a pool that is just large enough: from its tables to the end of the highest block at any time.
 */
#ifndef HWI_TUNE_POOL_REPLAY_H
#define HWI_TUNE_POOL_REPLAY_H

#include "heapwright/pool.h"
#include "profile/blocks/live.h"
#include "profile/profile.h"

struct hwi_pool_figures {
  uint64_t request_count; /* requested blocks; a realloc counts as one */
  uint64_t refused_count; /* of these, those for which the pool had no room. The replay goes on without the block */
  uint64_t used_bytes;    /* at their peak */
  uint64_t asked_bytes;   /* requested bytes of these */
  uint64_t tables_bytes;  /* of the pool's own tables */
  uint64_t extent_bytes;
};

struct hwi_replayed_block {
  void *place; /* NULL: the pool had no room; undefined in an unused slot */
  uint64_t asked_bytes;
  uint32_t next; /* the next unused slot */
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

/* Makes a pool of `bytes`, at least 64 KiB, with the tables that libheapwright-tlsf.so gives its own pool. Returns
 * false if there is no memory or no address space; then there is nothing to release. */
bool hwi_pool_replay_init(struct hwi_pool_replay *replay, size_t bytes);
void hwi_pool_replay_release(struct hwi_pool_replay *replay);

/* Repeats the allocation of `event`. `old` is the block that a realloc passes, or 0: it is resized in place if
 * possible, else moved. Returns false if there is no memory for the replay itself. */
bool hwi_pool_replay_alloc(struct hwi_pool_replay *replay, const struct hwi_block_event *event, uint32_t old);

/* Removes the block at `address` from the table and returns it; it stays in the pool until it is given to
 * hwi_pool_replay_free or _alloc. Returns 0 if there is none. */
uint32_t hwi_pool_replay_take(struct hwi_pool_replay *replay, uint64_t address);
void hwi_pool_replay_free(struct hwi_pool_replay *replay, uint32_t block);

/* Copies the blocks of `parent`, in the order of their places, as a fork does. Returns false if there is no memory for
 * the replay itself. */
bool hwi_pool_replay_inherit(struct hwi_pool_replay *child, const struct hwi_pool_replay *parent);

#endif
