/* naive.c - the model of the heap in its simplest form */
#include "naive.h"

#include <stdlib.h>

void naive_add(struct naive *naive, struct naive_event event)
{
  if (naive->count == NAIVE_EVENTS)
    abort();
  event.birth = event.death = NAIVE_NONE;
  naive->events[naive->count++] = event;
}

/* Returns the allocation before `end` whose block is live at `address`, or NAIVE_NONE. */
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
         (f.size == NAIVE_ANY || f.size == e->size) && (f.usable == NAIVE_ANY || f.usable == e->usable);
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
  const struct naive_filter any = {NAIVE_ANY, NAIVE_ANY, NAIVE_ANY, NAIVE_ANY};
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

/* Returns the lifetime of a block as an index in enum hwi_lifetime. The block's free must not have been missed. */
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
    sum.usable += e->usable;
    sum.temporary += e->temporary;
    sum.missed += e->missed;
  }
  live_after(naive, naive->count - 1, filter, &sum.live_blocks, &sum.live_bytes);
  live_after(naive, naive->peak, filter, &sum.peak_blocks, &sum.peak_bytes);
  for (int i = 0; i <= naive->peak; i++)
    if (is_live_after(naive, i, naive->peak) && matches(&naive->events[i], filter))
      sum.peak_usable += naive->events[i].usable;
  return sum;
}

/* --- steps --- */

/* Returns the thread's event before `i`, or NAIVE_NONE. */
static int previous_of_thread(const struct naive *naive, int i)
{
  int k = i - 1;
  while (k >= 0 && naive->events[k].thread != naive->events[i].thread)
    k--;
  return k;
}

/* Returns the block that replaces the one which event `i` frees, or NAIVE_NONE. */
static int successor(const struct naive *naive, int i)
{
  const struct naive_event *e = &naive->events[i];
  if (e->kind != NAIVE_FREE || e->birth == NAIVE_NONE)
    return NAIVE_NONE;
  for (int k = i + 1; k < naive->count; k++)
    if (naive->events[k].kind == NAIVE_ALLOC && naive->events[k].moved_from == i)
      return k;
  int before = previous_of_thread(naive, i);
  const struct naive_event *old = &naive->events[e->birth], *new = before < 0 ? NULL : &naive->events[before];
  bool grew =
      e->is_delete && new &&new->kind == NAIVE_ALLOC &&new->is_new &&new->node == old->node &&new->size > old->size;
  return grew ? before : NAIVE_NONE;
}

/* Returns when a step is complete: a realloc with its new block, the growth of a container with the end of the old
 * block. */
static int step_time(int free_event, int block)
{
  return block > free_event ? block : free_event;
}

struct naive_steps naive_steps(const struct naive *naive, uint32_t node)
{
  struct naive_steps sum = {0};
  uint64_t sizes[NAIVE_EVENTS]; /* of final blocks, ascending */
  for (int i = 0; i < naive->count; i++) {
    int block = successor(naive, i);
    if (block == NAIVE_NONE || step_time(i, block) < naive->first || naive->events[block].node != node)
      continue;
    const struct naive_event *old = &naive->events[naive->events[i].birth], *new = &naive->events[block];
    bool moved = old->address != new->address, grows = new->size > old->size;
    uint64_t copied = !moved ? 0 : grows ? old->size : new->size;
    sum.steps++;
    sum.moved += moved;
    sum.copied_bytes += copied;
    sum.grown += grows;
    sum.grown_copied_bytes += grows ? copied : 0;
  }
  for (int i = 0; i < naive->count; i++) {
    const struct naive_event *e = &naive->events[i];
    bool is_there = i >= naive->first || is_live_after(naive, i, naive->first - 1);
    if (e->kind != NAIVE_ALLOC || e->node != node || !is_there)
      continue;
    if (e->death != NAIVE_NONE && e->death < naive->count &&
        (naive->events[e->death].is_moving || successor(naive, e->death) != NAIVE_NONE))
      continue;
    uint64_t at = sum.final_blocks++;
    for (; at > 0 && sizes[at - 1] > e->size; at--)
      sizes[at] = sizes[at - 1];
    sizes[at] = e->size;
  }
  if (sum.final_blocks) {
    sum.final_median = sizes[(sum.final_blocks - 1) / 2];
    sum.final_largest = sizes[sum.final_blocks - 1];
  }
  return sum;
}

/* --- blocks that are freed together --- */

static bool is_birth(const struct naive_event *e, uint32_t node)
{
  return e->kind == NAIVE_ALLOC && e->node == node;
}

static bool is_death(const struct naive *naive, const struct naive_event *e, uint32_t node)
{
  return e->kind == NAIVE_FREE && e->birth != NAIVE_NONE && naive->events[e->birth].node == node;
}

/* Returns whether the thread of both frees allocated nothing between them. */
static bool is_one_sweep(const struct naive *naive, int first, int second)
{
  if (naive->events[first].thread != naive->events[second].thread)
    return false;
  for (int i = first; i < second; i++)
    if (naive->events[i].kind == NAIVE_ALLOC && naive->events[i].thread == naive->events[first].thread)
      return false;
  return true;
}

struct naive_together naive_together(const struct naive *naive, uint32_t node)
{
  struct naive_together sum = {0};
  uint64_t births = 0;
  for (int i = 0; i < naive->count;) {
    births += is_birth(&naive->events[i], node);
    if (!is_death(naive, &naive->events[i], node)) {
      i++;
      continue;
    }
    uint64_t deaths = 0, bytes = 0;
    int first = i;
    for (; i < naive->count && !is_birth(&naive->events[i], node); i++) {
      if (!is_death(naive, &naive->events[i], node))
        continue;
      if (!is_one_sweep(naive, first, i))
        break;
      deaths++;
      bytes += naive->events[naive->events[i].birth].size;
    }
    if (deaths * 10 < births * 9)
      continue;
    births = 0;
    if (deaths < 2)
      continue;
    sum.generations++;
    sum.blocks += deaths;
    sum.largest_bytes = bytes > sum.largest_bytes ? bytes : sum.largest_bytes;
  }
  return sum;
}

/* --- threads and sizes --- */

void naive_handed(const struct naive *naive, uint32_t owner, uint32_t freer, uint64_t *blocks, uint64_t *bytes)
{
  *blocks = *bytes = 0;
  for (int i = naive->first; i < naive->count; i++) {
    const struct naive_event *e = &naive->events[i];
    if (e->kind != NAIVE_FREE || e->birth == NAIVE_NONE || e->thread != freer ||
        naive->events[e->birth].thread != owner)
      continue;
    ++*blocks;
    *bytes += naive->events[e->birth].size;
  }
}

uint64_t naive_live_of_sizes(const struct naive *naive, uint64_t ns, uint64_t least, uint64_t most)
{
  uint64_t bytes = 0;
  int last = NAIVE_NONE;
  while (last + 1 < naive->count && naive->events[last + 1].ns < ns)
    last++;
  for (int i = 0; i <= last; i++)
    if (is_live_after(naive, i, last) && naive->events[i].size >= least && naive->events[i].size <= most)
      bytes += naive->events[i].size;
  return bytes;
}
