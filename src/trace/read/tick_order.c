/* tick_order.c - the order of events of different streams that carry the same tick
 *
 * The time of a free is read before the real free, and the time of an allocation after the real allocation. If one
 * thread frees a block and another one gets the same address, both events can have the same tick. Which came first then
 * only follows from the rule that births and ends alternate at every address. Nearly all ties are between events of
 * different blocks: then any order is valid, and hwi_tick_order_matters detects that with a few comparisons.
 * Otherwise a depth-first search looks for an interleaving of the runs that obeys the rule. An event whose block
 * occurs in no other run commutes with all others, so it is taken at once and never undone; the search only branches
 * at the few other events. STEPS_MAX bounds the search for forged traces. If no order is found, the first event that
 * is possible comes first; if none is, frees come before other events.
 */
#include "trace/read/tick_order.h"

#include <string.h>

enum { STEPS_MAX = 1 << 14, NO_BLOCK = 255, TAKE_NO_OTHER = HWI_TICK_ORDER_MAX_EVENTS };

bool hwi_tick_order_matters(const struct hwi_tick_order_run *runs, int run_count)
{
  for (int a = 0; a < run_count; a++)
    for (int b = a + 1; b < run_count; b++)
      for (int i = 0; i < runs[a].count; i++)
        for (int j = 0; j < runs[b].count; j++)
          if (runs[a].events[i].address == runs[b].events[j].address && runs[a].events[i].address)
            return true;
  return false;
}

/* Invariant: `live` has the bit of each block as after the `depth` events taken so far. */
struct search {
  const struct hwi_tick_order_run *runs;
  int run_count, total;
  uint8_t block[HWI_TICK_ORDER_MAX_EVENTS]
               [HWI_TICK_ORDER_MAX_EVENTS]; /* of runs[r].events[i]: the bit in `live`; NO_BLOCK: in no other run */
  int taken_of[HWI_TICK_ORDER_MAX_EVENTS];  /* number of events taken from each run */
  uint8_t order[HWI_TICK_ORDER_MAX_EVENTS]; /* the run taken at each depth */
  uint64_t live;
};

/* Guesses from the counts of events, if there is no callback: with at least as many ends as births, the block was
 * live. */
static bool guess_live(const struct search *s, uint64_t address)
{
  int balance = 0;
  for (int r = 0; r < s->run_count; r++)
    for (int i = 0; i < s->runs[r].count; i++)
      if (s->runs[r].events[i].address == address)
        balance += s->runs[r].events[i].kind == HWI_EVENT_FREE ? 1 : -1;
  return balance >= 0;
}

static bool is_shared(const struct search *s, int run, uint64_t address)
{
  for (int r = 0; r < s->run_count; r++)
    for (int i = 0; r != run && i < s->runs[r].count; i++)
      if (s->runs[r].events[i].address == address && address)
        return true;
  return false;
}

static void number_blocks(struct search *s, const struct hwi_liveness *liveness)
{
  uint64_t addresses[HWI_TICK_ORDER_MAX_EVENTS];
  int count = 0;
  for (int r = 0; r < s->run_count; r++) {
    for (int i = 0; i < s->runs[r].count; i++) {
      uint64_t address = s->runs[r].events[i].address;
      s->block[r][i] = NO_BLOCK;
      if (!is_shared(s, r, address))
        continue;
      int known = 0;
      while (known < count && addresses[known] != address)
        known++;
      s->block[r][i] = (uint8_t)known;
      if (known < count)
        continue;
      addresses[count++] = address;
      bool live = liveness->is_live ? liveness->is_live(liveness->context, address) : guess_live(s, address);
      s->live |= (uint64_t)live << known;
    }
  }
}

static bool is_own(const struct search *s, int run)
{
  return s->block[run][s->taken_of[run]] == NO_BLOCK;
}

static bool can_happen(const struct search *s, int run)
{
  if (is_own(s, run))
    return true;
  bool live = s->live >> s->block[run][s->taken_of[run]] & 1;
  return live == (s->runs[run].events[s->taken_of[run]].kind == HWI_EVENT_FREE);
}

static void take(struct search *s, int run, int depth)
{
  if (!is_own(s, run))
    s->live ^= UINT64_C(1) << s->block[run][s->taken_of[run]];
  s->order[depth] = (uint8_t)run;
  s->taken_of[run]++;
}

static void take_back(struct search *s, int depth)
{
  int run = s->order[depth];
  s->taken_of[run]--;
  if (!is_own(s, run))
    s->live ^= UINT64_C(1) << s->block[run][s->taken_of[run]];
}

/* Returns the run to take at this depth, from `first` on, or -1. Events of blocks that no other run has come first. */
static int next_choice(const struct search *s, int first)
{
  for (int r = 0; r < s->run_count && first == 0; r++)
    if (s->taken_of[r] < s->runs[r].count && is_own(s, r))
      return r;
  for (int r = first; r < s->run_count; r++)
    if (s->taken_of[r] < s->runs[r].count && can_happen(s, r))
      return r;
  return -1;
}

static bool find_order(struct search *s)
{
  int first = 0, depth = 0;
  for (int steps = 0; steps < STEPS_MAX; steps++) {
    if (depth == s->total)
      return true;
    int run = next_choice(s, first);
    if (run >= 0) {
      take(s, run, depth++);
      first = 0;
      continue;
    }
    if (depth == 0)
      return false;
    take_back(s, --depth);
    int undone = s->order[depth];
    first = is_own(s, undone) ? TAKE_NO_OTHER : undone + 1;
  }
  return false;
}

static int any_run(const struct search *s)
{
  int any = -1;
  for (int r = 0; r < s->run_count; r++) {
    if (s->taken_of[r] == s->runs[r].count)
      continue;
    if (s->runs[r].events[s->taken_of[r]].kind == HWI_EVENT_FREE)
      return r;
    any = any < 0 ? r : any;
  }
  return any;
}

/* Finds an order that obeys the rule as far as possible. No order obeys it completely, so an event was not recorded. */
static void settle(struct search *s, uint64_t live)
{
  memset(s->taken_of, 0, sizeof s->taken_of);
  s->live = live;
  for (int depth = 0; depth < s->total; depth++) {
    int run = next_choice(s, 0);
    take(s, run >= 0 ? run : any_run(s), depth);
  }
}

int hwi_tick_order_order(const struct hwi_tick_order_run *runs, int run_count, const struct hwi_liveness *liveness,
                         struct hwi_event *ordered)
{
  struct search s = {.runs = runs, .run_count = run_count};
  for (int r = 0; r < run_count; r++)
    s.total += runs[r].count;
  number_blocks(&s, liveness);
  uint64_t live = s.live;
  if (!find_order(&s))
    settle(&s, live);
  int at[HWI_TICK_ORDER_MAX_EVENTS] = {0};
  for (int i = 0; i < s.total; i++)
    ordered[i] = runs[s.order[i]].events[at[s.order[i]]++];
  return s.total;
}

int hwi_tick_order_pick(const struct hwi_tick_order_run *runs, int run_count, const struct hwi_liveness *liveness)
{
  int free_run = -1;
  for (int r = 0; r < run_count; r++) {
    const struct hwi_event *event = &runs[r].events[0];
    bool is_free = event->kind == HWI_EVENT_FREE;
    bool live = liveness->is_live && event->address ? liveness->is_live(liveness->context, event->address) : is_free;
    if (!event->address || live == is_free)
      return r;
    if (is_free && free_run < 0)
      free_run = r;
  }
  return free_run < 0 ? 0 : free_run;
}
