/* duplicate_stacks.c - groups stacks that look the same
 *
 * The profile's frames form a tree whose nodes are call sites. Siblings that look the same are merged, from the
 * outermost frames inwards. This makes a second tree, in which a node is a list of sites. A group below a node never
 * costs more than the node, so this is a best-first search: the node with the largest cost is expanded next. The stacks
 * that end in its sites are a group, and its callees become nodes. When the largest waiting item is a group, no group
 * within a waiting node can be larger. So only frames next to the way to a large group are symbolized, even if there
 * are very many stacks.
 *
 * Equal costs are ordered by the best rank below, which does not get better further in either.
 */
#define _GNU_SOURCE
#include "report/content/duplicate_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"
#include "trace/table.h"

/* A frame of the profile; 0 is the caller of the outermost frames. Ranks begin with 1; 0 means that no stack in the
 * ranking is below the frame. */
struct site {
  uint64_t cost;   /* of all stacks through it */
  uint32_t rank;   /* the best rank of these stacks */
  uint32_t callee; /* the first of its callees that have a rank; 0: none */
  uint32_t next;   /* its caller's next callee; after the caller is expanded, the next site of the same node. 0: none */
  uint32_t own;    /* rank of a stack that ends here */
};

/* A node, or the group of stacks that end in it, in the queue. */
struct waiting {
  uint64_t cost;
  uint32_t rank, site; /* the first of its sites */
  bool is_group;
};

struct search {
  const struct hwi_named_frames *frames;
  const struct hwi_duplicates_ranking *ranking;
  struct site *sites;
  uint32_t *next_own; /* by rank: another stack that ends in the same site */
  struct waiting *heap;
  size_t heap_count, heap_room;
  uint32_t *callees; /* of the node that is expanded */
  size_t callee_room;
};

/* --- the queue: a heap with the first item on top --- */

static bool is_before(const struct waiting *a, const struct waiting *b)
{
  return a->cost != b->cost ? a->cost > b->cost : a->rank < b->rank;
}

static bool push(struct search *search, struct waiting item)
{
  if (!hwi_grow((void **)&search->heap, &search->heap_room, search->heap_count + 1, sizeof *search->heap))
    return false;
  size_t at = search->heap_count++;
  for (size_t above; at > 0 && is_before(&item, &search->heap[above = (at - 1) / 2]); at = above)
    search->heap[at] = search->heap[above];
  search->heap[at] = item;
  return true;
}

static struct waiting pop(struct search *search)
{
  struct waiting first = search->heap[0], last = search->heap[--search->heap_count];
  size_t at = 0;
  for (size_t below; (below = 2 * at + 1) < search->heap_count; at = below) {
    if (below + 1 < search->heap_count && is_before(&search->heap[below + 1], &search->heap[below]))
      below++;
    if (!is_before(&search->heap[below], &last))
      break;
    search->heap[at] = search->heap[below];
  }
  search->heap[at] = last;
  return first;
}

/* --- the tree of sites --- */

static uint32_t stack_of(const struct hwi_duplicates_ranking *ranking, uint32_t rank)
{
  return ranking->stacks[rank - 1];
}

static uint64_t cost_of(const struct hwi_duplicates_ranking *ranking, uint32_t stack)
{
  return ranking->cost(ranking->context, stack);
}

/* Returns the better of two ranks; if one is 0, the other. */
static uint32_t better(uint32_t rank, uint32_t other)
{
  return rank == 0 || (other != 0 && other < rank) ? other : rank;
}

/* In the order of their numbers: adjacent stacks and their frames are adjacent in memory. */
static void plant_stacks(struct search *search, const uint32_t *rank_of)
{
  const struct hwi_duplicates_ranking *ranking = search->ranking;
  const struct hwi_profile *profile = search->frames->profile;
  for (uint32_t stack = 0; stack < profile->stack_count; stack++) {
    const uint32_t rank = rank_of[stack];
    if (rank == 0)
      continue;
    struct site *site = &search->sites[profile->stacks[stack].frame];
    if (site->own != 0)
      search->next_own[rank] = site->own;
    site->own = rank;
    site->rank = better(site->rank, rank);
    site->cost += cost_of(ranking, stack);
  }
}

static void plant_callers(struct search *search, uint32_t count)
{
  const struct hwi_frame *frames = search->frames->profile->frames;
  for (uint32_t i = count; i-- > 1;) { /* callers have smaller indices */
    struct site *site = &search->sites[i], *caller;
    if (site->rank == 0)
      continue;
    caller = &search->sites[frames[i].caller];
    caller->cost += site->cost;
    caller->rank = better(caller->rank, site->rank);
    site->next = caller->callee;
    caller->callee = i;
  }
}

static bool plant(struct search *search)
{
  const struct hwi_duplicates_ranking *ranking = search->ranking;
  const struct hwi_profile *profile = search->frames->profile;
  const uint32_t count = profile->frame_count > 0 ? profile->frame_count : 1;
  uint32_t *rank_of = calloc((size_t)profile->stack_count + 1, sizeof *rank_of);
  search->sites = hwi_table_calloc(count, sizeof *search->sites);
  search->next_own = calloc((size_t)ranking->count + 1, sizeof *search->next_own);
  bool done = rank_of && search->sites && search->next_own;
  if (done) {
    for (uint32_t rank = 1; rank <= ranking->count; rank++)
      rank_of[stack_of(ranking, rank)] = rank;
    plant_stacks(search, rank_of);
    plant_callers(search, count);
  }
  free(rank_of);
  return done;
}

/* --- which sites look the same --- */

static int compare_texts(const char *a, const char *b)
{
  if (a == b || !a || !b)
    return (a) - (b);
  return strcmp(a, b);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
  return a < b ? -1 : a > b;
}

static int compare_symbols(const struct hwi_symbol *a, const struct hwi_symbol *b)
{
  int order = compare_texts(a->function, b->function);
  if (order == 0)
    order = compare_texts(a->file, b->file);
  return order != 0 ? order : compare_numbers(a->line, b->line);
}

static int compare_sites(const void *left, const void *right, void *context)
{
  const struct hwi_named_frames *frames = context;
  const uint32_t sites[] = {*(const uint32_t *)left, *(const uint32_t *)right};
  const struct hwi_frame *a = &frames->profile->frames[sites[0]], *b = &frames->profile->frames[sites[1]];
  const struct hwi_symbol *symbols[2];
  if (a->module != b->module || a->cut != b->cut || a->cut)
    return a->module != b->module ? compare_numbers(a->module, b->module)
           : a->cut != b->cut     ? compare_numbers(a->cut, b->cut)
                                  : compare_numbers(a->address, b->address);
  uint32_t count = hwi_named_frames_find(frames, sites[0], &symbols[0]);
  int order = compare_numbers(count, hwi_named_frames_find(frames, sites[1], &symbols[1]));
  for (uint32_t i = 0; i < count && order == 0; i++)
    order = compare_symbols(&symbols[0][i], &symbols[1][i]);
  bool has_name = symbols[0][count - 1].function;
  return order != 0 || has_name ? order : compare_numbers(a->address, b->address);
}

/* --- the search --- */

/* Adds a node: the list of sites that begins with `callees[0]`. */
static bool push_node(struct search *search, const uint32_t *callees, size_t count)
{
  struct waiting node = {.site = callees[0]};
  for (size_t i = 0; i < count; i++) {
    struct site *site = &search->sites[callees[i]];
    site->next = i + 1 < count ? callees[i + 1] : 0;
    node.cost += site->cost;
    node.rank = better(node.rank, site->rank);
  }
  return push(search, node);
}

static bool push_callees(struct search *search, uint32_t first)
{
  size_t count = 0;
  uint32_t at = first;
  do {
    for (uint32_t callee = search->sites[at].callee; callee != 0; callee = search->sites[callee].next) {
      if (!hwi_grow((void **)&search->callees, &search->callee_room, count + 1, sizeof *search->callees))
        return false;
      search->callees[count++] = callee;
    }
  } while ((at = search->sites[at].next) != 0);
  if (count > 1)
    qsort_r(search->callees, count, sizeof *search->callees, compare_sites, (void *)search->frames);
  for (size_t begin = 0, end; begin < count; begin = end) {
    for (end = begin + 1; end < count; end++) {
      if (compare_sites(&search->callees[begin], &search->callees[end], (void *)search->frames) != 0)
        break;
    }
    if (!push_node(search, search->callees + begin, end - begin))
      return false;
  }
  return true;
}

/* Adds a group: the stacks that end in a node's sites. */
static bool push_own(struct search *search, uint32_t first)
{
  struct waiting group = {.site = first, .is_group = true};
  uint32_t at = first;
  do {
    for (uint32_t rank = search->sites[at].own; rank != 0; rank = search->next_own[rank]) {
      group.cost += cost_of(search->ranking, stack_of(search->ranking, rank));
      group.rank = better(group.rank, rank);
    }
  } while ((at = search->sites[at].next) != 0);
  return group.rank == 0 || push(search, group);
}

static int compare_ranks(const void *left, const void *right)
{
  return compare_numbers(*(const uint32_t *)left, *(const uint32_t *)right);
}

static bool add_group(struct hwi_duplicates *duplicates, const struct search *search, const struct waiting *group)
{
  if (!hwi_grow((void **)&duplicates->groups, &duplicates->room, duplicates->count + 1, sizeof *duplicates->groups))
    return false;
  uint32_t *stacks = duplicates->stacks + duplicates->stack_count, count = 0, at = group->site;
  do {
    for (uint32_t rank = search->sites[at].own; rank != 0; rank = search->next_own[rank])
      stacks[count++] = rank;
  } while ((at = search->sites[at].next) != 0);
  qsort(stacks, count, sizeof *stacks, compare_ranks);
  for (uint32_t i = 0; i < count; i++)
    stacks[i] = stack_of(search->ranking, stacks[i]);
  duplicates->stack_count += count;
  duplicates->groups[duplicates->count++] = (struct hwi_duplicates_group){stacks, count, group->cost};
  return true;
}

static bool find(struct hwi_duplicates *duplicates, struct search *search, uint64_t most)
{
  const uint32_t root = 0;
  duplicates->stacks = calloc((size_t)search->ranking->count + 1, sizeof *duplicates->stacks);
  if (!duplicates->stacks || !plant(search) || !push_node(search, &root, 1))
    return false;
  while (search->heap_count > 0 && search->heap[0].cost >= search->ranking->least && duplicates->count < most) {
    struct waiting item = pop(search);
    bool done = item.is_group ? add_group(duplicates, search, &item)
                              : push_own(search, item.site) && push_callees(search, item.site);
    if (!done)
      return false;
  }
  return true;
}

int hwi_duplicates_init(struct hwi_duplicates *duplicates, const struct hwi_named_frames *frames,
                        const struct hwi_duplicates_ranking *ranking, uint64_t most, struct hwi_error *error)
{
  struct search search = {.frames = frames, .ranking = ranking};
  *duplicates = (struct hwi_duplicates){0};
  bool found = find(duplicates, &search, most);
  free(search.sites);
  free(search.next_own);
  free(search.heap);
  free(search.callees);
  return found ? HW_OK : hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u stacks", ranking->count);
}

static uint64_t cost_in_selection(const void *context, uint32_t stack)
{
  const struct hwi_selection *selection = context;
  return hwi_amount_cost(&selection->amounts[stack], selection->cost);
}

struct hwi_duplicates_ranking hwi_duplicates_ranking_of(const struct hwi_selection *selection)
{
  return (struct hwi_duplicates_ranking){
      .stacks = selection->stacks, .count = selection->stack_count, .cost = cost_in_selection, .context = selection};
}

void hwi_duplicates_release(struct hwi_duplicates *duplicates)
{
  free(duplicates->groups);
  free(duplicates->stacks);
  *duplicates = (struct hwi_duplicates){0};
}
