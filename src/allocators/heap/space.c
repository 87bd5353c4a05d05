/* space.c - the range of addresses from which all general heaps of a process take memory, in units of 4 MiB
 *
 * The range is only a place where the process has nothing else: an eighth of the address space, or more, below the
 * libraries, to which the kernel gives addresses downwards. Where addresses have 32 bits, it is the half below them.
 * What is not used is not mapped, and counts nowhere. The table of descriptors comes first and grows upwards, up to a
 * fixed gap; the units follow. Descriptors of units that are free again go back to the system where they can be read
 * meanwhile: a late call with an address of such a unit finds nothing there.
 */
#include <errno.h>
#include <string.h>

#include "allocators/heap/heap_lock.h"
#include "allocators/heap/space.h"
#include "platform/os.h"
#include "platform/os_heap.h"

enum {
  IS_LARGE = sizeof(uintptr_t) == 8, /* the address space */
  UNITS = IS_LARGE ? 1 << 20 : 1 << 9,
  WORD_BITS = 64,
  TABLE_STEP_BYTES = 64 << 10,
  PLACES = 6,
  FAR_PART = IS_LARGE ? 8 : 2, /* the places are this part of the address space apart */
  NEAR_PART = 512,
  STEPS_ABOVE = 8,
  START_UNITS = IS_LARGE ? 1024 : 16,
};

#define TABLE_BYTES ((uintptr_t)UNITS * HWI_SLICES * sizeof(struct hwi_page))
#define UNIT_DESCRIPTORS_BYTES (HWI_SLICES * sizeof(struct hwi_page)) /* two small pages of the system */
#define PLACE_BYTES (2 * TABLE_BYTES) /* places are multiples of it, so that two copies of this code see each other */

struct hwi_space hwi_space;

/* With the lock. */
static uint64_t taken[UNITS / WORD_BITS]; /* a bit for each unit */
static size_t first_free;                 /* no unit before it is free */
static size_t table_bytes;                /* mapped part of the descriptors */
static struct units {
  size_t first, count;
} given_last; /* their descriptors are still in memory */

/* --- the lock --- */

struct entry {
  enum hwi_lock_result result;
  uint64_t signals;
};

/* A handler that forks must not have this lock: threads with other heaps' locks wait for it, and the handler for
 * theirs. */
static struct entry enter(void)
{
  if (hwi_lock_is_alone() || hwi_lock_is_closed_by_me())
    return (struct entry){HWI_LOCK_NOT_NEEDED, 0};
  uint64_t signals = hwi_os_hold_async_signals();
  hwi_lock_take_always(&hwi_space.lock);
  return (struct entry){HWI_LOCK_TAKEN, signals};
}

/* Waits for other threads only if `waits`, and never for the end of a fork. */
static struct entry try_enter(bool waits)
{
  if (hwi_lock_is_alone() || hwi_lock_is_closed_by_me())
    return (struct entry){HWI_LOCK_NOT_NEEDED, 0};
  uint64_t signals = hwi_os_hold_async_signals();
  bool has_it = hwi_lock_try_take(&hwi_space.lock) || (waits && hwi_lock_wait(&hwi_space.lock));
  return (struct entry){has_it ? HWI_LOCK_TAKEN : HWI_LOCK_CLOSED, signals};
}

/* Malloc may not wait for the end of a fork: a thread whose heap has no lock learns only here that one has begun. For
 * a thread that has its heap's lock, the fork waits. */
static struct entry enter_unless_closed(void)
{
  return hwi_is_in_malloc && !hwi_heap_lock_of_thread ? try_enter(true) : enter();
}

static void leave(struct entry entry)
{
  hwi_lock_leave(&hwi_space.lock, entry.result);
  if (entry.result != HWI_LOCK_NOT_NEEDED)
    hwi_os_release_signals(entry.signals);
}

/* --- the place --- */

/* Returns the first place from `start` on, each `step` lower or higher, that is free; 0: none is. */
static uintptr_t find_place_from(uintptr_t start, uintptr_t step)
{
  for (unsigned i = 1; i <= PLACES; i++) {
    uintptr_t place = (start + step * i) & ~(PLACE_BYTES - 1);
    if (place && hwi_os_map_at((void *)place, TABLE_STEP_BYTES) == 0)
      return place;
  }
  return 0;
}

/* The sanitizers leave only places near libraries, and valgrind has libraries below all that is free. */
static uintptr_t find_place(uintptr_t end)
{
  uintptr_t place = find_place_from(end, 0 - end / FAR_PART);
  if (!place)
    place = find_place_from(end, 0 - end / NEAR_PART);
  return place ? place : find_place_from(end, STEPS_ABOVE * PLACE_BYTES);
}

/* A mapping of the kernel's choice shows where libraries are. Where the units start is random, as its address is. */
static bool begin(void)
{
  if (hwi_space.start)
    return true;
  uintptr_t probe = (uintptr_t)hwi_os_map(TABLE_STEP_BYTES);
  if (!probe)
    return false;
  hwi_os_unmap((void *)probe, TABLE_STEP_BYTES);
  uintptr_t place = find_place(probe);
  if (!place)
    return false;
  table_bytes = TABLE_STEP_BYTES;
  hwi_space.pages = (struct hwi_page *)place;
  hwi_os_use_small_pages(hwi_space.pages, table_bytes); /* parts of the table go back */
  uintptr_t start = place + TABLE_BYTES + probe / HWI_SYSTEM_PAGE_BYTES % START_UNITS * HWI_UNIT_BYTES;
  hwi_space.start = hwi_units_up(start);
  return true;
}

bool hwi_space_begin(void)
{
  struct entry entry = enter();
  bool has_begun = begin();
  leave(entry);
  return has_begun;
}

static void end(void)
{
  size_t end_unit = hwi_space.bytes >> HWI_UNIT_BITS;
  __atomic_store_n(&hwi_space.bytes, 0, __ATOMIC_RELEASE);
  if (hwi_space.start)
    hwi_os_unmap(hwi_space.pages, table_bytes);
  memset(taken, 0, (end_unit + WORD_BITS - 1) / WORD_BITS * sizeof *taken);
  hwi_space.start = first_free = table_bytes = 0;
  hwi_space.settled = NULL;
  given_last = (struct units){0, 0};
}

void hwi_space_end(void)
{
  struct entry entry = try_enter(false);
  if (entry.result != HWI_LOCK_CLOSED)
    end();
  leave(entry);
}

/* --- units --- */

static size_t unit_count(size_t bytes)
{
  return hwi_units_up(bytes) >> HWI_UNIT_BITS;
}

static uintptr_t unit_start(size_t unit)
{
  return hwi_space.start + (unit << HWI_UNIT_BITS);
}

/* Returns the next unit that is taken, or the next free one, from `unit` on and before `end`; `end` if there is none. */
static size_t next_unit(size_t unit, size_t end, bool must_be_taken)
{
  while (unit < end) {
    uint64_t word = taken[unit / WORD_BITS], rest = (must_be_taken ? word : ~word) >> unit % WORD_BITS;
    if (rest)
      return unit + (size_t)__builtin_ctzll(rest) < end ? unit + (size_t)__builtin_ctzll(rest) : end;
    unit += WORD_BITS - unit % WORD_BITS;
  }
  return end;
}

static void take(size_t unit, size_t count)
{
  for (size_t i = unit; i < unit + count; i++)
    taken[i / WORD_BITS] |= (uint64_t)1 << i % WORD_BITS;
  first_free = next_unit(first_free, UNITS, false);
}

static void give(size_t unit, size_t count)
{
  for (size_t i = unit; i < unit + count; i++)
    taken[i / WORD_BITS] &= ~((uint64_t)1 << i % WORD_BITS);
  if (count && unit < first_free)
    first_free = unit;
}

static bool are_free(size_t unit, size_t count)
{
  return unit + count <= UNITS && next_unit(unit, unit + count, true) == unit + count;
}

/* Returns the first unit from this one on at a multiple of `align`. */
static size_t aligned(size_t unit, size_t align)
{
  uintptr_t start = unit_start(unit), up = (start + align - 1) & ~(align - 1);
  return up < start ? UNITS : unit + ((up - start) >> HWI_UNIT_BITS);
}

/* Returns the first of `count` free units, or UNITS if there are none. */
static size_t find_units(size_t count, size_t align)
{
  size_t unit = aligned(first_free, align);
  while (unit + count <= UNITS && !are_free(unit, count))
    unit = aligned(next_unit(next_unit(unit, unit + count, true), UNITS, false), align);
  return unit + count <= UNITS ? unit : UNITS;
}

/* Makes the descriptors up to this unit readable, and then the space as long. */
static bool extend(size_t end_unit)
{
  size_t bytes = end_unit * UNIT_DESCRIPTORS_BYTES;
  if (bytes > table_bytes) {
    size_t more = (bytes - table_bytes + TABLE_STEP_BYTES - 1) / TABLE_STEP_BYTES * TABLE_STEP_BYTES;
    if (hwi_os_map_at((char *)hwi_space.pages + table_bytes, more) != 0)
      return false;
    hwi_os_use_small_pages((char *)hwi_space.pages + table_bytes, more);
    table_bytes += more;
  }
  if (end_unit << HWI_UNIT_BITS > hwi_space.bytes)
    __atomic_store_n(&hwi_space.bytes, end_unit << HWI_UNIT_BITS, __ATOMIC_RELEASE);
  return true;
}

size_t hwi_space_table_bytes(void)
{
  struct entry entry = enter();
  size_t bytes = table_bytes;
  leave(entry);
  return bytes;
}

bool hwi_space_can_have(size_t bytes)
{
  return bytes <= (size_t)UNITS << HWI_UNIT_BITS && bytes <= PTRDIFF_MAX - HWI_HUGE_PAGE_BYTES;
}

static size_t unit_at(uintptr_t start)
{
  return (start - hwi_space.start) >> HWI_UNIT_BITS;
}

/* The descriptors of these free units are zeros from now on, as before they were used. */
static void drop_descriptors(size_t unit, size_t count)
{
  if (hwi_os_drops_small_pages())
    hwi_os_drop_pages(hwi_space.pages + unit * HWI_SLICES, count * UNIT_DESCRIPTORS_BYTES);
}

/* Units that are perhaps taken again next, as those of a block that comes and goes, keep their descriptors. Those of a
 * few adjoining ones go together. */
static void give_and_drop_previous(size_t unit, size_t count)
{
  enum { MOST_TOGETHER = 8 };
  struct units before = given_last;
  bool adjoins = unit + count == before.first || before.first + before.count == unit;
  give(unit, count);
  if (adjoins && before.count + count <= MOST_TOGETHER) {
    given_last.first = unit < before.first ? unit : before.first;
    given_last.count += count;
    return;
  }
  given_last = (struct units){unit, count};
  if (before.count && are_free(before.first, before.count))
    drop_descriptors(before.first, before.count);
}

static void collect(void)
{
  if (!__atomic_load_n(&hwi_space.settled, __ATOMIC_RELAXED))
    return;
  struct hwi_page *unit = __atomic_exchange_n(&hwi_space.settled, NULL, __ATOMIC_ACQUIRE), *next;
  for (; unit; unit = next) {
    next = unit->next;
    give_and_drop_previous(unit_at(hwi_page_start(unit)), unit_count(unit->block_bytes));
  }
}

/* A place where something else is mapped is left out from then on. */
static uintptr_t take_mapped(size_t bytes, size_t align, bool is_huge)
{
  size_t count = unit_count(bytes);
  if (!hwi_space_can_have(bytes) || !begin())
    return 0;
  collect();
  for (;;) {
    size_t unit = find_units(count, align);
    if (unit == UNITS || !extend(unit + count))
      return 0;
    int error = (is_huge ? hwi_os_map_huge_at : hwi_os_map_at)((void *)unit_start(unit), bytes);
    if (error && error != -EEXIST)
      return 0;
    take(unit, error ? 1 : count);
    if (!error)
      return unit_start(unit);
  }
}

static uintptr_t resize_here(uintptr_t start, size_t old_count, size_t old_bytes, size_t bytes)
{
  size_t unit = unit_at(start), count = unit_count(bytes), more = count > old_count ? count - old_count : 0;
  if (!are_free(unit + old_count, more) || !extend(unit + count))
    return 0;
  if (!hwi_os_remap((void *)start, old_bytes, bytes, NULL))
    return 0;
  take(unit + old_count, more);
  return start;
}

static uintptr_t move(uintptr_t start, size_t old_bytes, size_t bytes)
{
  uintptr_t other = take_mapped(bytes, 1, false);
  if (!other || hwi_os_remap((void *)start, old_bytes, bytes, (void *)other))
    return other;
  hwi_os_unmap((void *)other, bytes);
  give(unit_at(other), unit_count(bytes));
  return 0;
}

uintptr_t hwi_space_take(size_t bytes, size_t align, bool is_huge)
{
  struct entry entry = enter_unless_closed();
  uintptr_t start = entry.result == HWI_LOCK_CLOSED ? 0 : take_mapped(bytes, align, is_huge);
  leave(entry);
  return start;
}

void hwi_space_collect(void)
{
  struct entry entry = enter();
  collect();
  leave(entry);
}

void hwi_space_try_collect(void)
{
  struct entry entry = try_enter(false);
  if (entry.result != HWI_LOCK_CLOSED)
    collect();
  leave(entry);
}

static uintptr_t resize(uintptr_t start, size_t old_bytes, size_t bytes, bool may_move)
{
  collect();
  uintptr_t to = resize_here(start, unit_count(old_bytes), old_bytes, bytes);
  return to || !may_move ? to : move(start, old_bytes, bytes);
}

uintptr_t hwi_space_resize(uintptr_t start, size_t old_bytes, size_t bytes, bool may_move)
{
  struct entry entry = enter_unless_closed();
  uintptr_t to = entry.result == HWI_LOCK_CLOSED ? 0 : resize(start, old_bytes, bytes, may_move);
  leave(entry);
  return to;
}

void hwi_space_give(uintptr_t start, size_t bytes)
{
  struct hwi_page *unit = hwi_slice_of((void *)start);
  unit->block_bytes = bytes;
  hwi_page_push_settled(&hwi_space.settled, unit);
}
