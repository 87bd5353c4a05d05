/* resize.c - blocks of a general heap become longer or shorter
 *
 * A block of a class is copied. A span takes or leaves slices where it is; a large block is remapped, also to another
 * place.
 */
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/process_owner.h"
#include "allocators/heap/space.h"

#include <string.h>

size_t hw_heap_good_bytes(const struct hw_heap *heap, size_t bytes)
{
  if (heap->uses_libc || !heap->is_alive || !hwi_space_can_have(bytes))
    return bytes;
  if (bytes <= HW_HEAP_LARGEST_CLASS_BYTES)
    return heap->class_bytes[heap->class_of[(bytes + HW_HEAP_ALIGN - 1) >> HWI_GRANULE_BITS]];
  return bytes <= HWI_SPAN_BYTES ? hwi_slices_for(bytes) * HWI_SLICE_BYTES : hwi_large_length(heap, bytes);
}

/* Of a block above the largest class. Returns the block, or NULL if that is not possible; then nothing was changed. */
static void *resize_mapped(struct hw_heap *heap, void *block, size_t old_bytes, size_t bytes, bool may_move)
{
  struct hwi_page *page = hwi_slice_of(block);
  enum hwi_lock_result result = hwi_heap_lock(heap);
  char *resized = NULL;
  size_t new_bytes = 0;
  if (result == HWI_LOCK_CLOSED)
    return NULL;
  size_t least = hwi_large_length(heap, HWI_SPAN_BYTES + 1);
  if (page->kind == HWI_PAGE_LARGE && bytes <= HWI_SPAN_BYTES && (!may_move || bytes >= least / 2))
    bytes = least < old_bytes ? least : old_bytes;
  if (page->kind == HWI_PAGE_LARGE && bytes > HWI_SPAN_BYTES)
    resized = (char *)hwi_large_resize(heap, page, bytes, may_move, &new_bytes);
  else if (page->kind == HWI_PAGE_SPAN && bytes <= HWI_SPAN_BYTES)
    resized = hwi_arena_resize(page, hwi_slices_for(bytes)) ? (char *)block : NULL;
  if (resized && page->kind == HWI_PAGE_SPAN)
    page->has_room = false;
  hwi_heap_unlock(heap, result);
  if (resized)
    hwi_heap_make_present(heap, (uintptr_t)resized + old_bytes, new_bytes);
  return resized;
}

static bool has_room(const void *block)
{
  const struct hwi_page *page = hwi_slice_of(block);
  return page->kind == HWI_PAGE_SPAN && page->has_room;
}

/* Returns whether the block is as good for a request as another one. To make one shorter that is not of a class,
 * nothing is copied; but one with room to grow keeps it. */
static bool is_near(const struct hw_heap *heap, const void *block, size_t old_bytes, size_t bytes)
{
  enum { KEPT_PART = 2, CUT_PART = 8 };
  if (hwi_large_stays(heap, old_bytes, bytes))
    return true;
  bool is_cut = old_bytes > HW_HEAP_LARGEST_CLASS_BYTES && !has_room(block);
  return bytes <= old_bytes && bytes >= old_bytes - old_bytes / (is_cut ? CUT_PART : KEPT_PART);
}

size_t hwi_heap_bytes_to_grow(size_t old_bytes, size_t bytes)
{
  enum { LEAST_BYTES = 256 << 10, ROOM_BYTES = 512 << 10 };
  bool has_room = bytes > old_bytes && bytes > LEAST_BYTES && bytes <= HWI_SPAN_BYTES;
  return has_room ? (bytes + ROOM_BYTES - 1) & ~(size_t)(ROOM_BYTES - 1) : bytes;
}

void hwi_heap_note_room(void *block, size_t bytes)
{
  struct hwi_page *page = hwi_is_in_space(block) ? hwi_slice_of(block) : NULL;
  if (page && page->kind == HWI_PAGE_SPAN)
    page->has_room = page->block_bytes > bytes;
}

bool hwi_heap_resize(struct hw_heap *heap, void **block, size_t old_bytes, size_t bytes)
{
  if (!hwi_is_in_space(*block))
    return false;
  if (is_near(heap, *block, old_bytes, bytes))
    return true;
  if (old_bytes <= HW_HEAP_LARGEST_CLASS_BYTES || bytes <= HW_HEAP_LARGEST_CLASS_BYTES)
    return false;
  void *resized = resize_mapped(heap, *block, old_bytes, bytes, true);
  *block = resized ? resized : *block;
  return resized;
}

bool hw_heap_resize_in_place(struct hw_heap *heap, void *block, size_t bytes)
{
  size_t old_bytes = hw_heap_usable_bytes(heap, block);
  if (old_bytes == 0)
    return false;
  bool is_mapped = old_bytes > HW_HEAP_LARGEST_CLASS_BYTES && !heap->uses_libc && hwi_is_in_space(block);
  bool is_resized = is_mapped && !is_near(heap, block, old_bytes, bytes) &&
                    resize_mapped(heap, block, old_bytes, bytes ? bytes : 1, false);
  return is_resized || bytes <= old_bytes;
}

void *hw_heap_realloc(struct hw_heap *heap, void *block, size_t bytes)
{
  if (!block)
    return hw_heap_alloc(heap, bytes);
  size_t old_bytes = hw_heap_usable_bytes(heap, block);
  if (old_bytes == 0)
    return NULL;
  if (!heap->uses_libc && hwi_heap_resize(heap, &block, old_bytes, bytes))
    return block;
  size_t roomy_bytes = heap->uses_libc ? bytes : hwi_heap_bytes_to_grow(old_bytes, bytes);
  void *moved = hw_heap_alloc(heap, roomy_bytes);
  if (!moved && roomy_bytes > bytes)
    moved = hw_heap_alloc(heap, bytes);
  if (moved) {
    hwi_heap_note_room(moved, bytes);
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    hw_heap_free(heap, block);
  }
  return moved;
}
