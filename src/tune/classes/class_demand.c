/* class_demand.c - counts the blocks of a recording by owner and size: at the peak, at most, and over time
 *
 * A count at the peak is not copied when a new peak comes, which would be at most events. The process has the ID of its
 * latest peak; a count that changes for the first time after that peak is what it was at the peak.
 */
#include "tune/classes/class_demand.h"

#include <stdlib.h>

#include "heapwright/detail/entry_list.h"
#include "platform/os.h"
#include "profile/blocks/live.h"
#include "trace/grow.h"
#include "trace/numbering.h"

enum { PAGE_LOG2 = 12, GRANULE_LOG2 = 4, ALIGN_LOG2_MAX = 15, ALIGN_KEY_BITS = 8 };

/* Of a thread, size and alignment. */
struct count {
  uint64_t live, most, at_peak; /* blocks */
  uint64_t peak_id;             /* for which at_peak is */
  uint64_t since_ns;
  double block_ns;
};

struct process {
  struct hwi_live where; /* address -> count; 0: a block without a class */
  uint64_t peak_id;
  uint64_t asked_bytes, large_bytes; /* live */
  uint64_t peak_asked_bytes, peak_large_bytes;
  uint64_t since_ns;
  double byte_ns;
};

struct thread {
  uint64_t first_ns, last_ns;
  uint32_t image, owner;
  bool has_called;
  uint32_t moving_count; /* of the block that the first half of a realloc freed; 0: none */
};

struct counting {
  const struct hwi_profile *profile;
  struct process *processes; /* by image */
  struct hwi_numbering keys; /* (thread, granules and alignment) -> count */
  struct count *counts;      /* by that number */
  size_t count_capacity;
  struct thread *threads;
  size_t thread_capacity, thread_count;
  uint64_t request_count, seen_count;
  bool failed;
};

/* --- sizes --- */

/* Returns 0 if the block has no class. */
static uint16_t granules_of(const struct hwi_block_event *event, uint8_t *align_log2)
{
  bool is_paged = event->entry == HW_ENTRY_VALLOC || event->entry == HW_ENTRY_PVALLOC;
  unsigned log2 = is_paged ? PAGE_LOG2 : event->alignment_log2;
  if (log2 < GRANULE_LOG2)
    log2 = GRANULE_LOG2;
  if (log2 > ALIGN_LOG2_MAX || event->size > HW_HEAP_LARGEST_CLASS_BYTES)
    return 0;
  uint64_t units = (event->size + ((uint64_t)1 << log2) - 1) >> log2;
  *align_log2 = (uint8_t)(log2 - GRANULE_LOG2);
  return (uint16_t)((units ? units : 1) << *align_log2);
}

static uint32_t count_for(struct counting *counting, uint32_t thread, uint16_t granules, uint8_t align_log2)
{
  uint32_t number = hwi_numbering_of(&counting->keys, thread, (uint64_t)granules << ALIGN_KEY_BITS | align_log2);
  bool has_room = number && hwi_grow((void **)&counting->counts, &counting->count_capacity, (size_t)number + 1,
                                     sizeof *counting->counts);
  return has_room ? number : 0;
}

static uint16_t granules_of_count(const struct counting *counting, uint32_t count)
{
  return (uint16_t)(counting->keys.pairs[count].b >> ALIGN_KEY_BITS);
}

/* --- events --- */

static void count_time(struct count *count, uint64_t ns)
{
  count->block_ns += (double)count->live * (double)(ns - count->since_ns);
  count->since_ns = ns;
}

/* `blocks` may be negative, modulo 2^64. */
static void change(struct counting *counting, struct process *process, uint32_t number, uint64_t blocks, uint64_t ns)
{
  struct count *count = &counting->counts[number];
  if (count->peak_id != process->peak_id)
    count->at_peak = count->live;
  count->peak_id = process->peak_id;
  count_time(count, ns);
  count->live += blocks;
  if (count->live > count->most)
    count->most = count->live;
}

static void change_asked(struct process *process, uint64_t bytes, uint64_t ns)
{
  process->byte_ns += (double)process->asked_bytes * (double)(ns - process->since_ns);
  process->since_ns = ns;
  process->asked_bytes += bytes;
  if ((int64_t)bytes <= 0 || process->asked_bytes <= process->peak_asked_bytes)
    return;
  process->peak_asked_bytes = process->asked_bytes;
  process->peak_large_bytes = process->large_bytes;
  process->peak_id++;
}

/* The block at the event's address ends. Returns its count; 0 if it has none. */
static uint32_t end_block(struct counting *counting, const struct hwi_block_event *event)
{
  struct process *process = &counting->processes[event->image];
  struct hwi_live_slot *slot = hwi_live_slot(&process->where, event->address);
  if (!slot->address)
    return 0;
  uint32_t number = slot->number;
  uint64_t bytes = slot->weight * event->size;
  if (number) {
    change(counting, process, number, -(uint64_t)slot->weight, event->ns);
    change_asked(process, -bytes, event->ns);
  } else {
    process->large_bytes -= bytes;
  }
  hwi_live_remove(&process->where, slot);
  return number;
}

/* Returns the count of the block from which a realloc makes this one without a move, or 0. */
static uint32_t stays(const struct counting *counting, const struct thread *thread, const struct hwi_block_event *event)
{
  if (!event->moved || !thread->moving_count || !event->size)
    return 0;
  uint64_t old_bytes = (uint64_t)granules_of_count(counting, thread->moving_count) << GRANULE_LOG2;
  return event->size <= old_bytes && event->size >= old_bytes / 2 ? thread->moving_count : 0;
}

static bool begin_block(struct counting *counting, struct thread *thread, const struct hwi_block_event *event)
{
  struct process *process = &counting->processes[event->image];
  uint8_t align_log2 = 0;
  uint16_t granules = granules_of(event, &align_log2);
  uint32_t number = stays(counting, thread, event);
  if (!hwi_live_grow(&process->where))
    return false;
  struct hwi_live_slot *slot = hwi_live_slot(&process->where, event->address);
  if (slot->address) /* impossible: the replay reports a missed free before */
    return true;
  if (!number && granules)
    number = count_for(counting, event->thread, granules, align_log2);
  if (!number && granules)
    return false;
  *slot = (struct hwi_live_slot){.address = event->address, .number = number, .weight = event->weight};
  process->where.count++;
  uint64_t bytes = hwi_block_bytes(event);
  if (number) {
    counting->request_count += event->weight;
    counting->seen_count++;
    change(counting, process, number, event->weight, event->ns);
    change_asked(process, bytes, event->ns);
  } else {
    process->large_bytes += bytes;
  }
  return true;
}

/* Returns NULL if there is no memory. */
static struct thread *thread_of(struct counting *counting, const struct hwi_block_event *event)
{
  if (!hwi_grow((void **)&counting->threads, &counting->thread_capacity, (size_t)event->thread + 1,
                sizeof *counting->threads))
    return NULL;
  struct thread *thread = &counting->threads[event->thread];
  if (event->thread >= counting->thread_count)
    counting->thread_count = (size_t)event->thread + 1;
  if (!thread->has_called)
    *thread = (struct thread){.first_ns = event->ns, .image = event->image, .has_called = true};
  thread->last_ns = event->ns;
  return thread;
}

static bool apply(struct counting *counting, const struct hwi_block_event *event)
{
  if (!hwi_block_is_call(event)) { /* a missed free may come between the halves of a realloc */
    end_block(counting, event);
    return true;
  }
  struct thread *thread = thread_of(counting, event);
  if (!thread)
    return false;
  bool done = true;
  uint32_t ended = 0;
  if (event->kind == HWI_BLOCK_ALLOC)
    done = begin_block(counting, thread, event);
  else if (event->kind == HWI_BLOCK_FREE)
    ended = end_block(counting, event);
  thread->moving_count = event->moved ? ended : 0;
  return done;
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct counting *counting = context;
  bool is_counted = event->image < counting->profile->image_count && counting->profile->images[event->image].counted;
  if (!is_counted || (event->kind == HWI_BLOCK_ALLOC && !event->address))
    return true;
  struct process *process = &counting->processes[event->image];
  if (!process->where.slots && !hwi_live_init(&process->where))
    counting->failed = true;
  counting->failed = counting->failed || !apply(counting, event);
  return !counting->failed;
}

/* --- owners --- */

static int by_begin(const void *left, const void *right)
{
  const struct thread *a = *(struct thread *const *)left, *b = *(struct thread *const *)right;
  if (a->image != b->image)
    return a->image < b->image ? -1 : 1;
  if (a->first_ns != b->first_ns)
    return a->first_ns < b->first_ns ? -1 : 1;
  return (a > b) - (a < b);
}

/* Gives each thread an owner: one of the same process whose thread has ended, or a new one. Returns how many there are; 0: there is
 * no memory. */
static uint32_t find_owners(struct counting *counting)
{
  struct thread **order = calloc(counting->thread_count + 1, sizeof *order);
  uint64_t *ends = calloc(counting->thread_count + 1, sizeof *ends); /* by owner */
  uint32_t count = 0, first = 0;                                     /* owners; the first one of the process */
  size_t called = 0;
  for (size_t i = 0; order && i < counting->thread_count; i++)
    if (counting->threads[i].has_called)
      order[called++] = &counting->threads[i];
  if (order)
    qsort(order, called, sizeof *order, by_begin);
  for (size_t i = 0; order && ends && i < called; i++) {
    struct thread *thread = order[i];
    if (i > 0 && thread->image != order[i - 1]->image)
      first = count;
    uint32_t owner = first;
    while (owner < count && ends[owner] >= thread->first_ns)
      owner++;
    count += owner == count;
    ends[owner] = thread->last_ns;
    thread->owner = owner;
  }
  bool done = order && ends;
  free(order);
  free(ends);
  return done ? count + !count : 0;
}

/* --- the result --- */

static int by_granules(const void *left, const void *right)
{
  const struct hwi_class_use *a = left, *b = right;
  if (a->granules != b->granules)
    return a->granules < b->granules ? -1 : 1;
  if (a->owner != b->owner)
    return a->owner < b->owner ? -1 : 1;
  return a->align_log2 - b->align_log2;
}

/* Threads that had an owner one after the other become one. */
static void join_uses(struct hwi_class_demand *demand)
{
  size_t count = 0;
  qsort(demand->uses, demand->use_count, sizeof *demand->uses, by_granules);
  for (size_t i = 0; i < demand->use_count; i++) {
    const struct hwi_class_use *use = &demand->uses[i];
    struct hwi_class_use *last = count ? &demand->uses[count - 1] : NULL;
    if (!last || by_granules(last, use) != 0) {
      demand->uses[count++] = *use;
      continue;
    }
    last->peak_blocks += use->peak_blocks;
    last->mean_blocks += use->mean_blocks;
    last->most_blocks = use->most_blocks > last->most_blocks ? use->most_blocks : last->most_blocks;
  }
  demand->use_count = count;
}

static struct hwi_class_use use_of(struct counting *counting, uint32_t number, double run_ns)
{
  const struct hwi_pair *key = &counting->keys.pairs[number];
  const struct thread *thread = &counting->threads[key->a];
  const struct process *process = &counting->processes[thread->image];
  struct count *count = &counting->counts[number];
  if (count->since_ns < counting->profile->duration_ns)
    count_time(count, counting->profile->duration_ns);
  return (struct hwi_class_use){
      .owner = thread->owner,
      .granules = granules_of_count(counting, number),
      .align_log2 = (uint8_t)key->b,
      .peak_blocks = count->peak_id == process->peak_id ? count->at_peak : count->live,
      .most_blocks = count->most,
      .mean_blocks = count->block_ns / run_ns,
  };
}

static bool finish(struct counting *counting, struct hwi_recorded_demand *recorded)
{
  struct hwi_class_demand *demand = &recorded->demand;
  double run_ns = counting->profile->duration_ns ? (double)counting->profile->duration_ns : 1;
  demand->granules = HWI_CLASS_GRANULES;
  demand->owner_count = find_owners(counting);
  demand->use_count = counting->keys.count;
  demand->uses = calloc(demand->use_count + 1, sizeof *demand->uses);
  if (!demand->owner_count || !demand->uses)
    return false;
  for (uint32_t i = 1; i <= counting->keys.count; i++)
    demand->uses[i - 1] = use_of(counting, i, run_ns);
  join_uses(demand);
  recorded->request_count = counting->request_count;
  recorded->seen_count = counting->seen_count;
  for (uint32_t i = 0; i < counting->profile->image_count; i++) {
    struct process *process = &counting->processes[i];
    if (process->since_ns < counting->profile->duration_ns)
      change_asked(process, 0, counting->profile->duration_ns);
    recorded->asked_bytes += process->peak_asked_bytes;
    recorded->large_bytes += process->peak_large_bytes;
    recorded->mean_asked_bytes += process->byte_ns / run_ns;
  }
  return true;
}

static void release(struct counting *counting)
{
  for (uint32_t i = 0; counting->processes && i < counting->profile->image_count; i++)
    if (counting->processes[i].where.slots)
      hwi_live_release(&counting->processes[i].where);
  hwi_numbering_release(&counting->keys);
  free(counting->processes);
  free(counting->counts);
  free(counting->threads);
}

int hwi_recorded_demand_init(struct hwi_recorded_demand *recorded, const struct hwi_profile *profile,
                             const struct hwi_replayer *replayer, struct hwi_error *error)
{
  struct counting counting = {.profile = profile};
  const struct hwi_block_sink sink = {.take = take, .context = &counting};
  *recorded = (struct hwi_recorded_demand){0};
  counting.processes = calloc((size_t)profile->image_count + 1, sizeof *counting.processes);
  int status = counting.processes ? hwi_replayer_run(replayer, profile, &sink, error) : HW_OK;
  if (status == HW_OK && (!counting.processes || counting.failed || !finish(&counting, recorded)))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory to count the blocks of the recording");
  release(&counting);
  if (status < 0)
    hwi_recorded_demand_release(recorded);
  return status;
}

void hwi_recorded_demand_release(struct hwi_recorded_demand *recorded)
{
  free(recorded->demand.uses);
  recorded->demand.uses = NULL;
}
