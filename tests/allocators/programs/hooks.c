/* hooks.c - an allocator that counts the calls of its functions, and every call that the contract forbids
 *
 * HOOKS_OUTPUT=FILE gets the counts when the process ends by exit. All functions change errno.
 */
#define _GNU_SOURCE
#include <heapwright/allocator.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ARENA_BYTES = 256 << 20, HEADER_BYTES = 16, NOISE = 77 };

static struct {
  int inits, thread_inits, thread_exits, before_forks, after_forks, after_forks_in_child;
  int before_init, without_thread, odd_requests, nulls, foreign, boot_frees;
} seen;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char arena[ARENA_BYTES] __attribute__((aligned(4096)));
static size_t used_bytes;
static char *output;
static void *boot_block;
static __thread bool is_initialized __attribute__((tls_model("initial-exec")));

static void count(int *what)
{
  __atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static bool hooks_owns(const void *address)
{
  errno = NOISE;
  return (uintptr_t)address - (uintptr_t)arena < ARENA_BYTES;
}

static void check_call(void)
{
  errno = NOISE;
  if (__atomic_load_n(&seen.inits, __ATOMIC_RELAXED) != 1)
    count(&seen.before_init);
  if (!is_initialized)
    count(&seen.without_thread);
}

static void check_block(const void *block)
{
  check_call();
  if (!block)
    count(&seen.nulls);
  else if (!hooks_owns(block))
    count(&seen.foreign);
}

static void *hooks_alloc(size_t size, size_t align)
{
  check_call();
  if (!size || !align || align & (align - 1) || align > PTRDIFF_MAX || size > PTRDIFF_MAX - align)
    count(&seen.odd_requests);
  pthread_mutex_lock(&lock);
  uintptr_t base = (uintptr_t)arena;
  uintptr_t block = (base + used_bytes + HEADER_BYTES + align - 1) & ~(align - 1);
  bool fits = block - base < ARENA_BYTES && size <= ARENA_BYTES - (block - base);
  if (fits) {
    used_bytes = block - base + size;
    memcpy((void *)(block - HEADER_BYTES), &size, sizeof size);
  }
  pthread_mutex_unlock(&lock);
  return fits ? (void *)block : NULL;
}

static void hooks_free(void *block)
{
  check_block(block);
}

static size_t hooks_usable_size(void *block)
{
  check_block(block);
  size_t size;
  memcpy(&size, (char *)block - HEADER_BYTES, sizeof size);
  return size;
}

/* All these functions may allocate. */
static void hooks_init(void)
{
  char *volatile text = malloc(100);
  text = realloc(text, 200);
  memset(text, 'x', 200);
  free(calloc(10, 10));
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[200];
  if (maps && fgets(line, sizeof line, maps))
    fclose(maps);
  boot_block = text;
  const char *name = hw_allocator_getenv("HOOKS_OUTPUT");
  output = name ? strdup(name) : NULL;
  __atomic_fetch_add(&seen.inits, 1, __ATOMIC_RELAXED);
}

static void hooks_thread_init(void)
{
  is_initialized = true;
  free(malloc(10));
  count(&seen.thread_inits);
}

static void hooks_thread_exit(void)
{
  count(&seen.thread_exits);
}

static void hooks_before_fork(void)
{
  count(&seen.before_forks);
  pthread_mutex_lock(&lock);
}

static void hooks_after_fork(bool is_child)
{
  count(is_child ? &seen.after_forks_in_child : &seen.after_forks);
  pthread_mutex_unlock(&lock);
}

static void hooks_stats(struct hw_allocator_stats *stats)
{
  *stats = (struct hw_allocator_stats){
      .used_bytes = 3000000000, .system_bytes = 5000000000, .system_peak_bytes = 6000000000};
}

__attribute__((destructor)) static void print(void)
{
  boot_block = realloc(boot_block, 300);
  bool is_kept = boot_block && !memcmp(boot_block, "x", 1) && hooks_owns(boot_block);
  int file = output ? open(output, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (file < 0)
    return;
  dprintf(
      file, "inits %d\nthread_inits %d\nthread_exits %d\nbefore_forks %d\nafter_forks %d\nafter_forks_in_child %d\n",
      seen.inits, seen.thread_inits, seen.thread_exits, seen.before_forks, seen.after_forks, seen.after_forks_in_child);
  dprintf(file, "before_init %d\nwithout_thread %d\nodd_requests %d\nnulls %d\nforeign %d\nboot_block_kept %d\n",
          seen.before_init, seen.without_thread, seen.odd_requests, seen.nulls, seen.foreign, is_kept);
  close(file);
}

HEAPWRIGHT_ALLOCATOR(.alloc = hooks_alloc, .free = hooks_free, .usable_size = hooks_usable_size, .owns = hooks_owns,
                     .init = hooks_init, .thread_init = hooks_thread_init, .thread_exit = hooks_thread_exit,
                     .before_fork = hooks_before_fork, .after_fork = hooks_after_fork, .stats = hooks_stats);
