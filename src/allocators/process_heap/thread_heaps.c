/* thread_heaps.c - hw_heap_set_for_thread, push and pop: the heap from which the calling thread allocates by malloc
 *
 * A stack for each thread: the first entry is what is set outside of all sections, and each push adds one. A heap
 * counts the entries that name it, of all threads, and is not destroyed while there are any.
 */
#include "allocators/process_heap/thread_heaps.h"

#include "allocators/heap/layout.h"

struct heap_stack {
  unsigned depth; /* pushes without their pop; it may be more than the stack has entries */
  struct hw_heap *heaps[HW_HEAP_MOST_PUSHED + 1];
};

static HWI_THREAD_LOCAL struct heap_stack stack;

static struct hw_heap **top(void)
{
  return &stack.heaps[stack.depth < HW_HEAP_MOST_PUSHED ? stack.depth : HW_HEAP_MOST_PUSHED];
}

static void count(struct hw_heap *heap, unsigned change)
{
  if (heap)
    __atomic_add_fetch(&heap->set_count, change, __ATOMIC_ACQ_REL);
}

static void enter(struct hw_heap *heap)
{
  count(heap, 1);
  *top() = heap;
}

static void leave(void)
{
  count(*top(), -1u);
  *top() = NULL;
}

bool hw_heap_set_for_thread(struct hw_heap *heap)
{
  if (!hwi_process_heap_use(heap))
    return false;
  leave();
  enter(heap);
  return true;
}

/* A section that cannot have its heap goes on with that of the section around it; beyond the last entry, it shares that
 * one's entry. */
bool hw_heap_push(struct hw_heap *heap)
{
  struct hw_heap *around = *top();
  if (stack.depth++ >= HW_HEAP_MOST_PUSHED)
    return false;
  bool is_used = hwi_process_heap_use(heap);
  enter(is_used ? heap : around);
  return is_used;
}

/* The owner in the heap around exists already. */
bool hw_heap_pop(void)
{
  if (!stack.depth)
    return false;
  if (stack.depth <= HW_HEAP_MOST_PUSHED)
    leave();
  stack.depth--;
  hwi_process_heap_use(*top());
  return true;
}

struct hw_heap *hw_heap_of_thread(void)
{
  return *top();
}

void hwi_thread_heaps_end(void)
{
  for (stack.depth = stack.depth < HW_HEAP_MOST_PUSHED ? stack.depth : HW_HEAP_MOST_PUSHED; stack.depth; stack.depth--)
    leave();
  leave();
  hwi_process_heap_use(NULL);
}

void hwi_thread_heaps_after_fork(void)
{
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
    heap->set_count = 0;
  for (unsigned i = 0; i <= HW_HEAP_MOST_PUSHED; i++)
    count(stack.heaps[i], 1);
}
