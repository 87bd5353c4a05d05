/* live_blocks.c - for the tests: a library to preload that lists the live blocks of a malloc, independently
 *
 * It calls glibc's functions, or, if it is built with NEXT, those of the malloc that is preloaded after it or that the program is
 * linked with. It notes each block in a table of its own. On the signal SIGRTMIN + 6, which no program of the tests uses, it writes to
 * LIVE_BLOCKS a line "ADDRESS USABLE" for each live block, and a line "mallinfo2 ARENA HBLKHD UORDBLKS FORDBLKS". Then the main thread
 * waits for its end, so that the heap stays as it is. The program must not be in malloc when the signal comes. Nothing here allocates
 * memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef NEXT
/* A function is looked up at its first call. */
#define FUNCTION(result, name, parameters, ...)   \
  static result __libc_##name parameters          \
  {                                               \
    static result(*found) parameters;             \
    if (!found)                                   \
      *(void **)&found = dlsym(RTLD_NEXT, #name); \
    return found(__VA_ARGS__);                    \
  }
FUNCTION(void *, malloc, (size_t bytes), bytes)
FUNCTION(void *, calloc, (size_t count, size_t bytes), count, bytes)
FUNCTION(void *, realloc, (void *block, size_t bytes), block, bytes)
FUNCTION(void *, memalign, (size_t alignment, size_t bytes), alignment, bytes)
FUNCTION(void, free, (void *block), block)
/* jemalloc's own, which newer versions of redis call */
FUNCTION(void *, mallocx, (size_t bytes, int flags), bytes, flags)
FUNCTION(void *, rallocx, (void *block, size_t bytes, int flags), block, bytes, flags)
FUNCTION(void, dallocx, (void *block, int flags), block, flags)
#else
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);
#endif

enum { SLOTS = 1 << 20 };

static void **slots; /* a hash table with linear probing: NULL is free */
static char lock;

/* What mallinfo2 returns, which is not in all versions' headers. */
struct sums {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

static struct sums (*info)(void);

static void enter(void)
{
  while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
    ;
}

static void leave(void)
{
  __atomic_clear(&lock, __ATOMIC_RELEASE);
}

static size_t home_of(const void *block)
{
  return ((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 44;
}

static void *note(void *block)
{
  if (!block)
    return NULL;
  enter();
  if (!slots)
    slots =
        mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  size_t i = home_of(block);
  while (slots[i])
    i = (i + 1) % SLOTS;
  slots[i] = block;
  leave();
  return block;
}

static void forget(const void *block)
{
  enter();
  size_t hole = home_of(block);
  while (slots && slots[hole] && slots[hole] != block)
    hole = (hole + 1) % SLOTS;
  if (slots && slots[hole]) {
    slots[hole] = NULL;
    for (size_t i = (hole + 1) % SLOTS; slots[i]; i = (i + 1) % SLOTS)
      if ((i - home_of(slots[i])) % SLOTS >= (i - hole) % SLOTS) {
        slots[hole] = slots[i];
        slots[i] = NULL;
        hole = i;
      }
  }
  leave();
}

void *malloc(size_t bytes)
{
  return note(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
  return note(__libc_calloc(count, bytes));
}

void free(void *block)
{
  if (block)
    forget(block);
  __libc_free(block);
}

void *realloc(void *block, size_t bytes)
{
  if (block)
    forget(block);
  void *made = __libc_realloc(block, bytes);
  if (!made && block && bytes)
    note(block);
  return note(made);
}

void *memalign(size_t alignment, size_t bytes)
{
  return note(__libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
  return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}

void *valloc(size_t bytes)
{
  return memalign(4096, bytes);
}

#ifdef NEXT
void *mallocx(size_t bytes, int flags)
{
  return note(__libc_mallocx(bytes, flags));
}

void *rallocx(void *block, size_t bytes, int flags)
{
  forget(block);
  void *made = __libc_rallocx(block, bytes, flags);
  return note(made ? made : block);
}

void dallocx(void *block, int flags)
{
  forget(block);
  __libc_dallocx(block, flags);
}
#endif

static void write_all(void)
{
  static char text[1 << 16];
  size_t used = 0;
  const char *path = getenv("LIVE_BLOCKS");
  char unfinished[4096];
  snprintf(unfinished, sizeof unfinished, "%s.part", path);
  const int fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (size_t i = 0; slots && i < SLOTS; i++) {
    if (slots[i])
      used += (size_t)snprintf(text + used, 64, "%#lx %zu\n", (unsigned long)slots[i], malloc_usable_size(slots[i]));
    if (used > sizeof text - 256) {
      (void)!write(fd, text, used);
      used = 0;
    }
  }
  const struct sums sums = info();
  used += (size_t)snprintf(text + used, 256, "mallinfo2 %zu %zu %zu %zu\n", sums.arena, sums.hblkhd, sums.uordblks,
                           sums.fordblks);
  (void)!write(fd, text, used);
  close(fd);
  rename(unfinished, path);
}

/* For versions before 2.33. */
static struct sums old_info(void)
{
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo old = mallinfo();
  return (struct sums){.arena = (size_t)old.arena,
                       .hblkhd = (size_t)old.hblkhd,
                       .uordblks = (size_t)old.uordblks,
                       .fordblks = (size_t)old.fordblks};
}

static void on_signal(int number)
{
  (void)number;
  write_all();
  for (;;)
    pause();
}

__attribute__((constructor)) static void begin(void)
{
  *(void **)&info = dlsym(RTLD_DEFAULT, "mallinfo2");
  info = info ? info : old_info;
  sigaction(SIGRTMIN + 6, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
}
