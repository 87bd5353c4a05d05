/* growing_table.c - a table that stays at its address while more of it becomes usable */
#include "record/growing_table.h"

#include "platform/os.h"

enum { STEP_BYTES = 64 << 10 };

static char *reserve(struct hwi_growing_table *table, size_t bytes)
{
  char *made = hwi_os_reserve(bytes), *none = NULL;
  if (!made || atomic_compare_exchange_strong(&table->start, &none, made))
    return made;
  hwi_os_unmap(made, bytes);
  return none;
}

static size_t rounded_up(size_t bytes, size_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

/* Threads that grow it at the same time make the same memory usable. */
static bool grow(struct hwi_growing_table *table, char *start, size_t bytes, size_t limit_bytes)
{
  size_t limit = rounded_up(limit_bytes, HWI_OS_PAGE_BYTES), wanted = rounded_up(bytes, STEP_BYTES);
  size_t usable = atomic_load_explicit(&table->usable_bytes, memory_order_acquire);
  wanted = wanted < limit ? wanted : limit;
  if (bytes > limit_bytes || (usable < wanted && hwi_os_allow_access(start + usable, wanted - usable) < 0))
    return false;
  while (usable < wanted && !atomic_compare_exchange_weak(&table->usable_bytes, &usable, wanted))
    ;
  return true;
}

void *hwi_growing_table_use(struct hwi_growing_table *table, size_t bytes, size_t limit_bytes)
{
  if (__builtin_expect(hwi_growing_table_has(table, bytes), 1))
    return atomic_load_explicit(&table->start, memory_order_relaxed);
  char *start = atomic_load_explicit(&table->start, memory_order_relaxed);
  if (!start)
    start = reserve(table, limit_bytes);
  return start && grow(table, start, bytes, limit_bytes) ? start : NULL;
}
