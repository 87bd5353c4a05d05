/* settings.h - what the environment asks of the heap of a process */
#ifndef HWI_ALLOCATORS_PROCESS_SETTINGS_H
#define HWI_ALLOCATORS_PROCESS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* No block of the pool is larger, and no region: no address space has room for more. Its tables for it take 20 KB. */
#define HWI_HEAP_LARGEST_BYTES ((size_t)1 << 46)

enum { HWI_POOL_LEAST_BYTES = 64 << 10 };

enum hwi_exhausted { HWI_EXHAUSTED_GROW, HWI_EXHAUSTED_FAIL, HWI_EXHAUSTED_ABORT, HWI_EXHAUSTED_PASS_ON };
enum hwi_locking { HWI_LOCKING_OFF = 0, HWI_LOCKING_ON = 1, HWI_LOCKING_TRY };

struct hwi_settings {
  size_t pool_bytes;            /* HEAPWRIGHT_POOL_SIZE, INITIAL_MEMPOOL_SIZE */
  size_t growth_bytes;          /* HEAPWRIGHT_POOL_GROWTH, ADDITIONAL_MEMPOOL_SIZE */
  enum hwi_exhausted exhausted; /* HEAPWRIGHT_POOL_POLICY: grow, fail, abort. To pass on is for other libcs */
  enum hwi_locking locking;     /* HEAPWRIGHT_POOL_LOCK: 1 (failure is said), 0; without it, tried */
  bool touches_growth;          /* HEAPWRIGHT_POOL_TOUCH: all, or start alone */
  bool huge_pages;              /* HEAPWRIGHT_POOL_HUGE_PAGES */
  bool stats;                   /* HEAPWRIGHT_POOL_STATS: figures on stderr at exit */
  bool abort_on_fault;          /* HEAPWRIGHT_CHECK */
};

/* Reads them by `value_of` (NULL: not given). A value that makes no sense is reported on stderr, and the default taken. */
void hwi_settings_read(struct hwi_settings *settings, const char *(*value_of)(const char *name));

#endif
