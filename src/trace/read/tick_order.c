/* tick_order.c - the order of events of different streams that carry the same tick
 *
 * The time of a free is read before the real free, and the time of an allocation after the real allocation. If one
 * thread frees a block and another one gets the same address, both events can have the same tick. Which came first then
 * only follows from the rule that births and ends alternate at every address. Nearly all ties are between events of
 * different blocks: then any order is valid, and hwi_tick_order_matters detects that with a few comparisons.
 * Otherwise a depth-first search looks for an interleaving of the stretches that obeys the rule. An event whose block
 * occurs in no other stretch commutes with all others, so it is taken at once and never undone; the search only
 * branches at the few other events. STEPS_MAX bounds the search for forged traces. If no order is found, the first
 * event that is possible comes first; if none is, frees come before other events.
 *
 * Events of a heap of the program's own have the part of their tick, so that their order is known without a search.
 */
#include "trace/read/tick_order.h"

#include <string.h>

/* A heap of the program's own has blocks of its own, at any address. Other events have heap 0. */
static inline bool is_same_block(const struct hwi_event *a, const struct hwi_event *b)
{
  return a->address == b->address && a->address && a->heap == b->heap &&
         (a->kind == HWI_EVENT_HEAP) == (b->kind == HWI_EVENT_HEAP);
}

static inline bool is_end(const struct hwi_event *event)
{
  return event->kind == HWI_EVENT_FREE || (event->kind == HWI_EVENT_HEAP && event->entry == HW_HEAP_FREE);
}

/* Returns whether all blocks of a heap end. */
static inline bool is_reset(const struct hwi_event *event)
{
  return event->kind == HWI_EVENT_HEAP && (event->entry == HW_HEAP_RESET || event->entry == HW_HEAP_DESTROY);
}

static inline bool is_ordered(const struct hwi_event *a, const struct hwi_event *b)
{
  return is_same_block(a, b) || ((is_reset(a) || is_reset(b)) && a->kind == b->kind && a->heap == b->heap);
}

/* Both are of heaps. In one part of a tick, frees come first and resets last. */
static inline bool is_earlier(const struct hwi_event *a, const struct hwi_event *b)
{
  const int rank_a = is_end(a) ? 0 : 1 + is_reset(a), rank_b = is_end(b) ? 0 : 1 + is_reset(b);
  return a->tick_part != b->tick_part ? a->tick_part < b->tick_part : rank_a < rank_b;
}

enum { STEPS_MAX = 1 << 14, NO_BLOCK = 255, OF_HEAP = 254, TAKE_NO_OTHER = HWI_TICK_ORDER_MAX_EVENTS };

bool hwi_tick_order_matters(const struct hwi_tick_order_stretch *stretches, int stretch_count)
{
  for (int a = 0; a < stretch_count; a++)
    for (int b = a + 1; b < stretch_count; b++)
      for (int i = 0; i < stretches[a].count; i++)
        for (int j = 0; j < stretches[b].count; j++)
          if (is_ordered(&stretches[a].events[i], &stretches[b].events[j]))
            return true;
  return false;
}

/* Invariant: `live` has the bit of each block as after the `depth` events taken so far. */
struct search {
  const struct hwi_tick_order_stretch *stretches;
  int stretch_count, total;
  /* Of stretches[r].events[i]: the bit in `live`; OF_HEAP: of a block of a heap; NO_BLOCK: in no other stretch. */
  uint8_t block[HWI_TICK_ORDER_MAX_EVENTS][HWI_TICK_ORDER_MAX_EVENTS];
  int taken_of[HWI_TICK_ORDER_MAX_EVENTS];  /* number of events taken from each stretch */
  uint8_t order[HWI_TICK_ORDER_MAX_EVENTS]; /* the stretch taken at each depth */
  uint64_t live;
  /* Events are numbered stretch by stretch. */
  int first_of[HWI_TICK_ORDER_MAX_EVENTS];     /* the number of each stretch's first event */
  uint64_t earlier[HWI_TICK_ORDER_MAX_EVENTS]; /* of an event of a heap: those in other stretches that come before it */
  uint64_t taken;                              /* all events that were taken */
};

/* Guesses from the counts of events, if there is no callback: with at least as many ends as births, the block was
 * live. */
static bool guess_live(const struct search *s, const struct hwi_event *of)
{
  int balance = 0;
  for (int r = 0; r < s->stretch_count; r++)
    for (int i = 0; i < s->stretches[r].count; i++)
      if (is_same_block(&s->stretches[r].events[i], of))
        balance += is_end(&s->stretches[r].events[i]) ? 1 : -1;
  return balance >= 0;
}

static bool is_shared(const struct search *s, int stretch, const struct hwi_event *event)
{
  for (int r = 0; r < s->stretch_count; r++)
    for (int i = 0; r != stretch && i < s->stretches[r].count; i++)
      if (is_ordered(&s->stretches[r].events[i], event))
        return true;
  return false;
}

static uint64_t earlier_events(const struct search *s, int stretch, const struct hwi_event *event)
{
  uint64_t earlier = 0;
  for (int r = 0; r < s->stretch_count; r++)
    for (int i = 0; r != stretch && i < s->stretches[r].count; i++)
      if (is_ordered(&s->stretches[r].events[i], event) && is_earlier(&s->stretches[r].events[i], event))
        earlier |= UINT64_C(1) << (s->first_of[r] + i);
  return earlier;
}

static void number_blocks(struct search *s, const struct hwi_liveness *liveness)
{
  const struct hwi_event *firsts[HWI_TICK_ORDER_MAX_EVENTS]; /* of each block */
  int count = 0;
  for (int r = 0; r < s->stretch_count; r++) {
    for (int i = 0; i < s->stretches[r].count; i++) {
      const struct hwi_event *event = &s->stretches[r].events[i];
      s->block[r][i] = NO_BLOCK;
      if (!is_shared(s, r, event))
        continue;
      if (event->kind == HWI_EVENT_HEAP) {
        s->block[r][i] = OF_HEAP;
        s->earlier[s->first_of[r] + i] = earlier_events(s, r, event);
        continue;
      }
      int known = 0;
      while (known < count && !is_same_block(firsts[known], event))
        known++;
      s->block[r][i] = (uint8_t)known;
      if (known < count)
        continue;
      firsts[count++] = event;
      bool live = liveness->is_live ? liveness->is_live(liveness->context, event->address) : guess_live(s, event);
      s->live |= (uint64_t)live << known;
    }
  }
}

/* Returns whether the stretch's next event is one that is taken at once when it can happen, and never undone. */
static bool has_one_place(const struct search *s, int stretch)
{
  return s->block[stretch][s->taken_of[stretch]] >= OF_HEAP;
}

static int next_number(const struct search *s, int stretch)
{
  return s->first_of[stretch] + s->taken_of[stretch];
}

/* Returns the bit of the block of the stretch's next event; 0 if it has none. */
static uint64_t bit_of(const struct search *s, int stretch)
{
  const uint8_t block = s->block[stretch][s->taken_of[stretch]];
  return block < OF_HEAP ? UINT64_C(1) << block : 0;
}

static bool can_happen(const struct search *s, int stretch)
{
  if (has_one_place(s, stretch))
    return !(s->earlier[next_number(s, stretch)] & ~s->taken);
  bool live = s->live >> s->block[stretch][s->taken_of[stretch]] & 1;
  return live == is_end(&s->stretches[stretch].events[s->taken_of[stretch]]);
}

static void take(struct search *s, int stretch, int depth)
{
  s->live ^= bit_of(s, stretch);
  s->taken |= UINT64_C(1) << next_number(s, stretch);
  s->order[depth] = (uint8_t)stretch;
  s->taken_of[stretch]++;
}

static void take_back(struct search *s, int depth)
{
  int stretch = s->order[depth];
  s->taken_of[stretch]--;
  s->taken &= ~(UINT64_C(1) << next_number(s, stretch));
  s->live ^= bit_of(s, stretch);
}

/* Returns the stretch to take at this depth, from `first` on, or -1. Events of heaps, and of blocks that no other stretch
 * has, come first. */
static int next_choice(const struct search *s, int first)
{
  for (int r = 0; r < s->stretch_count && first == 0; r++)
    if (s->taken_of[r] < s->stretches[r].count && has_one_place(s, r) && can_happen(s, r))
      return r;
  for (int r = first; r < s->stretch_count; r++)
    if (s->taken_of[r] < s->stretches[r].count && can_happen(s, r))
      return r;
  return -1;
}

static bool find_order(struct search *s)
{
  int first = 0, depth = 0;
  for (int steps = 0; steps < STEPS_MAX; steps++) {
    if (depth == s->total)
      return true;
    int stretch = next_choice(s, first);
    if (stretch >= 0) {
      take(s, stretch, depth++);
      first = 0;
      continue;
    }
    if (depth == 0)
      return false;
    take_back(s, --depth);
    int undone = s->order[depth];
    first = has_one_place(s, undone) ? TAKE_NO_OTHER : undone + 1;
  }
  return false;
}

static int any_stretch(const struct search *s)
{
  int any = -1;
  for (int r = 0; r < s->stretch_count; r++) {
    if (s->taken_of[r] == s->stretches[r].count)
      continue;
    if (is_end(&s->stretches[r].events[s->taken_of[r]]))
      return r;
    any = any < 0 ? r : any;
  }
  return any;
}

/* Finds an order that obeys the rule as far as possible. No order obeys it completely, so an event was not recorded. */
static void settle(struct search *s, uint64_t live)
{
  memset(s->taken_of, 0, sizeof s->taken_of);
  s->taken = 0;
  s->live = live;
  for (int depth = 0; depth < s->total; depth++) {
    int stretch = next_choice(s, 0);
    take(s, stretch >= 0 ? stretch : any_stretch(s), depth);
  }
}

int hwi_tick_order_sort(const struct hwi_tick_order_stretch *stretches, int stretch_count,
                        const struct hwi_liveness *liveness, struct hwi_event *ordered)
{
  struct search s = {.stretches = stretches, .stretch_count = stretch_count};
  for (int r = 0; r < stretch_count; r++) {
    s.first_of[r] = s.total;
    s.total += stretches[r].count;
  }
  number_blocks(&s, liveness);
  uint64_t live = s.live;
  if (!find_order(&s))
    settle(&s, live);
  int at[HWI_TICK_ORDER_MAX_EVENTS] = {0};
  for (int i = 0; i < s.total; i++)
    ordered[i] = stretches[s.order[i]].events[at[s.order[i]]++];
  return s.total;
}

int hwi_tick_order_pick(const struct hwi_tick_order_stretch *stretches, int stretch_count,
                        const struct hwi_liveness *liveness)
{
  int free_stretch = -1, heap_stretch = -1;
  for (int r = 0; r < stretch_count; r++) {
    const struct hwi_event *event = &stretches[r].events[0];
    if (event->kind == HWI_EVENT_HEAP) {
      if (heap_stretch < 0 || is_earlier(event, &stretches[heap_stretch].events[0]))
        heap_stretch = r;
      continue;
    }
    bool is_free = is_end(event), has_block = event->address;
    bool live = liveness->is_live && has_block ? liveness->is_live(liveness->context, event->address) : is_free;
    if (!has_block || live == is_free)
      return r;
    if (is_free && free_stretch < 0)
      free_stretch = r;
  }
  if (heap_stretch >= 0)
    return heap_stretch;
  return free_stretch < 0 ? 0 : free_stretch;
}
