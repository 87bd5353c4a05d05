/* pool_model.h - a pool and a plain list of its allocated blocks: every step is compared, and the whole pool is checked
 *
 * Each block is filled with its own pattern, which is checked before the block is changed or freed. If two blocks
 * overlap, or if the pool writes into a block, the pattern is damaged. A failure aborts.
 */
#ifndef HWT_ALLOCATORS_POOL_MODEL_H
#define HWT_ALLOCATORS_POOL_MODEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heapwright/pool.h"

enum { MODEL_BLOCKS = 512, MODEL_LARGEST_FILL = 1 << 16 };

struct model_block {
  unsigned char *at;
  size_t bytes;
  unsigned char pattern;
};

struct model {
  struct hw_pool *pool;
  struct model_block blocks[MODEL_BLOCKS];
  size_t count;
  unsigned char next_pattern;
};

#define MODEL_EXPECT(condition)                                                              \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      fprintf(stderr, "pool_model.h:%d: not true after a step: %s\n", __LINE__, #condition); \
      abort();                                                                               \
    }                                                                                        \
  } while (0)

static inline size_t model_filled(size_t bytes)
{
  return bytes < MODEL_LARGEST_FILL ? bytes : MODEL_LARGEST_FILL;
}

/* The first `bytes` of the block, and its last usable byte, still hold the pattern. */
static inline void model_expect_kept(const struct model_block *block, size_t bytes)
{
  for (size_t i = 0; i < model_filled(bytes); i++)
    MODEL_EXPECT(block->at[i] == block->pattern);
}

static inline void model_fill(struct model *model, struct model_block *block, void *at, size_t bytes)
{
  block->at = at;
  block->bytes = bytes;
  block->pattern = ++model->next_pattern;
  size_t usable = hw_pool_usable_bytes(model->pool, at);
  MODEL_EXPECT(usable >= bytes && (uintptr_t)at % HW_POOL_ALIGN == 0);
  MODEL_EXPECT(hw_pool_owns(model->pool, at) && hw_pool_owns(model->pool, block->at + usable - 1));
  memset(at, block->pattern, model_filled(usable));
  memset(block->at + usable - model_filled(usable), block->pattern, model_filled(usable));
}

/* After each step: the pool is valid, and has the blocks that the model has. */
static inline void model_expect_valid(const struct model *model)
{
  struct hw_pool_damage damage = {HW_POOL_OK, NULL};
  if (!hw_pool_is_valid(model->pool, &damage)) {
    fprintf(stderr, "pool_model.h: %s at %p\n", hw_pool_fault_text(damage.fault), damage.address);
    abort();
  }
  struct hw_pool_stats stats;
  hw_pool_get_stats(model->pool, &stats);
  MODEL_EXPECT(stats.block_count == model->count && stats.fault_count == 0);
  MODEL_EXPECT(stats.used_bytes + stats.free_bytes == stats.capacity_bytes && stats.used_bytes <= stats.peak_bytes);
  MODEL_EXPECT(stats.fragmentation_permille <= 1000);
}

/* A request that the pool reports as possible succeeds; one of more than twice the largest free piece does not. */
static inline void model_expect_answer(const struct hw_pool_stats *before, const void *block, size_t bytes)
{
  MODEL_EXPECT(block || (bytes ? bytes : 1) > before->largest_free_bytes);
  MODEL_EXPECT(!block || bytes / 2 <= before->largest_free_bytes);
}

static inline void model_alloc(struct model *model, size_t align, size_t bytes)
{
  struct hw_pool_stats before;
  hw_pool_get_stats(model->pool, &before);
  if (model->count == MODEL_BLOCKS)
    return;
  void *at = align ? hw_pool_alloc_aligned(model->pool, align, bytes) : hw_pool_alloc(model->pool, bytes);
  if (!align || !at)
    model_expect_answer(&before, at, align ? SIZE_MAX : bytes);
  MODEL_EXPECT(!at || !align || (uintptr_t)at % align == 0);
  if (at)
    model_fill(model, &model->blocks[model->count++], at, bytes);
}

static inline void model_resize(struct model *model, size_t which, size_t bytes)
{
  struct model_block *block = &model->blocks[which];
  size_t usable = hw_pool_usable_bytes(model->pool, block->at);
  model_expect_kept(block, usable);
  bool is_resized = hw_pool_resize(model->pool, block->at, bytes);
  MODEL_EXPECT(is_resized || bytes > usable);
  if (!is_resized)
    MODEL_EXPECT(hw_pool_usable_bytes(model->pool, block->at) == usable);
  model_expect_kept(block, is_resized && bytes < block->bytes ? bytes : block->bytes);
  model_fill(model, block, block->at, is_resized ? bytes : block->bytes);
}

static inline void model_realloc(struct model *model, size_t which, size_t bytes)
{
  struct model_block *block = &model->blocks[which];
  model_expect_kept(block, block->bytes);
  unsigned char *at = hw_pool_realloc(model->pool, block->at, bytes);
  if (at)
    block->at = at;
  model_expect_kept(block, at && bytes < block->bytes ? bytes : block->bytes);
  model_fill(model, block, block->at, at ? bytes : block->bytes);
}

static inline void model_free(struct model *model, size_t which)
{
  struct model_block *block = &model->blocks[which];
  model_expect_kept(block, hw_pool_usable_bytes(model->pool, block->at));
  MODEL_EXPECT(hw_pool_free(model->pool, block->at) == HW_POOL_OK);
  *block = model->blocks[--model->count];
}

/* Frees everything; a pool whose regions are adjacent is then one block again. */
static inline void model_finish(struct model *model)
{
  while (model->count)
    model_free(model, 0);
  model_expect_valid(model);
  struct hw_pool_stats stats;
  hw_pool_get_stats(model->pool, &stats);
  MODEL_EXPECT(stats.used_bytes == 0 && stats.free_bytes == stats.capacity_bytes);
  MODEL_EXPECT(stats.region_count > 1 || stats.fragmentation_permille == 0);
}

#endif
