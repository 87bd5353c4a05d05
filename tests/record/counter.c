/* counter.c - an independent count of a program's allocations, with which the recorder's counts are compared
 *
 * A library to preload, after the recorder or alone. It shares no code with the recorder: each function calls the next
 * library's function and adds to a few counters, by the rules under "What counts" in the design. An operator new is one
 * malloc and is counted once. Blocks that are allocated before malloc is found are not counted, as the recorder does
 * not count its own.
 *
 * COUNTER_OUTPUT=FILE: the numbers as JSON, written when the library's destructor runs and again at each later call.
 *
 * COUNTER_LIVE=FILE: the same numbers in the same order as 64-bit words in a shared mapping. They are correct at every
 * moment, however the process ends. %p in either name is the process ID. A fork's child counts from zero. It writes
 * only if the name contains %p, so that its file differs from its parent's.
 *
 * After the recorder, it sees the calls that the recorder makes: an operator new of 0 bytes is a malloc of 1, one with
 * an alignment is an aligned_alloc of a rounded size, and a reallocarray that overflows does not arrive. If a
 * new_handler throws, no failed call is counted here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EARLY_BYTES = 1 << 16, TEXT_BYTES = 512, PATH_BYTES = 4096 };

struct totals {
  long allocation_calls, free_calls, failed_calls, allocated_bytes;
};

static struct totals own_totals, *total = &own_totals; /* COUNTER_LIVE: the mapping */
static int is_ending;                                  /* the destructor has run */

static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static void *(*next_valloc)(size_t);
static void *(*next_pvalloc)(size_t);
static __thread int is_looking_up;

static int is_early(const void *block)
{
  return (const char *)block >= early && (const char *)block < early + EARLY_BYTES;
}

static void *early_block(size_t size)
{
  size_t need = (size + 31) & ~(size_t)15;
  size_t at = __atomic_fetch_add(&early_used, need, __ATOMIC_RELAXED);
  if (at + need > EARLY_BYTES)
    return NULL;
  *(size_t *)(early + at) = size;
  return early + at + 16;
}

/* Returns whether the next functions can be called. They cannot while dlsym itself is allocating. */
static int is_ready(void)
{
  if (next_malloc)
    return 1;
  if (is_looking_up)
    return 0;
  is_looking_up = 1;
  next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
  next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
  next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
  next_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
  next_aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
  next_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
  next_valloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "valloc");
  next_pvalloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc");
  next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  is_looking_up = 0;
  return 1;
}

static void write_totals(void);

static void add(long *number, long amount)
{
  __atomic_fetch_add(number, amount, __ATOMIC_RELAXED);
}

static void *count(void *block, size_t size)
{
  if (block) {
    add(&total->allocation_calls, 1);
    add(&total->allocated_bytes, (long)size);
  } else {
    add(&total->failed_calls, 1);
  }
  if (is_ending)
    write_totals();
  return block;
}

static void count_free(void *block)
{
  if (!block || is_early(block) || !is_ready())
    return;
  add(&total->free_calls, 1);
  if (is_ending)
    write_totals();
  next_free(block);
}

void *malloc(size_t size)
{
  return is_ready() ? count(next_malloc(size), size) : early_block(size);
}

void free(void *block)
{
  count_free(block);
}

void *calloc(size_t n, size_t size)
{
  return is_ready() ? count(next_calloc(n, size), n * size) : early_block(n * size);
}

static void *count_realloc(void *old, void *block, size_t size)
{
  if (old && (block || size == 0))
    add(&total->free_calls, 1);
  if (block || !old || size)
    count(block, size);
  return block;
}

static void *realloc_early(void *old, size_t size)
{
  void *block = is_ready() ? count(next_malloc(size), size) : early_block(size);
  size_t old_size = *(size_t *)((char *)old - 16);
  return block ? memcpy(block, old, old_size < size ? old_size : size) : NULL;
}

void *realloc(void *old, size_t size)
{
  if (old && is_early(old))
    return realloc_early(old, size);
  return is_ready() ? count_realloc(old, next_realloc(old, size), size) : early_block(size);
}

/* libc's reallocarray calls realloc by name, which would count twice. */
void *reallocarray(void *old, size_t n, size_t size)
{
  size_t bytes;
  if (!__builtin_mul_overflow(n, size, &bytes))
    return realloc(old, bytes);
  errno = ENOMEM;
  return count(NULL, SIZE_MAX);
}

int posix_memalign(void **to, size_t align, size_t size)
{
  if (!is_ready())
    return ENOMEM;
  int error = next_posix_memalign(to, align, size);
  count(error ? NULL : *to, size);
  return error;
}

void *aligned_alloc(size_t align, size_t size)
{
  return is_ready() ? count(next_aligned_alloc(align, size), size) : NULL;
}

void *memalign(size_t align, size_t size)
{
  return is_ready() ? count(next_memalign(align, size), size) : NULL;
}

void *valloc(size_t size)
{
  return is_ready() ? count(next_valloc(size), size) : NULL;
}

void *pvalloc(size_t size)
{
  return is_ready() ? count(next_pvalloc(size), size) : NULL;
}

/* --- C++ --- */

typedef void handler_fn(void);
extern handler_fn *get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak));

/* One operator new. A handler may be called; what it frees and allocates is counted separately. */
static void *new_block(size_t size, size_t align)
{
  for (;;) {
    void *block = NULL;
    size_t asked = size ? size : 1;
    if (!is_ready())
      return early_block(size);
    if (!align)
      block = next_malloc(asked);
    else if (!(align & (align - 1)) && asked + align > asked)
      block = next_aligned_alloc(align, (asked + align - 1) & ~(align - 1));
    if (block)
      return count(block, size);
    handler_fn *handler = get_new_handler && !(align & (align - 1)) ? get_new_handler() : NULL;
    if (!handler)
      return count(NULL, size);
    handler();
  }
}

static void *new_or_throw(size_t size, size_t align)
{
  void *block = new_block(size, align);
  if (!block && throw_bad_alloc)
    throw_bad_alloc();
  return block;
}

#define NEW(symbol, parameters, ...) \
  void *symbol parameters;           \
  void *symbol parameters            \
  {                                  \
    __VA_ARGS__;                     \
  }
NEW(_Znwm, (size_t size), return new_or_throw(size, 0))
NEW(_Znam, (size_t size), return new_or_throw(size, 0))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), return new_or_throw(size, align))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), return new_or_throw(size, align))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (void)tag; return new_block(size, 0))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (void)tag; return new_block(size, 0))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (void)tag;
    return new_block(size, align))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (void)tag;
    return new_block(size, align))

/* A delete uses only its first argument. */
#define DELETE(symbol)      \
  void symbol(void *block); \
  void symbol(void *block)  \
  {                         \
    count_free(block);      \
  }
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* --- the result --- */

enum { NUMBER_WIDTH = 20 };

/* Writes the text, and the number in a fixed width, so that each writing of the file overwrites the one before. */
static char *put(char *at, const char *text, long number)
{
  while (*text)
    *at++ = *text++;
  for (int i = NUMBER_WIDTH; i-- > 0; number /= 10)
    at[i] = number || i == NUMBER_WIDTH - 1 ? (char)('0' + number % 10) : ' ';
  return at + NUMBER_WIDTH;
}

/* Opens the file that `variable` names, with %p replaced by the process ID. Returns a negative number if there is none
 * to write. */
static int open_output(const char *variable, int is_child)
{
  char path[PATH_BYTES], digits[NUMBER_WIDTH];
  const char *from = getenv(variable);
  char *to = path, *end = path + PATH_BYTES - NUMBER_WIDTH - 1;
  if (!from || (is_child && !strstr(from, "%p")))
    return -1;
  for (; *from && to < end; from++)
    if (from[0] == '%' && from[1] == 'p') {
      put(digits, "", (long)syscall(SYS_getpid));
      for (int i = 0; i < NUMBER_WIDTH; i++)
        if (digits[i] != ' ')
          *to++ = digits[i];
      from++;
    } else {
      *to++ = *from;
    }
  *to = 0;
  return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0600);
}

static int is_fork_child;

static void write_totals(void)
{
  char text[TEXT_BYTES], *end = text;
  int fd = open_output("COUNTER_OUTPUT", is_fork_child);
  if (fd < 0)
    return;
  end = put(end, "{\"allocation_calls\": ", total->allocation_calls);
  end = put(end, ", \"free_calls\": ", total->free_calls);
  end = put(end, ", \"failed_calls\": ", total->failed_calls);
  end = put(end, ", \"allocated_bytes\": ", total->allocated_bytes);
  *end++ = '}';
  *end++ = '\n';
  syscall(SYS_pwrite64, fd, text, (size_t)(end - text), 0);
  syscall(SYS_close, fd);
}

/* From here on the counters are in the mapped file. */
static void map_totals(int is_child)
{
  int fd = open_output("COUNTER_LIVE", is_child);
  if (fd < 0)
    return;
  if (syscall(SYS_ftruncate, fd, (long)sizeof *total) == 0) {
    struct totals *mapped = mmap(NULL, sizeof *total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) {
      *mapped = *total;
      total = mapped;
    }
  }
  syscall(SYS_close, fd);
}

static void start_anew(void)
{
  own_totals = (struct totals){0};
  total = &own_totals;
  is_fork_child = 1;
  map_totals(1);
}

static __attribute__((constructor(101))) void begin(void)
{
  map_totals(0);
  pthread_atfork(NULL, NULL, start_anew);
}

static __attribute__((destructor(101))) void finish(void)
{
  is_ending = 1;
  write_totals();
}
