/* class_search.c - the best table where aligned blocks may get a larger class than their neighbours in size
 *
 * An aligned block takes the first class that is large enough and a multiple of its alignment. If the class above it is none,
 * it waits for a later one. What the classes up to j cost, and what waits there, is all that the rest of a table depends on:
 * a state. Of each alignment, the blocks that wait are those above the last class that was a multiple of it, so a state
 * is the first use of each level that waits. For each j, the states of all i < j are extended by the class j. Of each
 * state, the least cost of each number of classes is kept.
 *
 * Most states are never made. A table that begins with a state costs at least what was paid, what the blocks that wait
 * will weigh, and the bound of the rest (class_bound.c). If no number of classes has a table that costs more than that, the
 * state is dropped: it has a `budget`, which is the most that may be paid for it. A state is also dropped if another one
 * paid less and has fewer blocks that wait: a class never costs less if it is for more blocks.
 *
 * Where many sizes are aligned there may still be too many states. So each j keeps WIDTH of them, those with most of their budgets
 * left. The least that a table can cost that begins with one of the others is the bound then. A first search with few
 * states finds good tables, which make the budgets of the second one small.
 */
#include "tune/classes/class_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

/* Costs that differ by less are the same: they are sums in another order. */
#define ROUNDING 1e-10

enum {
  GRANULES_MAX = HWI_CLASS_GRANULES,
  COUNT_MAX = HWI_CLASS_COUNT_MAX,
  FIRST_WIDTH = 4,
  WIDTH = 32,
  FIRST_STATES = 4096
};

struct state {
  unsigned number;                  /* of the last class */
  size_t waiting[HWI_CLASS_LEVELS]; /* the first use of the level that waits; level->until[number]: none does */
  double waiting_cost;              /* at least */
  double left;                      /* of the budget, the most for any number of classes */
  unsigned least_count, most_count; /* of classes, of which it has a cost */
  double paid[COUNT_MAX + 1];       /* by the number of classes; INFINITY: dropped */
  uint32_t from[COUNT_MAX + 1];     /* the state with one class less */
};

struct search {
  const struct hwi_class_problem *problem;
  const struct hwi_class_bound *bound;
  struct hwi_class_optimum *optimum;
  struct hwi_class_row *row;
  size_t width;
  double budgets[GRANULES_MAX + 1][COUNT_MAX + 1]; /* of states, by their last class and number of classes */
  double dropped[COUNT_MAX + 1]; /* what tables with states for which there was no room cost at least */
  struct state *states;          /* ascending by number */
  size_t state_count, state_capacity;
  size_t begin[GRANULES_MAX + 2]; /* of the states of a class */
};

/* --- budgets --- */

static double limit_of(const struct search *search, unsigned count)
{
  return search->optimum->costs[count] * (1 - ROUNDING);
}

/* Whether a better table of so many classes is possible. */
static bool is_open(const struct search *search, unsigned count)
{
  return search->optimum->bounds[count] < limit_of(search, count);
}

static void find_budgets(struct search *search)
{
  for (unsigned number = 0; number <= search->problem->demand->granules; number++)
    for (unsigned count = 0; count <= COUNT_MAX; count++) {
      double most = -INFINITY;
      for (unsigned all = count; all <= COUNT_MAX; all++) {
        const double rest = search->bound->costs[all - count][number];
        if (!isinf(rest) && is_open(search, all) && most < limit_of(search, all) - rest)
          most = limit_of(search, all) - rest;
      }
      search->budgets[number][count] = most;
    }
}

/* Tables that begin with a state for which there is no room are not looked at. */
static void note_dropped(struct search *search, const struct state *state)
{
  for (unsigned count = state->least_count; count <= state->most_count; count++)
    for (unsigned all = count; !isinf(state->paid[count]) && all <= COUNT_MAX; all++) {
      const double least = state->paid[count] + state->waiting_cost + search->bound->costs[all - count][state->number];
      if (least < search->dropped[all])
        search->dropped[all] = least;
    }
}

/* --- the states of a class --- */

static struct state *find_state(const struct search *search, unsigned number, const size_t *waiting)
{
  const unsigned levels = search->problem->level_count;
  for (size_t i = search->begin[number]; i < search->state_count; i++) {
    unsigned same = 0;
    while (same < levels && search->states[i].waiting[same] == waiting[same])
      same++;
    if (same == levels)
      return &search->states[i];
  }
  return NULL;
}

/* Returns NULL if there is no memory. */
static struct state *add_state(struct search *search, unsigned number, const size_t *waiting)
{
  if (!hwi_grow((void **)&search->states, &search->state_capacity, search->state_count + 1, sizeof *search->states))
    return NULL;
  struct state *state = &search->states[search->state_count++];
  *state = (struct state){.number = number};
  memcpy(state->waiting, waiting, search->problem->level_count * sizeof *waiting);
  state->waiting_cost = hwi_class_waiting_cost(search->problem, number, waiting);
  for (unsigned i = 0; i <= COUNT_MAX; i++)
    state->paid[i] = INFINITY;
  return state;
}

/* Sets what is left of the state's budgets. Returns false if nothing is. */
static bool settle(const struct search *search, struct state *state)
{
  const double *budgets = search->budgets[state->number];
  state->left = -INFINITY;
  state->least_count = COUNT_MAX;
  state->most_count = 0;
  for (unsigned count = 0; count <= COUNT_MAX; count++) {
    if (isinf(state->paid[count]))
      continue;
    state->left = fmax(state->left, budgets[count] - state->paid[count] - state->waiting_cost);
    state->least_count = count < state->least_count ? count : state->least_count;
    state->most_count = count;
  }
  return state->least_count <= state->most_count;
}

/* Whether no more blocks wait than of the other state. Sets *difference to what the others weigh at least: their blocks at the
 * peak may fill a page that is partly filled without them. */
static bool has_fewer_waiting(const struct search *search, const struct state *state, const struct state *other,
                              double *difference)
{
  *difference = 0;
  for (unsigned i = 0; i < search->problem->level_count; i++) {
    const struct hwi_class_level *level = &search->problem->levels[i];
    if (state->waiting[i] < other->waiting[i])
      return false;
    const double weight = level->least_weights[state->waiting[i]] - level->least_weights[other->waiting[i]];
    *difference += weight * search->problem->block_bytes[state->number];
  }
  return true;
}

/* Drops what costs no less with the other state. Returns false if nothing is left. */
static bool compare(const struct search *search, struct state *state, const struct state *other)
{
  double difference;
  if (!has_fewer_waiting(search, other, state, &difference))
    return true;
  for (unsigned count = state->least_count; count <= state->most_count; count++)
    if (other->paid[count] <= state->paid[count] + difference)
      state->paid[count] = INFINITY;
  return settle(search, state);
}

static int by_left(const void *left, const void *right)
{
  const struct state *a = left, *b = right;
  return (a->left < b->left) - (a->left > b->left);
}

/* Keeps the most promising states of a class. */
static void keep_states(struct search *search, unsigned number)
{
  struct state *states = &search->states[search->begin[number]];
  const size_t count = search->state_count - search->begin[number];
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    settle(search, &states[i]);
  qsort(states, count, sizeof *states, by_left);
  for (size_t i = 0; i < count; i++) {
    bool has_any = states[i].least_count <= states[i].most_count;
    for (size_t k = 0; k < kept && has_any; k++)
      has_any = compare(search, &states[i], &states[k]);
    if (has_any && kept < search->width)
      states[kept++] = states[i];
    else if (has_any)
      note_dropped(search, &states[i]);
  }
  search->state_count = search->begin[number] + kept;
}

/* --- the search --- */

/* Whether a cost may be within the budget of a state for any number of classes. */
static bool is_worth(const struct search *search, const struct state *from, double cost)
{
  const double *budgets = &search->budgets[search->row->number][1];
  uint64_t found = 0; /* without a branch, so that several are compared at once */
  for (unsigned count = from->least_count; count <= from->most_count; count++)
    found |= from->paid[count] + cost < budgets[count];
  return found;
}

/* Whether a cost may be below what the state has. */
static bool is_better(const struct state *from, double cost, const struct state *to)
{
  const double *paid = &to->paid[1];
  uint64_t found = 0;
  for (unsigned count = from->least_count; count <= from->most_count; count++)
    found |= from->paid[count] + cost < paid[count];
  return found;
}

/* Sets what waits if the row's class comes after the state. Returns what the blocks that it takes weigh. */
static double find_waiting(const struct search *search, const struct state *state, size_t *waiting)
{
  const struct hwi_class_row *row = search->row;
  double waited = 0;
  for (unsigned i = 0; i < search->problem->level_count; i++) {
    const struct hwi_class_level *level = &search->problem->levels[i];
    waiting[i] = i < row->level_count ? level->until[row->number] : state->waiting[i];
    if (i < row->level_count)
      waited += level->weights[level->until[state->number]] - level->weights[state->waiting[i]];
  }
  return waited * search->problem->block_bytes[row->number];
}

/* Notes what is paid for a state that comes after the state `from`, if its class costs this much. */
static void pay(const struct search *search, size_t from, double cost, struct state *to)
{
  const struct state *state = &search->states[from];
  for (unsigned count = state->least_count; count <= state->most_count; count++) {
    const double paid = state->paid[count] + cost;
    if (paid < to->paid[count + 1] && paid + to->waiting_cost < search->budgets[to->number][count + 1]) {
      to->paid[count + 1] = paid;
      to->from[count + 1] = (uint32_t)from;
    }
  }
}

/* Adds the row's class to a state. What it costs is counted only if less than that does not say that it is too much. Returns
 * false if there is no memory. */
static bool extend(struct search *search, size_t from)
{
  struct hwi_class_row *row = search->row;
  const struct state *state = &search->states[from];
  double cost = hwi_class_row_cost(row);
  if (!is_worth(search, state, cost))
    return true;
  size_t waiting[HWI_CLASS_LEVELS];
  const double waited = find_waiting(search, state, waiting);
  const double waiting_cost = hwi_class_waiting_cost(search->problem, row->number, waiting);
  struct state *to = find_state(search, row->number, waiting);
  if (waited > 0)
    cost = fmax(cost, hwi_class_row_least_cost(row) + waited);
  if (!is_worth(search, state, cost + waiting_cost) || (to && !is_better(state, cost, to)))
    return true;
  cost = hwi_class_row_cost(row) + hwi_class_row_waited(row, state->waiting);
  if (!is_worth(search, state, cost + waiting_cost))
    return true;
  to = to ? to : add_state(search, row->number, waiting);
  if (to)
    pay(search, from, cost, to);
  return to;
}

static double largest_budget(const struct search *search, unsigned number)
{
  double largest = -INFINITY;
  for (unsigned count = 0; count <= COUNT_MAX; count++)
    largest = fmax(largest, search->budgets[number][count]);
  return largest;
}

/* Adds the class to all states. Returns false if there is no memory. */
static bool add_class(struct search *search, unsigned number)
{
  struct hwi_class_row *row = search->row;
  const double largest = largest_budget(search, number);
  bool done = true;
  search->begin[number] = search->state_count;
  hwi_class_row_begin(row, number);
  while (done && row->after > 0) {
    hwi_class_row_widen(row);
    if (hwi_class_row_cost(row) >= largest) /* it does not fall from here on */
      break;
    for (size_t i = search->begin[row->after]; i < search->begin[row->after + 1] && done; i++)
      done = extend(search, i);
  }
  keep_states(search, number);
  search->begin[number + 1] = search->state_count;
  return done;
}

/* The states of the largest class have tables. */
static void take_tables(struct search *search)
{
  struct hwi_class_optimum *optimum = search->optimum;
  for (size_t i = search->begin[search->problem->demand->granules]; i < search->state_count; i++)
    for (unsigned count = 1; count <= COUNT_MAX; count++) {
      if (!is_open(search, count) || search->states[i].paid[count] >= limit_of(search, count))
        continue;
      optimum->costs[count] = search->states[i].paid[count];
      for (size_t k = count, at = i; k > 0; at = search->states[at].from[k], k--)
        optimum->tables[count].bytes[k - 1] = (size_t)search->states[at].number * HWI_CLASS_GRANULE_BYTES;
    }
}

/* Returns false if there is no memory. */
static bool run(struct search *search, size_t width)
{
  const size_t waiting[HWI_CLASS_LEVELS] = {0};
  search->width = width;
  search->state_count = 0;
  for (unsigned count = 0; count <= COUNT_MAX; count++)
    search->dropped[count] = INFINITY;
  find_budgets(search);
  struct state *first = add_state(search, 0, waiting);
  if (!first)
    return false;
  first->paid[0] = 0;
  settle(search, first);
  search->begin[0] = 0;
  search->begin[1] = 1;
  for (unsigned number = 1; number <= search->problem->demand->granules; number++)
    if (!add_class(search, number))
      return false;
  take_tables(search);
  for (unsigned count = 1; count <= COUNT_MAX; count++)
    search->optimum->bounds[count] =
        fmax(search->optimum->bounds[count], fmin(search->optimum->costs[count], search->dropped[count]));
  return true;
}

static bool any_open(const struct search *search)
{
  for (unsigned count = 1; count <= COUNT_MAX; count++)
    if (is_open(search, count))
      return true;
  return false;
}

bool hwi_class_search(struct hwi_class_optimum *optimum, const struct hwi_class_bound *bound, struct hwi_class_row *row)
{
  struct search *search = calloc(1, sizeof *search);
  if (!search)
    return false;
  search->problem = row->problem;
  search->bound = bound;
  search->optimum = optimum;
  search->row = row;
  bool done = true;
  if (any_open(search))
    done = hwi_grow((void **)&search->states, &search->state_capacity, FIRST_STATES, sizeof *search->states) &&
           run(search, FIRST_WIDTH);
  if (done && any_open(search))
    done = run(search, WIDTH);
  for (unsigned count = 1; count <= COUNT_MAX; count++)
    if (!is_open(search, count))
      optimum->bounds[count] = optimum->costs[count];
  free(search->states);
  free(search);
  return done;
}
