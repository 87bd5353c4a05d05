/* process_owner.h - what the heap of a process uses of a general heap: it has its own way to a thread's owner */
#ifndef HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H
#define HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H

#include "allocators/heap/hot.h"

/* As hw_heap_create, but in memory of the caller, which is all zero; the caller begins and ends the owners. Returns
 * false if the config is wrong, or, if `threads` is central or single, there is no memory. */
bool hwi_heap_begin(struct hw_heap *heap, const struct hw_heap_config *config, struct hw_heap_error *error);

/* What malloc does for the heaps, if it is on one of them. */
struct hwi_heap_malloc {
  /* The thread ends, and then its owners do: it must not use them any more. */
  void (*leave)(void);
  /* The heap is destroyed. Called with the lock of the list of heaps. */
  void (*forget)(const struct hw_heap *heap);
  /* Of blocks for the heap that are not in its memory, since another thread was forking. They return 0 and false for all other ones. */
  size_t (*block_bytes)(const struct hw_heap *heap, const void *block);
  bool (*free)(const struct hw_heap *heap, void *block);
};

/* To be called before the first hw_heap_create of the process, if the caller itself calls the functions of forks.c. */
void hwi_heaps_begin_in_malloc(const struct hwi_heap_malloc *its);

/* What the pages of the calling thread have as `thread`. 0, which no page of a living thread has, makes each free of
 * malloc's a slow one. */
static inline uintptr_t hwi_heap_thread_value(const struct hw_heap *heap)
{
  return heap->config.check_all_frees ? 0 : hwi_os_thread_word();
}

/* Returns what identifies the calling thread: the key of its owners. */
const void *hwi_heap_thread(void);

/* Returns the owner of the calling thread; NULL if there is no memory. */
struct hwi_owner *hwi_heap_owner(struct hw_heap *heap);

/* Returns NULL if the thread has not used the heap. */
struct hwi_owner *hwi_heap_existing_owner(const struct hw_heap *heap);

/* Resizes a block in place, or by moving its mapping, and changes *block then. Returns false if it must be copied. */
bool hwi_heap_resize(struct hw_heap *heap, void **block, size_t old_bytes, size_t bytes);

/* Returns how large the copy of a block that must grow should be: above 256 KiB it has room to grow further, of which
 * nothing is in memory before it is written, so that buffers that grow step by step are rarely copied. */
size_t hwi_heap_bytes_to_grow(size_t old_bytes, size_t bytes);

/* To be called when a block has got so many bytes for a request of `bytes`: it keeps its room until it is much too
 * long. */
void hwi_heap_note_room(void *block, size_t bytes);

/* As hw_heap_collect, but `most_bytes` of free memory may stay; `owner` is the calling thread's, or NULL. Returns how
 * many bytes went back to the system. */
size_t hwi_heap_collect(struct hw_heap *heap, struct hwi_owner *owner, size_t most_bytes);

/* The figures of all classes as text, with a line for each, so that it can be written at once. */
struct hwi_heap_table {
  size_t bytes;
  char text[8 << 10];
};

void hwi_heap_make_table(struct hw_heap *heap, struct hwi_heap_table *table);

#endif
