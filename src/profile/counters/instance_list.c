/* instance_list.c - the instances of scopes that a page lists, found while the events are followed */
#include "profile/counters/instance_list.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"
#include "trace/radix_sort.h"

enum { LISTED_SIZES_MAX = 1 << 22 }; /* of all instances; further sizes are not listed */

struct open_instance {
  struct hwi_listed_instance item;
  struct hwi_size_count sizes[HWI_LISTED_SIZES];
};

struct hwi_listed_thread {
  struct open_instance *items; /* the outermost first */
  size_t count, capacity;
};

void hwi_instance_list_release(struct hwi_instance_list *instances)
{
  for (size_t i = 0; i < instances->thread_count; i++)
    free(instances->threads[i].items);
  free(instances->threads);
  free(instances->sequences);
  free(instances->items);
  free(instances->sizes);
  *instances = (struct hwi_instance_list){0};
}

/* --- the choice --- */

/* Sets chosen[i] for the first of the ranked instances that are not chosen yet, up to `left` of them. */
static void choose(const struct hwi_sort_item *ranked, size_t count, bool *chosen, size_t left)
{
  for (size_t i = 0; i < count && left > 0; i++) {
    left -= !chosen[ranked[i].item];
    chosen[ranked[i].item] = true;
  }
}

static bool choose_all(const struct hwi_instance_list *instances, struct hwi_sort_item *ranked, bool *chosen)
{
  const size_t count = instances->count, latest = instances->is_of_present ? instances->most / 2 : 0,
               longest = (instances->most - latest) / 2;
  memset(chosen + count - latest, true, latest); /* they are in the order of their ends */
  for (size_t i = 0; i < count; i++)
    ranked[i] = (struct hwi_sort_item){.key = instances->items[i].duration_ns, .item = (uint32_t)i};
  if (!hwi_radix_sort(ranked, count))
    return false;
  choose(ranked, count, chosen, longest);
  for (size_t i = 0; i < count; i++)
    ranked[i].key = instances->items[ranked[i].item].bytes;
  if (!hwi_radix_sort(ranked, count))
    return false;
  choose(ranked, count, chosen, instances->most - latest - longest);
  return true;
}

/* Removes the instances that are not chosen, and their sizes. */
static void compact(struct hwi_instance_list *instances, const bool *chosen)
{
  size_t kept = 0, sizes = 0;
  for (size_t i = 0; i < instances->count; i++) {
    if (!chosen[i])
      continue;
    struct hwi_listed_instance *item = &instances->items[kept++];
    *item = instances->items[i];
    memmove(instances->sizes + sizes, instances->sizes + item->first_size, item->size_count * sizeof *instances->sizes);
    item->first_size = sizes;
    sizes += item->size_count;
  }
  instances->count = kept;
  instances->size_count = sizes;
}

/* Reduces the list to `most` instances. Returns false if there is no memory. */
static bool reduce(struct hwi_instance_list *instances)
{
  if (instances->count <= instances->most)
    return true;
  struct hwi_sort_item *ranked = malloc(instances->count * sizeof *ranked);
  bool *chosen = calloc(instances->count, sizeof *chosen);
  const bool done = ranked && chosen && choose_all(instances, ranked, chosen);
  if (done)
    compact(instances, chosen);
  free(ranked);
  free(chosen);
  return done;
}

/* --- ends --- */

static int compare_sizes(const void *left, const void *right)
{
  const struct hwi_size_count *a = left, *b = right;
  return a->size < b->size ? -1 : a->size > b->size;
}

/* Adds the sizes that changed, in ascending order. */
static bool list_sizes(struct hwi_instance_list *instances, struct open_instance *open)
{
  struct hwi_listed_instance *item = &open->item;
  const uint8_t used = item->size_count;
  item->size_count = 0;
  item->first_size = instances->size_count;
  if (instances->size_count + used > LISTED_SIZES_MAX) {
    item->has_other_sizes = used > 0;
    return true;
  }
  if (!hwi_grow((void **)&instances->sizes, &instances->size_capacity, instances->size_count + used,
                sizeof *instances->sizes))
    return false;
  if (used > 1)
    qsort(open->sizes, used, sizeof *open->sizes, compare_sizes);
  for (uint8_t i = 0; i < used; i++)
    if (open->sizes[i].blocks != 0)
      instances->sizes[item->first_size + item->size_count++] = open->sizes[i];
  instances->size_count += item->size_count;
  return true;
}

static bool has_row(const struct hwi_instance_list *instances, uint32_t path)
{
  return !instances->row_of || instances->row_of[path];
}

static bool list(struct hwi_instance_list *instances, struct open_instance *open)
{
  const size_t full = (size_t)instances->most + instances->most / 2;
  instances->recorded++;
  if (!has_row(instances, open->item.path))
    return true;
  if (!list_sizes(instances, open) ||
      !hwi_grow((void **)&instances->items, &instances->capacity, instances->count + 1, sizeof *instances->items))
    return false;
  instances->items[instances->count++] = open->item;
  return instances->count < full || reduce(instances);
}

/* Adds an instance that has ended to the one around it, whose path is around its own. */
static void add_inside(struct hwi_listed_instance *around, const struct hwi_listed_instance *ended)
{
  if (around->net_bytes + ended->most_net_bytes > around->most_net_bytes)
    around->most_net_bytes = around->net_bytes + ended->most_net_bytes;
  around->calls += ended->calls;
  around->free_calls += ended->free_calls;
  around->bytes += ended->bytes;
  around->net_bytes += ended->net_bytes;
  around->inside_bytes += ended->net_bytes;
}

/* Ends the thread's innermost instance. What is done in a task is not done in the scopes that the thread is in around. */
static bool end_innermost(struct hwi_instance_list *instances, struct hwi_listed_thread *thread, uint64_t ns)
{
  struct open_instance *ended = &thread->items[--thread->count];
  struct hwi_listed_instance *around = thread->count > 0 ? &thread->items[thread->count - 1].item : NULL;
  ended->item.duration_ns = ns > ended->item.begin_ns ? ns - ended->item.begin_ns : 0;
  if (around && ended->item.outer == around->path)
    add_inside(around, &ended->item);
  return list(instances, ended);
}

/* --- events --- */

static bool begin(struct hwi_instance_list *instances, struct hwi_listed_thread *thread,
                  const struct hwi_scope_event *event)
{
  if (!hwi_grow((void **)&thread->items, &thread->capacity, thread->count + 1, sizeof *thread->items) ||
      !hwi_grow((void **)&instances->sequences, &instances->sequence_capacity, (size_t)event->path + 1,
                sizeof *instances->sequences))
    return false;
  struct open_instance *begun = &thread->items[thread->count++];
  begun->item = (struct hwi_listed_instance){
      .order = instances->begun++,
      .begin_ns = event->ns,
      .value = event->value,
      .sequence = event->is_stay ? 0 : ++instances->sequences[event->path],
      .path = event->path,
      .outer = event->outer,
      .thread = event->thread,
      .op = event->op,
  };
  return true;
}

bool hwi_instance_list_take(struct hwi_instance_list *instances, const struct hwi_scope_event *event)
{
  if (!hwi_grow((void **)&instances->threads, &instances->thread_capacity, (size_t)event->thread + 1,
                sizeof *instances->threads))
    return false;
  if (instances->thread_count <= event->thread)
    instances->thread_count = (size_t)event->thread + 1;
  struct hwi_listed_thread *thread = &instances->threads[event->thread];
  if (event->ended == 0)
    return begin(instances, thread, event);
  bool done = true;
  for (uint32_t i = 0; done && i < event->ended && thread->count > 0; i++)
    done = end_innermost(instances, thread, event->ns);
  return done;
}

static void count_size(struct open_instance *open, uint64_t size, int64_t blocks)
{
  struct hwi_listed_instance *item = &open->item;
  uint8_t at = 0;
  while (at < item->size_count && open->sizes[at].size != size)
    at++;
  if (at == HWI_LISTED_SIZES) {
    item->has_other_sizes = true;
    return;
  }
  if (at == item->size_count)
    open->sizes[item->size_count++] = (struct hwi_size_count){size, 0};
  open->sizes[at].blocks += blocks;
}

void hwi_instance_list_count(struct hwi_instance_list *instances, const struct hwi_block_event *event)
{
  const struct hwi_listed_thread *thread =
      event->thread < instances->thread_count ? &instances->threads[event->thread] : NULL;
  if (!thread || thread->count == 0)
    return;
  struct open_instance *open = &thread->items[thread->count - 1];
  struct hwi_listed_instance *item = &open->item;
  if (event->kind == HWI_BLOCK_ALLOC) {
    item->calls += event->weight;
    item->bytes += hwi_block_bytes(event);
    item->net_bytes += (int64_t)hwi_block_bytes(event);
    if (item->net_bytes > item->most_net_bytes)
      item->most_net_bytes = item->net_bytes;
    count_size(open, event->size, event->weight);
  } else if (event->kind == HWI_BLOCK_FREE) {
    item->free_calls += event->weight;
    item->net_bytes -= (int64_t)hwi_block_bytes(event);
    count_size(open, event->size, -(int64_t)event->weight);
  } else if (event->kind == HWI_BLOCK_FREE_UNKNOWN) {
    item->free_calls++;
  }
}

/* --- the end --- */

static int compare_instances(const void *left, const void *right)
{
  const struct hwi_listed_instance *a = left, *b = right;
  if (a->thread != b->thread)
    return a->thread < b->thread ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

bool hwi_instance_list_end(struct hwi_instance_list *instances, uint64_t ns)
{
  bool done = true;
  for (size_t i = 0; i < instances->thread_count; i++)
    while (done && instances->threads[i].count > 0)
      done = end_innermost(instances, &instances->threads[i], ns);
  done = done && reduce(instances);
  if (done && instances->count > 0)
    qsort(instances->items, instances->count, sizeof *instances->items, compare_instances);
  return done;
}

bool hwi_instance_list_add_all(struct hwi_instance_list *sum, const struct hwi_instance_list *instances)
{
  sum->recorded += instances->recorded;
  if (!hwi_grow((void **)&sum->items, &sum->capacity, sum->count + instances->count, sizeof *sum->items) ||
      !hwi_grow((void **)&sum->sizes, &sum->size_capacity, sum->size_count + instances->size_count, sizeof *sum->sizes))
    return false;
  for (size_t i = 0; i < instances->count; i++) {
    const struct hwi_listed_instance *item = &instances->items[i];
    if (!has_row(sum, item->path))
      continue;
    struct hwi_listed_instance *added = &sum->items[sum->count++];
    *added = *item;
    added->first_size = sum->size_count;
    for (uint8_t k = 0; k < item->size_count; k++)
      sum->sizes[sum->size_count++] = instances->sizes[item->first_size + k];
  }
  return true;
}
