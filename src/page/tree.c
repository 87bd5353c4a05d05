/* tree.c - the part of the call tree that a document contains, and the sums of the rest */
#include "page/tree.h"

#include <stdlib.h>
#include <string.h>

#include "trace/radix_sort.h"

static int no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to choose what the page shows of the call stacks");
}

/* --- shares --- */

/* Raises each frame's share to its share of one figure: the uint64_t at `figure_off` of each stack. `sums` is a buffer
 * with a number per frame. A share is a part of UINT32_MAX. */
static void raise_shares(uint32_t *shares, uint64_t *sums, const struct hwi_profile *profile, size_t figure_off)
{
  memset(sums, 0, (size_t)profile->frame_count * sizeof *sums);
  for (uint32_t s = 1; s < profile->stack_count; s++)
    sums[profile->stacks[s].frame] += *(const uint64_t *)((const char *)&profile->stacks[s] + figure_off);
  for (uint32_t f = profile->frame_count; f-- > 1;) /* callers come first, and frame 0 is the root of all */
    sums[profile->frames[f].caller] += sums[f];
  for (uint32_t f = 1; f < profile->frame_count && sums[0] > 0; f++) {
    uint32_t share = (uint32_t)((double)sums[f] / (double)sums[0] * (double)UINT32_MAX);
    shares[f] = share > shares[f] ? share : shares[f];
  }
}

/* Returns how many shares are above `least`. */
static uint32_t count_above(const uint32_t *shares, uint32_t count, uint32_t least)
{
  uint32_t above = 0;
  for (uint32_t f = 1; f < count; f++)
    above += shares[f] > least;
  return above;
}

/* Returns the smallest share that at most `most` frames exceed. */
static uint32_t find_least(const uint32_t *shares, uint32_t count, uint32_t most)
{
  uint32_t low = 0, high = UINT32_MAX;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (count_above(shares, count, middle) <= most)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Among frames with the same share, the first ones are taken: callers before callees. */
static bool rank(struct hwi_page_tree *tree, const uint32_t *shares, uint32_t most)
{
  const uint32_t count = tree->profile->frame_count;
  uint32_t least = find_least(shares, count, most), taken = 0;
  uint32_t ties = most - count_above(shares, count, least);
  struct hwi_sort_item *ranked = calloc((size_t)most + 1, sizeof *ranked);
  tree->order = calloc((size_t)most + 1, sizeof *tree->order);
  for (uint32_t f = 1; f < count && ranked && tree->order; f++) {
    bool is_tie = shares[f] == least && least > 0 && ties > 0;
    if (shares[f] <= least && !is_tie)
      continue;
    ties -= is_tie;
    ranked[taken++] = (struct hwi_sort_item){.key = shares[f], .item = f};
  }
  bool done = ranked && tree->order && hwi_radix_sort(ranked, taken);
  for (uint32_t i = 0; i < taken && done; i++)
    tree->order[i] = ranked[i].item;
  tree->order_count = taken;
  free(ranked);
  return done;
}

static bool choose(struct hwi_page_tree *tree, uint32_t nodes_max)
{
  static const size_t figures[] = {
      offsetof(struct hwi_stack, peak_bytes),      offsetof(struct hwi_stack, live_bytes),
      offsetof(struct hwi_stack, calls),           offsetof(struct hwi_stack, bytes),
      offsetof(struct hwi_stack, temporary_calls), offsetof(struct hwi_stack, failed_calls),
      offsetof(struct hwi_stack, own_peak_bytes)};
  const struct hwi_profile *profile = tree->profile;
  uint32_t *shares = calloc((size_t)profile->frame_count + 1, sizeof *shares);
  uint64_t *sums = calloc((size_t)profile->frame_count + 1, sizeof *sums);
  bool done = shares && sums;
  for (size_t i = 0; i < sizeof figures / sizeof *figures && done; i++)
    raise_shares(shares, sums, profile, figures[i]);
  done = done && rank(tree, shares, nodes_max);
  free(shares);
  free(sums);
  return done;
}

/* --- rows --- */

static void number_nodes(struct hwi_page_tree *tree, uint32_t nodes_max)
{
  const struct hwi_profile *profile = tree->profile;
  uint32_t taken = nodes_max < tree->order_count ? nodes_max : tree->order_count;
  memset(tree->node_of, 0, (size_t)profile->frame_count * sizeof *tree->node_of);
  for (uint32_t i = 0; i < taken; i++)
    tree->node_of[tree->order[i]] = 1;
  tree->node_count = 0;
  for (uint32_t f = 1; f < profile->frame_count; f++) {
    if (tree->node_of[f] == 0)
      continue;
    tree->frames[tree->node_count++] = f;
    tree->node_of[f] = tree->node_count;
  }
}

static void widen(struct hwi_page_row *row, const struct hwi_stack *stack)
{
  bool is_first = row->calls == 0;
  if (stack->calls == 0)
    return;
  row->smallest = is_first || stack->smallest < row->smallest ? stack->smallest : row->smallest;
  row->largest = stack->largest > row->largest ? stack->largest : row->largest;
  row->first_ns = is_first || stack->first_ns < row->first_ns ? stack->first_ns : row->first_ns;
  row->last_ns = stack->last_ns > row->last_ns ? stack->last_ns : row->last_ns;
  row->own_peak_bytes = stack->own_peak_bytes > row->own_peak_bytes ? stack->own_peak_bytes : row->own_peak_bytes;
}

static void add_stack(struct hwi_page_row *row, const struct hwi_stack *stack, bool is_runtime)
{
  widen(row, stack);
  row->calls += stack->calls;
  hwi_variance_add(&row->variance, &stack->variance);
  row->bytes += stack->bytes;
  row->temporary_calls += stack->temporary_calls;
  row->free_calls += stack->free_calls;
  row->failed_calls += stack->failed_calls;
  row->peak_bytes += stack->peak_bytes;
  row->peak_blocks += stack->peak_blocks;
  row->peak_usable_bytes += stack->peak_usable;
  row->live_bytes += stack->live_bytes;
  row->live_blocks += stack->live_blocks;
  row->runtime_live_bytes += is_runtime ? stack->live_bytes : 0;
  row->runtime_live_blocks += is_runtime ? stack->live_blocks : 0;
  for (int i = 0; i < HWI_LIFETIMES; i++)
    row->lifetimes[i] += stack->lifetimes[i];
}

/* Returns the node of the innermost kept frame plus 1, or 0 if no frame is kept. */
static uint32_t innermost(const struct hwi_page_tree *tree, uint32_t frame)
{
  while (frame != 0 && tree->node_of[frame] == 0)
    frame = tree->profile->frames[frame].caller;
  return frame != 0 ? tree->node_of[frame] : 0;
}

/* Each node has two places for rows: one for its own stack, one for stacks that continue with cut frames. Only used
 * places get a row number. */
static void number_rows(struct hwi_page_tree *tree, uint32_t *places)
{
  const struct hwi_profile *profile = tree->profile;
  for (uint32_t s = 1; s < profile->stack_count; s++) {
    uint32_t frame = profile->stacks[s].frame, node = innermost(tree, frame);
    bool is_kept = frame == 0 || tree->node_of[frame] != 0;
    tree->row_of[s] = 2 * node + !is_kept;
    places[tree->row_of[s]] = 1;
  }
  tree->row_count = 0;
  for (uint32_t i = 0; i < 2 * (tree->node_count + 1); i++)
    if (places[i] != 0)
      places[i] = tree->row_count++;
}

static void fill_rows(struct hwi_page_tree *tree, const uint32_t *places)
{
  const struct hwi_profile *profile = tree->profile;
  tree->kept_count = 0;
  for (uint32_t s = 1; s < profile->stack_count; s++) {
    uint32_t place = tree->row_of[s];
    struct hwi_page_row *row = &tree->rows[tree->row_of[s] = places[place]];
    bool is_kept = place % 2 == 0;
    row->node = place / 2;
    row->stacks += !is_kept;
    row->entry = is_kept ? profile->stacks[s].entry : 0;
    tree->kept_count += is_kept;
    add_stack(row, &profile->stacks[s], tree->is_runtime[s]);
  }
}

static bool make_rows(struct hwi_page_tree *tree)
{
  uint32_t *places = calloc(2 * ((size_t)tree->node_count + 1), sizeof *places);
  if (!places)
    return false;
  number_rows(tree, places);
  free(tree->rows);
  tree->rows = calloc((size_t)tree->row_count + 1, sizeof *tree->rows);
  if (tree->rows)
    fill_rows(tree, places);
  free(places);
  return tree->rows;
}

static bool find_runtime(struct hwi_page_tree *tree, struct hwi_named_frames *frames)
{
  for (uint32_t s = 1; s < tree->profile->stack_count; s++) {
    if (tree->profile->stacks[s].live_blocks == 0)
      continue;
    if (hwi_named_frames_load(frames, s, NULL) < 0)
      return false;
    tree->is_runtime[s] = hwi_named_frames_are_runtime(frames);
  }
  return true;
}

int hwi_page_tree_init(struct hwi_page_tree *tree, struct hwi_named_frames *frames, uint32_t nodes_max,
                       struct hwi_error *error)
{
  const struct hwi_profile *profile = frames->profile;
  *tree = (struct hwi_page_tree){.profile = profile};
  tree->is_runtime = calloc((size_t)profile->stack_count + 1, sizeof *tree->is_runtime);
  tree->frames = calloc((size_t)nodes_max + 1, sizeof *tree->frames);
  tree->node_of = calloc((size_t)profile->frame_count + 1, sizeof *tree->node_of);
  tree->row_of = calloc((size_t)profile->stack_count + 1, sizeof *tree->row_of);
  bool done = tree->is_runtime && tree->frames && tree->node_of && tree->row_of && find_runtime(tree, frames) &&
              choose(tree, nodes_max);
  return done ? hwi_page_tree_reduce(tree, nodes_max, error) : no_memory(error);
}

void hwi_page_tree_release(struct hwi_page_tree *tree)
{
  free(tree->order);
  free(tree->is_runtime);
  free(tree->frames);
  free(tree->node_of);
  free(tree->row_of);
  free(tree->rows);
  *tree = (struct hwi_page_tree){0};
}

int hwi_page_tree_reduce(struct hwi_page_tree *tree, uint32_t nodes_max, struct hwi_error *error)
{
  number_nodes(tree, nodes_max);
  return make_rows(tree) ? HW_OK : no_memory(error);
}
