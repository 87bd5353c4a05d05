/* broken.c - libc's malloc with one fault, selected at compile time: -DFAULT_NAME
 *
 * Each fault breaks one promise, and as little else as possible. Without a fault all promises are kept.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);

#define EXPORT __attribute__((visibility("default")))

#ifdef FAULT_OVERLAPPING
enum { KEPT = 64 };
static void *last_of[KEPT];
#endif

#ifdef FAULT_RACING_FREE
/* A free list of blocks of 512 bytes without a lock. */
struct racing {
  struct racing *next;
};
static struct racing *racing_list;
enum { RACING_BYTES = 512 };
#endif

#ifdef FAULT_THREAD_EXIT
/* The thread's first block disappears when the thread ends. */
static __thread char own_block[24000] __attribute__((tls_model("initial-exec"), aligned(16)));
static __thread int own_is_taken __attribute__((tls_model("initial-exec")));
#endif

#if defined FAULT_FORK_DEADLOCK || defined FAULT_FORK_ORDER
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

#ifdef FAULT_FORK_ORDER
/* Taken before libc's own lock, which other threads hold while they wait for this one. */
static void before_fork(void)
{
  pthread_mutex_lock(&fork_lock);
}

static void after_fork(void)
{
  pthread_mutex_unlock(&fork_lock);
}

__attribute__((constructor)) static void begin(void)
{
  pthread_atfork(before_fork, after_fork, after_fork);
}
#endif

#if defined FAULT_SLOW || defined FAULT_SPIN
static void compute_once(time_t seconds)
{
  static int is_done;
  for (time_t end = time(NULL) + seconds; !is_done && time(NULL) <= end;)
    ;
  is_done = 1;
}
#endif

static void *get(size_t size)
{
#ifdef FAULT_MISALIGNED
  if (size == 200) /* its blocks are never freed */
    return (char *)__libc_malloc(size + 8) + 8;
#endif
#ifdef FAULT_MALLOC_ZERO
  if (!size)
    return NULL;
#endif
#ifdef FAULT_OVERLAPPING
  if (size >= 100 && size < 100 + KEPT) { /* allocated twice */
    void **place = &last_of[size - 100], *before = *place;
    *place = before ? NULL : __libc_malloc(size);
    return before ? before : *place;
  }
#endif
#ifdef FAULT_HUGE
  if (size > PTRDIFF_MAX) /* rounding up overflows */
    return __libc_malloc((size + 4096) & (size_t)0xffff);
#endif
#ifdef FAULT_ERRNO_SUCCESS
  if (size > 100000)
    errno = ENOENT;
#endif
#ifdef FAULT_RACING_FREE
  if (size > RACING_BYTES / 2 && size <= RACING_BYTES) {
    struct racing *first = racing_list;
    if (first) {
      racing_list = first->next;
      return first;
    }
    return __libc_malloc(RACING_BYTES);
  }
#endif
#if defined FAULT_FORK_DEADLOCK || defined FAULT_FORK_ORDER
  pthread_mutex_lock(&fork_lock);
  void *block = __libc_malloc(size);
  pthread_mutex_unlock(&fork_lock);
  return block;
#endif
#ifdef FAULT_THREAD_EXIT
  if (size > 100 && size <= sizeof own_block && !own_is_taken && gettid() != getpid()) {
    own_is_taken = 1;
    return own_block;
  }
#endif
#ifdef FAULT_SMALL_STACK
  volatile char room[200000];
  room[0] = room[sizeof room - 1] = 1;
#endif
#ifdef FAULT_CRASH
  if (size == 3000)
    *(volatile int *)8 = 1;
#endif
#ifdef FAULT_HANG
  while (size == 2999)
    sleep(1);
#endif
#ifdef FAULT_SLOW
  if (size == 0)
    compute_once(3);
#endif
#ifdef FAULT_SPIN
  if (size == 0)
    compute_once(3600);
#endif
#ifdef FAULT_FEW_BLOCKS
  static size_t count;
  if (count++ > 200000)
    return errno = ENOMEM, NULL;
#endif
  void *given = __libc_malloc(size);
#ifdef FAULT_WRONG_ERRNO
  if (!given)
    errno = EAGAIN;
#endif
  return given;
}

EXPORT void *malloc(size_t size)
{
  return get(size);
}

EXPORT void free(void *block)
{
#ifdef FAULT_FREE_NULL
  *(volatile char *)block = 1;
#endif
#ifdef FAULT_FREE_ERRNO
  errno = EINVAL;
#endif
#ifdef FAULT_NO_FREE
  return;
#endif
#ifdef FAULT_MISALIGNED
  if ((uintptr_t)block % 16)
    return;
#endif
#ifdef FAULT_THREAD_EXIT
  return;
#endif
#ifdef FAULT_RACING_FREE
  if (block && malloc_usable_size(block) == RACING_BYTES + 8) {
    ((struct racing *)block)->next = racing_list;
    racing_list = block;
    return;
  }
#endif
#ifdef FAULT_OVERLAPPING
  return;
#endif
#ifdef FAULT_FORK_DEADLOCK
  pthread_mutex_lock(&fork_lock);
  __libc_free(block);
  pthread_mutex_unlock(&fork_lock);
  return;
#endif
  __libc_free(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
#ifdef FAULT_NOT_ZEROING
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? errno = ENOMEM, NULL : __libc_malloc(bytes);
#elif defined FAULT_CALLOC_OVERFLOW
  return __libc_calloc(1, count * size > PTRDIFF_MAX ? 16 : count * size);
#else
  void *block = __libc_calloc(count, size);
#ifdef FAULT_WRONG_ERRNO
  if (!block)
    errno = EAGAIN;
#endif
  return block;
#endif
}

EXPORT void *realloc(void *block, size_t size)
{
#ifdef FAULT_REALLOC_TAIL
  size_t usable = block ? malloc_usable_size(block) : 0;
  void *moved = size ? __libc_realloc(block, size) : __libc_realloc(block, 0);
  if (moved && size > 3000 && usable > 2000) /* the last bytes are not copied */
    memset((char *)moved + (usable < size ? usable : size) - 16, 0, 8);
  return moved;
#elif defined FAULT_REALLOC_FREES
  void *moved = __libc_realloc(block, size);
  if (!moved && block && size) {
    memset(block, 0xee, 16);
    errno = ENOMEM;
  }
  return moved;
#elif defined FAULT_REALLOC_NULL
  return block ? __libc_realloc(block, size) : NULL;
#elif defined FAULT_REALLOC_ZERO
  return __libc_realloc(block, size ? size : 1);
#elif defined FAULT_REALLOC_SHRINK
  void *moved = __libc_realloc(block, size);
  if (moved && size > 100 && size < 120)
    ((char *)moved)[size - 1] ^= 1;
  return moved;
#else
  return __libc_realloc(block, size);
#endif
}

static void *aligned(size_t align, size_t size)
{
#ifdef FAULT_ALIGN_CAPPED
  return __libc_memalign(align > 4096 ? 4096 : align, size);
#else
  return __libc_memalign(align, size);
#endif
}

EXPORT void *memalign(size_t align, size_t size)
{
  return aligned(align, size);
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
  if (!align || align & (align - 1))
    return errno = EINVAL, NULL;
  return aligned(align, size);
}

EXPORT int posix_memalign(void **to, size_t align, size_t size)
{
#ifdef FAULT_POSIX_MEMALIGN
  if (align < sizeof *to)
    align = sizeof *to;
#endif
#ifdef FAULT_POSIX_MEMALIGN_POINTER
  *to = NULL;
#endif
  if (align % sizeof *to || !align || align & (align - 1))
    return EINVAL;
#ifdef FAULT_POSIX_MEMALIGN_ERRNO
  int before = errno;
#endif
  void *block = aligned(align, size);
#ifdef FAULT_POSIX_MEMALIGN_ERRNO
  errno = before;
#endif
  if (!block)
    return ENOMEM;
  *to = block;
  return 0;
}

EXPORT void *valloc(size_t size)
{
#ifdef FAULT_VALLOC
  return __libc_malloc(size);
#else
  return aligned(4096, size);
#endif
}

#ifndef FAULT_FAMILY
EXPORT void *pvalloc(size_t size)
{
  return aligned(4096, (size + 4095) & ~(size_t)4095);
}
#endif

EXPORT size_t malloc_usable_size(void *block)
{
  /* like libc's own, which reads the size before the block */
  size_t chunk = block ? ((size_t *)block)[-1] : 0;
  size_t usable = block ? (chunk & ~(size_t)7) - (chunk & 2 ? 16 : 8) : 0;
#ifdef FAULT_USABLE_MORE
  return usable > 3000 ? usable + 32 : usable;
#elif defined FAULT_USABLE_LESS
  return usable > 3000 ? usable - 64 : usable;
#else
  return usable;
#endif
}

#ifdef FAULT_NEW
EXPORT void *new_nothing(size_t size) __asm__("_Znwm");
void *new_nothing(size_t size)
{
  return __libc_malloc(size); /* returns NULL where it should throw */
}
#endif
#ifdef FAULT_NEW_ALIGN
EXPORT void *new_misaligned(size_t size, size_t align) __asm__("_ZnwmSt11align_val_t");
void *new_misaligned(size_t size, size_t align)
{
  return __libc_memalign(align / 2, size);
}
#endif
