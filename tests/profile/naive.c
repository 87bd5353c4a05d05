/* naive.c - the model of the heap in the plainest form */
#include "naive.h"

#include <stdlib.h>

void naive_add(struct naive *naive, struct naive_event event)
{
  if (naive->count == NAIVE_EVENTS)
    abort();
  event.birth = event.death = NAIVE_NONE;
  naive->events[naive->count++] = event;
}

/* The allocation before `end` whose block is live at `address`, or NAIVE_NONE. */
static int find_live(const struct naive *naive, int end, uint64_t address)
{
  for (int i = end - 1; i >= 0; i--) {
    const struct naive_event *e = &naive->events[i];
    if (e->kind == NAIVE_ALLOC && e->address == address)
      return e->death == NAIVE_NONE && !e->missed ? i : NAIVE_NONE;
  }
  return NAIVE_NONE;
}

static bool is_latest_of_thread(const struct naive *naive, int birth, int now)
{
  if (birth < naive->first)
    return false;
  for (int i = birth + 1; i < now; i++)
    if (naive->events[i].kind == NAIVE_ALLOC && naive->events[i].thread == naive->events[birth].thread)
      return false;
  return true;
}

static bool matches(const struct naive_event *e, struct naive_filter f)
{
  return (f.thread == NAIVE_ANY || f.thread == e->thread) && (f.node == NAIVE_ANY || f.node == e->node) &&
         (f.size == NAIVE_ANY || f.size == e->size);
}

static bool is_live_after(const struct naive *naive, int block, int moment)
{
  const struct naive_event *e = &naive->events[block];
  if (e->kind != NAIVE_ALLOC || block > moment)
    return false;
  return e->death == NAIVE_NONE || e->death > moment;
}

static void live_after(const struct naive *naive, int moment, struct naive_filter filter, uint64_t *blocks,
                       uint64_t *bytes)
{
  *blocks = *bytes = 0;
  for (int i = 0; i <= moment; i++) {
    if (!is_live_after(naive, i, moment) || !matches(&naive->events[i], filter))
      continue;
    ++*blocks;
    *bytes += naive->events[i].size;
  }
}

void naive_solve(struct naive *naive)
{
  for (int i = 0; i < naive->count; i++) {
    naive->events[i].birth = naive->events[i].death = NAIVE_NONE;
    naive->events[i].missed = naive->events[i].temporary = false;
  }
  for (int i = 0; i < naive->count; i++) {
    struct naive_event *e = &naive->events[i];
    int birth = e->kind == NAIVE_FAILED ? NAIVE_NONE : find_live(naive, i, e->address);
    if (birth == NAIVE_NONE)
      continue;
    struct naive_event *block = &naive->events[birth];
    block->death = i;
    if (e->kind == NAIVE_ALLOC) {
      block->missed = true;
    } else {
      e->birth = birth;
      block->temporary = is_latest_of_thread(naive, birth, i);
    }
  }
  const struct naive_filter any = {NAIVE_ANY, NAIVE_ANY, NAIVE_ANY};
  uint64_t blocks, bytes;
  naive->peak = naive->first - 1;
  live_after(naive, naive->peak, any, &blocks, &naive->peak_bytes);
  for (int i = naive->first; i < naive->count; i++) {
    live_after(naive, i, any, &blocks, &bytes);
    if (bytes > naive->peak_bytes) {
      naive->peak = i;
      naive->peak_bytes = bytes;
    }
  }
}

/* The place in the order of enum hwi_lifetime of a block whose free was not missed. */
static int lifetime(const struct naive *naive, const struct naive_event *e)
{
  static const uint64_t below_ns[] = {1000000, 1000000000, 60000000000};
  if (e->death == NAIVE_NONE)
    return 5;
  if (e->temporary)
    return 0;
  uint64_t ns = naive->events[e->death].ns - e->ns;
  for (int i = 0; i < 3; i++)
    if (ns < below_ns[i])
      return 1 + i;
  return 4;
}

struct naive_sum naive_sum(const struct naive *naive, struct naive_filter filter)
{
  struct naive_sum sum = {0};
  live_after(naive, naive->first - 1, filter, &sum.start_blocks, &sum.start_bytes);
  sum.own_peak_blocks = sum.start_blocks;
  sum.own_peak_bytes = sum.start_bytes;
  for (int i = 0; i < naive->count; i++) {
    const struct naive_event *e = &naive->events[i];
    if (e->kind == NAIVE_ALLOC && !e->missed && matches(e, filter) &&
        (e->death == NAIVE_NONE || e->death >= naive->first))
      sum.lifetimes[lifetime(naive, e)]++;
  }
  for (int i = 0; i < naive->first; i++)
    sum.missed +=
        naive->events[i].missed && naive->events[i].death >= naive->first && matches(&naive->events[i], filter);
  for (int i = naive->first; i < naive->count; i++) {
    const struct naive_event *e = &naive->events[i];
    uint64_t blocks, bytes;
    live_after(naive, i, filter, &blocks, &bytes);
    if (bytes > sum.own_peak_bytes)
      sum.own_peak_bytes = bytes;
    if (blocks > sum.own_peak_blocks)
      sum.own_peak_blocks = blocks;
    if (e->kind == NAIVE_FREE && e->birth != NAIVE_NONE && matches(&naive->events[e->birth], filter))
      sum.frees++;
    if (!matches(e, filter))
      continue;
    sum.failed += e->kind == NAIVE_FAILED;
    if (e->kind != NAIVE_ALLOC)
      continue;
    if (!sum.calls || e->size < sum.smallest)
      sum.smallest = e->size;
    if (e->size > sum.largest)
      sum.largest = e->size;
    if (!sum.calls)
      sum.first_ns = e->ns;
    sum.last_ns = e->ns;
    sum.calls++;
    sum.bytes += e->size;
    sum.temporary += e->temporary;
    sum.missed += e->missed;
  }
  live_after(naive, naive->count - 1, filter, &sum.live_blocks, &sum.live_bytes);
  live_after(naive, naive->peak, filter, &sum.peak_blocks, &sum.peak_bytes);
  return sum;
}
