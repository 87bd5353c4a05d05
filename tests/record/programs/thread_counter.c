/* thread_counter.c - an independent count of each thread's allocations, with which the counts of a sample are compared
 *
 * A library to preload after the recorder. It shares no code with the recorder. COUNTER_SLOTS=FILE: for each thread,
 * four 64-bit words in a shared mapping: its tid, calls that gave out a block, the bytes that they asked for, and frees.
 * They are correct at every moment, however the process ends. %p in the name is the process ID; a fork's child counts from
 * zero. Blocks come from glibc, or with -DRING from ring_allocator.c, which a signal handler may interrupt anywhere.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 4096 };
struct slot {
  _Atomic long tid, allocations, bytes, frees;
};

static struct slot *slots;
static _Atomic int slots_pid;
static __thread struct slot *own;
static __thread int own_pid;

#ifdef RING
#define malloc ring_malloc
#define free ring_free
#define calloc ring_calloc
#define realloc ring_realloc
#define malloc_usable_size ring_usable_size
#include "../../faults/programs/ring_allocator.c"
#undef malloc
#undef free
#undef calloc
#undef realloc
#undef malloc_usable_size
#define NEXT(name) ring_##name
size_t malloc_usable_size(void *block)
{
  return ring_usable_size(block);
}

static void *next_memalign(size_t align, size_t size)
{
  char *block = take(size + align), *at = block + (-(uintptr_t)block & (align - 1));
  ((size_t *)at)[-2] = size;
  return at;
}
#else
void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
#define NEXT(name) __libc_##name
void *__libc_memalign(size_t align, size_t size);
#define next_memalign __libc_memalign
#endif

static void open_slots(int pid)
{
  char path[512];
  const char *pattern = getenv("COUNTER_SLOTS"), *at = pattern ? strstr(pattern, "%p") : NULL;
  if (!at)
    _exit(99);
  snprintf(path, sizeof path, "%.*s%d%s", (int)(at - pattern), pattern, pid, at + 2);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, SLOTS * sizeof *slots))
    _exit(99);
  slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  slots_pid = pid;
}

/* A thread gets its slot at its first call, of which no handler interrupts another one in the tests. */
static struct slot *slot(void)
{
  int pid = getpid();
  if (own_pid == pid)
    return own;
  static _Atomic int is_opening;
  while (__atomic_exchange_n(&is_opening, 1, __ATOMIC_ACQUIRE))
    continue;
  if (slots_pid != pid)
    open_slots(pid);
  for (own = slots; own->tid; own++)
    continue;
  own->tid = gettid();
  own_pid = pid;
  is_opening = 0;
  return own;
}

static void *made(void *block, size_t size)
{
  if (block) {
    slot()->allocations++;
    slot()->bytes += (long)size;
  }
  return block;
}

static int is_counting(void)
{
  return environ && getenv("COUNTER_SLOTS");
}

void *malloc(size_t size)
{
  void *block = NEXT(malloc)(size);
  return is_counting() ? made(block, size) : block;
}

void *calloc(size_t count, size_t size)
{
  void *block = NEXT(calloc)(count, size);
  return is_counting() ? made(block, count * size) : block;
}

void free(void *block)
{
  if (block && is_counting())
    slot()->frees++;
  NEXT(free)(block);
}

void *realloc(void *old, size_t size)
{
  void *block = NEXT(realloc)(old, size);
  if (!is_counting())
    return block;
  if (old && (block || !size))
    slot()->frees++;
  return made(block, size);
}

int posix_memalign(void **to, size_t align, size_t size)
{
  *to = next_memalign(align, size);
  if (is_counting())
    made(*to, size);
  return *to ? 0 : 12;
}

void *aligned_alloc(size_t align, size_t size)
{
  void *block = next_memalign(align, size);
  return is_counting() ? made(block, size) : block;
}
