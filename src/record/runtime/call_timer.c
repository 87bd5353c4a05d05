/* call_timer.c - how long the real allocator's functions take */
#include "record/runtime/call_timer.h"

#include <stdbool.h>

#include "record/record.h"

static bool is_timed;
static hwi_function *untimed[HW_ENTRY_COUNT];

#define UNTIMED(id, type) ((type *)untimed[HW_ENTRY_##id])

/* The duration of this thread's last call. A handler that runs between a call and its event has another block. */
static __thread struct {
  const void *block;
  uint64_t took : 63; /* 0: unknown */
  uint64_t passes_over : 1;
} latest __attribute__((tls_model("initial-exec")));

uint32_t hwi_call_timer_clock_cost(void)
{
  enum { READINGS = 256 };
  uint64_t least = UINT32_MAX;
  for (int i = 0; i < READINGS; i++) {
    uint64_t began = hwi_record_clock_in_order(), took = hwi_record_clock_in_order() - began;
    least = took < least ? took : least;
  }
  return (uint32_t)least;
}

/* --- calls --- */

/* Returns the duration as in events; 0 (unknown) for a thread that may not read the clock. */
static inline uint64_t took_since(uint64_t began)
{
  if (began == 0)
    return 0;
  uint64_t ended = hwi_record_clock_in_order();
  return ended > began ? ended - began + 1 : 1;
}

static inline void gave(const void *block, uint64_t began)
{
  latest.took = took_since(began);
  latest.block = block;
}

static void freed(const void *block, uint64_t began)
{
  uint64_t took = took_since(began);
  if (!latest.passes_over)
    hwi_record_freed(block, took);
  latest.passes_over = false;
}

uint64_t hwi_call_timer_took(const void *block)
{
  uint64_t took = latest.block == block ? latest.took : 0;
  latest.took = 0;
  return took;
}

uint64_t hwi_call_timer_begin(void)
{
  return is_timed ? hwi_record_clock_in_order() : 0;
}

void hwi_call_timer_gave(const void *block, uint64_t began)
{
  if (is_timed)
    gave(block, began);
}

void hwi_call_timer_freed(const void *block, uint64_t began)
{
  if (is_timed)
    freed(block, began);
}

void hwi_call_timer_pass_over(void)
{
  latest.passes_over = is_timed;
}

/* --- the real functions --- */

static void *timed_malloc(size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  void *block = UNTIMED(MALLOC, hwi_malloc_fn)(size);
  gave(block, began);
  return block;
}

static void timed_free(void *block)
{
  uint64_t began = hwi_record_clock_in_order();
  UNTIMED(FREE, hwi_free_fn)(block);
  freed(block, began);
}

static void *timed_calloc(size_t count, size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  void *block = UNTIMED(CALLOC, hwi_calloc_fn)(count, size);
  gave(block, began);
  return block;
}

/* With size 0 it was reported as a free, which gets the duration. */
static void *timed_realloc(void *old, size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  void *block = UNTIMED(REALLOC, hwi_realloc_fn)(old, size);
  if (old && !size)
    freed(old, began);
  else
    gave(block, began);
  return block;
}

static int timed_posix_memalign(void **to, size_t align, size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  int error = UNTIMED(POSIX_MEMALIGN, hwi_posix_memalign_fn)(to, align, size);
  gave(error ? NULL : *to, began);
  return error;
}

static void *timed_aligned_alloc(size_t align, size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  void *block = UNTIMED(ALIGNED_ALLOC, hwi_aligned_alloc_fn)(align, size);
  gave(block, began);
  return block;
}

static void *timed_memalign(size_t align, size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  void *block = UNTIMED(MEMALIGN, hwi_aligned_alloc_fn)(align, size);
  gave(block, began);
  return block;
}

static void *timed_valloc(size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  void *block = UNTIMED(VALLOC, hwi_malloc_fn)(size);
  gave(block, began);
  return block;
}

static void *timed_pvalloc(size_t size)
{
  uint64_t began = hwi_record_clock_in_order();
  void *block = UNTIMED(PVALLOC, hwi_malloc_fn)(size);
  gave(block, began);
  return block;
}

static hwi_function *const timed[HW_ENTRY_COUNT] = {
    [HW_ENTRY_MALLOC] = (hwi_function *)timed_malloc,
    [HW_ENTRY_FREE] = (hwi_function *)timed_free,
    [HW_ENTRY_CALLOC] = (hwi_function *)timed_calloc,
    [HW_ENTRY_REALLOC] = (hwi_function *)timed_realloc,
    [HW_ENTRY_POSIX_MEMALIGN] = (hwi_function *)timed_posix_memalign,
    [HW_ENTRY_ALIGNED_ALLOC] = (hwi_function *)timed_aligned_alloc,
    [HW_ENTRY_MEMALIGN] = (hwi_function *)timed_memalign,
    [HW_ENTRY_VALLOC] = (hwi_function *)timed_valloc,
    [HW_ENTRY_PVALLOC] = (hwi_function *)timed_pvalloc,
};

void hwi_call_timer_replace(hwi_function *next[])
{
  for (int entry = 0; entry < HW_ENTRY_COUNT && is_timed; entry++) {
    if (!timed[entry] || !next[entry])
      continue;
    __atomic_store_n(&untimed[entry], next[entry], __ATOMIC_RELEASE);
    next[entry] = timed[entry];
  }
}

void hwi_call_timer_start(void)
{
  hwi_function *next[HW_ENTRY_COUNT];
  is_timed = true;
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++)
    next[entry] = hwi_real_function[entry];
  hwi_call_timer_replace(next);
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++)
    __atomic_store_n(&hwi_real_function[entry], next[entry], __ATOMIC_RELEASE);
}
