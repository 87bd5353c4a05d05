/* heap_model.h - a set of a heap's blocks, each filled with a pattern of its own, that a test knows of */
#ifndef HEAP_MODEL_H
#define HEAP_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heapwright/heap.h"

enum { MODEL_MOST = 3000 };

struct model_block {
  unsigned char *at;
  size_t bytes;
  unsigned char fill;
};

struct model {
  struct hw_heap *heap;
  uint64_t seed;
  size_t count;
  struct model_block blocks[MODEL_MOST];
};

static inline uint64_t model_any(struct model *model)
{
  model->seed ^= model->seed << 13;
  model->seed ^= model->seed >> 7;
  return model->seed ^= model->seed << 17;
}

/* Each power of two is as likely as any other. */
static inline size_t model_any_size(struct model *model, unsigned most_bits)
{
  return model_any(model) & (((uint64_t)1 << model_any(model) % most_bits) - 1);
}

static inline bool model_is_whole(const struct model_block *block)
{
  for (size_t i = 0; i < block->bytes; i += 1 + block->bytes / 64)
    if (block->at[i] != block->fill)
      return false;
  return !block->bytes || block->at[block->bytes - 1] == block->fill;
}

static inline void model_fill(struct model *model, struct model_block *block, unsigned char *at, size_t bytes)
{
  *block = (struct model_block){at, bytes, (unsigned char)model_any(model)};
  memset(at, block->fill, bytes);
}

static inline bool model_alloc(struct model *model, size_t align, size_t bytes)
{
  bool is_zeroed = !align && model_any(model) % 8 == 0;
  unsigned char *at = is_zeroed ? hw_heap_alloc_zeroed(model->heap, bytes)
                      : align   ? hw_heap_alloc_aligned(model->heap, align, bytes)
                                : hw_heap_alloc(model->heap, bytes);
  if (!at || (uintptr_t)at % (align > HW_HEAP_ALIGN ? align : HW_HEAP_ALIGN))
    return false;
  for (size_t i = 0; is_zeroed && i < bytes; i++)
    if (at[i])
      return false;
  model_fill(model, &model->blocks[model->count++], at, bytes);
  return true;
}

static inline bool model_free(struct model *model, size_t which)
{
  struct model_block block = model->blocks[which];
  model->blocks[which] = model->blocks[--model->count];
  return model_is_whole(&block) && hw_heap_free(model->heap, block.at) == HW_HEAP_OK;
}

static inline bool model_realloc(struct model *model, size_t which, size_t bytes)
{
  struct model_block *block = &model->blocks[which];
  unsigned char *at = hw_heap_realloc(model->heap, block->at, bytes);
  struct model_block moved = {at, bytes < block->bytes ? bytes : block->bytes, block->fill};
  if (!at || !model_is_whole(&moved))
    return false;
  model_fill(model, block, at, bytes);
  return true;
}

/* Returns false if the heap did something wrong. */
static inline bool model_step(struct model *model, unsigned most_bits)
{
  unsigned choice = model_any(model) % 16;
  size_t which = model->count ? model_any(model) % model->count : 0;
  if (!model->count || (choice < 7 && model->count < MODEL_MOST))
    return model_alloc(model, 0, model_any_size(model, most_bits));
  if (choice < 8 && model->count < MODEL_MOST)
    return model_alloc(model, (size_t)1 << model_any(model) % 14, model_any_size(model, most_bits));
  if (choice < 10)
    return model_realloc(model, which, model_any_size(model, most_bits));
  return model_free(model, which);
}

static inline bool model_free_all(struct model *model)
{
  while (model->count)
    if (!model_free(model, model->count - 1))
      return false;
  return true;
}

#endif
