/* itt_counters.c - the counters of programs with ITT, whose values are noted along time
 *
 * As for other objects (itt_objects.c), a counter is the one at its name's place of a table.
 */
#include "record/collectors/itt_counters.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "record/collectors/domains.h"
#include "record/collectors/itt_objects.h"
#include "record/events/scope_names.h"
#include "record/events/scopes.h"

/* The types of values, as programs pass them. */
enum type { U64 = 1, S64, U32, S32, U16, S16, FLOAT, DOUBLE, TYPE_COUNT };

struct hwi_itt_counter {
  _Atomic uint32_t name; /* 0: not made yet */
  _Atomic int64_t total; /* of what was added and subtracted */
};

static struct hwi_growing_table all; /* for each name, TYPE_COUNT counters */

static struct hwi_itt_counter *counter_at(uint32_t name, int type)
{
  if (type < U64 || type >= TYPE_COUNT)
    return NULL;
  struct hwi_itt_counter *of_types = hwi_itt_item(&all, name, TYPE_COUNT * sizeof *of_types);
  if (!of_types)
    return NULL;
  atomic_store_explicit(&of_types[type].name, name, memory_order_relaxed);
  return &of_types[type];
}

struct hwi_itt_counter *hwi_itt_counter_of_type(const char *name, const char *domain, int type)
{
  if (!name || (domain && hwi_domain_is_ignored(domain)))
    return NULL;
  return counter_at(hwi_names_number(name), type);
}

struct hwi_itt_counter *hwi_itt_counter_of(const char *name, const char *domain)
{
  return hwi_itt_counter_of_type(name, domain, U64);
}

struct hwi_itt_counter *hwi_itt_counter_of_domain(struct hwi_itt_domain *domain, const char *name, int type)
{
  if (!domain)
    return NULL;
  return hwi_itt_counter_of_type(name, atomic_load_explicit(&domain->name, memory_order_relaxed), type);
}

void hwi_itt_counters_adopt(struct hwi_itt_early_counter *early)
{
  for (; early; early = early->next)
    atomic_store_explicit(&early->counter, hwi_itt_counter_of_type(early->name, early->domain, early->type),
                          memory_order_relaxed);
}

/* Returns the type of a counter's values, or 0 if it is none of ours. */
static int type_of(const struct hwi_itt_counter *counter)
{
  size_t index = 0;
  return hwi_growing_table_find(&all, counter, sizeof *counter, &index) ? (int)(index % TYPE_COUNT) : 0;
}

/* Returns our counter for one that may be the static part's, or NULL if there is none. */
static struct hwi_itt_counter *ours(struct hwi_itt_counter *counter)
{
  if (!counter || type_of(counter))
    return counter;
  counter = atomic_load_explicit(&((struct hwi_itt_early_counter *)counter)->counter, memory_order_relaxed);
  return type_of(counter) ? counter : NULL;
}

static void note(struct hwi_itt_counter *counter, double value)
{
  hwi_scope_note(atomic_load_explicit(&counter->name, memory_order_relaxed), HW_SCOPE_COUNTER,
                 hw_counter_encode(value));
}

static void add(struct hwi_itt_counter *counter, uint64_t by)
{
  counter = ours(counter);
  if (!counter)
    return;
  uint64_t before = (uint64_t)atomic_fetch_add_explicit(&counter->total, (int64_t)by, memory_order_relaxed);
  note(counter, (double)(int64_t)(before + by)); /* modulo 2^64 */
}

/* --- values --- */

union value {
  uint64_t u64;
  int64_t s64;
  uint32_t u32;
  int32_t s32;
  uint16_t u16;
  int16_t s16;
  float single;
  double whole;
};

static double value_of(int type, const void *at)
{
  static const uint8_t bytes[TYPE_COUNT] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
  union value value = {0};
  memcpy(&value, at, bytes[type]);
  switch (type) {
  case U64:
    return (double)value.u64;
  case S64:
    return (double)value.s64;
  case U32:
    return value.u32;
  case S32:
    return value.s32;
  case U16:
    return value.u16;
  case S16:
    return value.s16;
  case FLOAT:
    return (double)value.single;
  default:
    return value.whole;
  }
}

void hwi_itt_counter_set(struct hwi_itt_counter *counter, const void *value)
{
  static const double limit = 0x1p62;
  counter = ours(counter);
  if (!counter || !value)
    return;
  int type = type_of(counter);
  double set = value_of(type, value);
  bool is_whole = set > -limit && set < limit;
  atomic_store_explicit(&counter->total, is_whole ? (int64_t)set : 0, memory_order_relaxed);
  note(counter, set);
}

void hwi_itt_counter_set_at(struct hwi_itt_counter *counter, struct hwi_itt_clock *clock, unsigned long long time,
                            const void *value)
{
  (void)clock;
  (void)time;
  hwi_itt_counter_set(counter, value);
}

void hwi_itt_counter_increase(struct hwi_itt_counter *counter)
{
  add(counter, 1);
}

void hwi_itt_counter_decrease(struct hwi_itt_counter *counter)
{
  add(counter, -UINT64_C(1));
}

void hwi_itt_counter_increase_by(struct hwi_itt_counter *counter, unsigned long long by)
{
  add(counter, by);
}

void hwi_itt_counter_decrease_by(struct hwi_itt_counter *counter, unsigned long long by)
{
  add(counter, -(uint64_t)by);
}

/* --- counters named by a string --- */

void hwi_itt_named_increase_by(struct hwi_itt_domain *domain, struct hwi_itt_string *name, unsigned long long by)
{
  if (domain && atomic_load_explicit(&domain->flags, memory_order_relaxed) && name)
    add(counter_at(hwi_itt_string_name(name), U64), by);
}

void hwi_itt_named_decrease_by(struct hwi_itt_domain *domain, struct hwi_itt_string *name, unsigned long long by)
{
  hwi_itt_named_increase_by(domain, name, -(uint64_t)by);
}

void hwi_itt_named_increase(struct hwi_itt_domain *domain, struct hwi_itt_string *name)
{
  hwi_itt_named_increase_by(domain, name, 1);
}

void hwi_itt_named_decrease(struct hwi_itt_domain *domain, struct hwi_itt_string *name)
{
  hwi_itt_named_decrease_by(domain, name, 1);
}
