/* settings.h - the settings of the heap of a process, from the environment */
#ifndef HWI_ALLOCATORS_PROCESS_SETTINGS_H
#define HWI_ALLOCATORS_PROCESS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Limit for blocks of the pool and for regions: no address space has room for larger ones. The tables for this take 20
 * KB. */
#define HWI_HEAP_LARGEST_BYTES ((size_t)1 << (sizeof(size_t) == 8 ? 46 : 31))

enum { HWI_POOL_LEAST_BYTES = 64 << 10 };

enum hwi_exhausted { HWI_EXHAUSTED_GROW, HWI_EXHAUSTED_FAIL, HWI_EXHAUSTED_ABORT, HWI_EXHAUSTED_PASS_ON };
enum hwi_locking { HWI_LOCKING_OFF = 0, HWI_LOCKING_ON = 1, HWI_LOCKING_TRY };

struct hwi_settings {
  size_t pool_bytes;            /* HEAPWRIGHT_POOL_SIZE, INITIAL_MEMPOOL_SIZE */
  size_t growth_bytes;          /* HEAPWRIGHT_POOL_GROWTH, ADDITIONAL_MEMPOOL_SIZE */
  enum hwi_exhausted exhausted; /* HEAPWRIGHT_POOL_POLICY: grow, fail, abort. PASS_ON is for other libcs */
  enum hwi_locking locking;     /* HEAPWRIGHT_POOL_LOCK: 1 (a failure is reported) or 0; tried if not set */
  bool touches_growth;          /* HEAPWRIGHT_POOL_TOUCH: all, or start only */
  bool huge_pages;              /* HEAPWRIGHT_POOL_HUGE_PAGES */
  bool stats;                   /* HEAPWRIGHT_POOL_STATS: statistics on stderr at exit */
  bool abort_on_fault;          /* HEAPWRIGHT_CHECK */
};

/* Reads the settings with `value_of`, which returns NULL for a variable that is not set. An invalid value is reported
 * on stderr, and the default is used. */
void hwi_settings_read(struct hwi_settings *settings, const char *(*value_of)(const char *name));

#endif
