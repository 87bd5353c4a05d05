/* locked.c - an allocator with one lock, which it takes before a fork. Its blocks are powers of two, with a free list
 * for each size */
#include <heapwright/allocator.h>

#include <pthread.h>
#include <stdint.h>

enum { HEAD_BYTES = 16, CLASSES = 48, LEAST_CLASS = 6 };

struct block {
  size_t class_number;
  struct block *next;
};

static unsigned char arena[1 << 30] __attribute__((aligned(4096)));
static size_t used_bytes;
static struct block *free_blocks[CLASSES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct block *head_of(void *block)
{
  return (struct block *)((uintptr_t)block - HEAD_BYTES);
}

static struct block *take_fresh(size_t bytes)
{
  struct block *block = (struct block *)(arena + used_bytes);
  if (bytes > sizeof arena - used_bytes)
    return NULL;
  used_bytes += bytes;
  return block;
}

static void *locked_alloc(size_t size, size_t align)
{
  size_t class_number = LEAST_CLASS;
  while ((size_t)1 << class_number < size + HEAD_BYTES)
    class_number++;
  if (align > HEAD_BYTES || class_number >= CLASSES)
    return NULL;
  pthread_mutex_lock(&lock);
  struct block *block = free_blocks[class_number];
  if (block)
    free_blocks[class_number] = block->next;
  else
    block = take_fresh((size_t)1 << class_number);
  pthread_mutex_unlock(&lock);
  if (!block)
    return NULL;
  block->class_number = class_number;
  return (unsigned char *)block + HEAD_BYTES;
}

static void locked_free(void *address)
{
  struct block *block = head_of(address);
  pthread_mutex_lock(&lock);
  block->next = free_blocks[block->class_number];
  free_blocks[block->class_number] = block;
  pthread_mutex_unlock(&lock);
}

static size_t locked_usable_size(void *block)
{
  return ((size_t)1 << head_of(block)->class_number) - HEAD_BYTES;
}

static void before_fork(void)
{
  pthread_mutex_lock(&lock);
}

static void after_fork(bool is_child)
{
  (void)is_child;
  pthread_mutex_unlock(&lock);
}

HEAPWRIGHT_ALLOCATOR(.alloc = locked_alloc, .free = locked_free, .usable_size = locked_usable_size,
                     .before_fork = before_fork, .after_fork = after_fork);
