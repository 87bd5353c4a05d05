/* scopes.c - what threads did in the scopes that the program marked
 *
 * Each thread has a stack of open instances. An event only changes the innermost one; when an instance ends, its
 * figures are added to its path and to the instance around it. So an event costs the same at any depth.
 */
#include "profile/counters/scopes.h"

#include <stdlib.h>

#include "profile/counters/instance_details.h"
#include "profile/counters/tasks.h"
#include "profile/counters/worst_instances.h"
#include "trace/grow.h"
#include "trace/numbering.h"

/* A task that a thread is inside. */
struct entered {
  uint64_t task;
  size_t base;     /* index of its first instance */
  uint64_t beyond; /* of the thread around it */
};

/* A scope that the thread was in lately. */
struct recent_path {
  uint32_t outer, name;
  uint32_t path; /* 0: unused */
  uint32_t context;
};
enum { RECENT_PATHS = 16 };

struct thread_scopes {
  struct hwi_instance_stack open;
  size_t floor;            /* so many do not end by an END event: those up to the one of the task that it is inside */
  struct entered *entered; /* the outermost first */
  size_t entered_count, entered_capacity;
  uint32_t chain;   /* of rules: its scopes are the innermost open ones; 0: none */
  uint32_t context; /* outside of all scopes */
  uint64_t last_ns; /* of its latest event */
  struct recent_path recent[RECENT_PATHS];
};

struct hwi_scopes {
  struct hwi_numbering path_numbers; /* of (outer path, name) */
  struct hwi_scope *paths;           /* [1, path_numbers.count] */
  size_t path_capacity;
  struct hwi_numbering contexts;       /* of (thread, path), plus 1 */
  struct hwi_numbering breach_numbers; /* of (path of the zone, stack and whether it is a free), plus 1 */
  struct hwi_breach *breaches;
  size_t breach_capacity;
  struct thread_scopes *threads;
  size_t thread_count, thread_capacity;
  struct hwi_tasks tasks;
  struct hwi_instance_details details;
  bool has_details;
  const struct hwi_scope_chains *chains; /* NULL: there are no rules */
  uint32_t *rule_names;                  /* by rule: the resolver's number of its name */
};

struct hwi_scopes *hwi_scopes_create(void)
{
  return calloc(1, sizeof(struct hwi_scopes));
}

void hwi_scopes_want_details(struct hwi_scopes *scopes)
{
  scopes->has_details = true;
}

bool hwi_scopes_use_chains(struct hwi_scopes *scopes, const struct hwi_scope_chains *chains, struct hwi_store *names)
{
  bool done = true;
  scopes->chains = chains;
  scopes->rule_names = calloc((size_t)chains->rule_count + 1, sizeof *scopes->rule_names);
  for (uint32_t i = 0; done && scopes->rule_names && i < chains->rule_count; i++)
    done = (scopes->rule_names[i] = hwi_store_intern_text(names, chains->names[i])) != 0;
  return done && scopes->rule_names;
}

static void release_worst(struct hwi_scope *path)
{
  for (int measure = 0; path->worst && measure < HWI_INSTANCE_MEASURES; measure++)
    for (uint32_t i = 0; i < path->worst[measure].count; i++)
      hwi_detail_drop(path->worst[measure].items[i].detail);
  free((void *)path->worst); /* allocated here */
}

static void drop(struct hwi_open_instance *instance)
{
  hwi_detail_drop(instance->all.detail);
  free(instance->text);
}

static void drop_open(const struct hwi_instance_stack *open)
{
  for (size_t i = 0; i < open->count; i++)
    drop(&open->items[i]);
}

static void release_thread(struct thread_scopes *thread)
{
  drop_open(&thread->open);
  free(thread->open.items);
  free(thread->entered);
}

void hwi_scopes_destroy(struct hwi_scopes *scopes)
{
  if (!scopes)
    return;
  for (size_t i = 1; i <= scopes->path_numbers.count; i++)
    release_worst(&scopes->paths[i]);
  free(scopes->paths);
  hwi_numbering_release(&scopes->path_numbers);
  hwi_numbering_release(&scopes->contexts);
  hwi_numbering_release(&scopes->breach_numbers);
  free(scopes->breaches);
  for (size_t i = 0; i < scopes->thread_count; i++)
    release_thread(&scopes->threads[i]);
  free(scopes->threads);
  for (size_t i = 0; i < scopes->tasks.count; i++)
    drop_open(&scopes->tasks.items[i].open);
  hwi_tasks_release(&scopes->tasks);
  hwi_details_release(&scopes->details);
  free(scopes->rule_names);
  free(scopes);
}

/* --- paths and contexts --- */

static bool is_full(const struct hwi_scopes *scopes)
{
  return scopes->path_numbers.count >= HWI_PATHS_MAX;
}

/* Returns 0 if there is no memory, or if there are too many paths. */
static uint32_t find_path(struct hwi_scopes *scopes, uint32_t outer, uint32_t name)
{
  if (is_full(scopes))
    return hwi_numbering_find(&scopes->path_numbers, outer, name);
  if (!hwi_grow((void **)&scopes->paths, &scopes->path_capacity, (size_t)scopes->path_numbers.count + 2,
                sizeof *scopes->paths))
    return 0;
  uint32_t known = scopes->path_numbers.count, path = hwi_numbering_of(&scopes->path_numbers, outer, name);
  if (path > known)
    scopes->paths[path] = (struct hwi_scope){.outer = outer, .depth = outer ? scopes->paths[outer].depth + 1 : 1};
  return path;
}

/* Returns UINT32_MAX if there is no memory. */
static uint32_t find_context(struct hwi_scopes *scopes, uint32_t thread, uint32_t path)
{
  return hwi_numbering_of(&scopes->contexts, thread, path) - 1;
}

/* Finds the path of `name` within `outer`, and its context in the thread; most scopes are begun again soon. The path is 0
 * if it has none. */
static struct recent_path find_recent(struct hwi_scopes *scopes, uint32_t thread, uint32_t outer, uint32_t name)
{
  struct recent_path *recent = &scopes->threads[thread].recent[(outer + name) % RECENT_PATHS];
  if (recent->path && recent->outer == outer && recent->name == name)
    return *recent;
  struct recent_path found = {outer, name, find_path(scopes, outer, name), UINT32_MAX};
  if (found.path)
    found.context = find_context(scopes, thread, found.path);
  if (found.context != UINT32_MAX)
    *recent = found;
  return found;
}

bool hwi_scopes_know_threads(struct hwi_scopes *scopes, size_t count)
{
  if (!hwi_grow((void **)&scopes->threads, &scopes->thread_capacity, count, sizeof *scopes->threads))
    return false;
  for (; scopes->thread_count < count; scopes->thread_count++) {
    struct thread_scopes *thread = &scopes->threads[scopes->thread_count];
    thread->context = find_context(scopes, (uint32_t)scopes->thread_count, 0);
    if (thread->context == UINT32_MAX)
      return false;
  }
  return true;
}

/* --- instances --- */

static bool begin(struct hwi_scopes *scopes, struct hwi_instance_stack *open, const struct hwi_resolved *event,
                  uint64_t ns)
{
  static const struct hwi_open_instance none; /* copied, since gcc clears a struct of this size slowly */
  const struct hwi_open_instance *around = open->count ? &open->items[open->count - 1] : NULL;
  struct recent_path found = {0};
  if (!open->beyond)
    found = find_recent(scopes, event->thread, around ? around->path : 0, (uint32_t)event->size);
  if (!found.path) {
    open->beyond++;
    return open->beyond > 1 || is_full(scopes);
  }
  uint32_t zone = around ? around->zone : 0;
  if (event->entry == HW_SCOPE_BEGIN_FORBIDDEN)
    zone = (uint32_t)open->count + 1;
  if (found.context == UINT32_MAX ||
      !hwi_grow((void **)&open->items, &open->capacity, open->count + 1, sizeof *open->items))
    return false;
  const struct hwi_instance_detail *detail = scopes->has_details ? hwi_detail_take(&scopes->details) : NULL;
  if (scopes->has_details && !detail)
    return false;
  struct hwi_open_instance *begun = &open->items[open->count++];
  *begun = none;
  begun->path = found.path;
  begun->context = found.context;
  begun->zone = zone;
  begun->all.begin_ns = ns;
  begun->all.value = event->usable;
  begun->all.op = event->entry;
  begun->all.thread = event->thread;
  begun->all.sequence = ++scopes->paths[found.path].instances;
  begun->all.detail = detail;
  return true;
}

/* Ends the innermost instance. */
static bool end(struct hwi_scopes *scopes, struct hwi_instance_stack *open, uint64_t ns, bool was_left)
{
  struct hwi_open_instance *ended = &open->items[--open->count];
  struct hwi_scope *path = &scopes->paths[ended->path];
  struct hwi_instance *all = &ended->all;
  uint64_t duration_ns = ns > all->begin_ns ? ns - all->begin_ns : 0, inside_ns = all->duration_ns;
  all->duration_ns = duration_ns;
  all->peak_bytes = (uint64_t)ended->most_net;
  path->left_open += was_left;
  path->duration_ns += duration_ns;
  path->self_ns += duration_ns > inside_ns ? duration_ns - inside_ns : 0;
  path->max_ns = duration_ns > path->max_ns ? duration_ns : path->max_ns;
  path->peak_bytes = all->peak_bytes > path->peak_bytes ? all->peak_bytes : path->peak_bytes;
  path->allocating += all->calls > 0;
  if (all->calls > 0 && all->sequence > path->last_allocating)
    path->last_allocating = all->sequence;
  if (all->calls == 0 && (path->first_quiet == 0 || all->sequence < path->first_quiet))
    path->first_quiet = all->sequence;
  struct hwi_worst *worst = (struct hwi_worst *)path->worst; /* allocated here */
  if (!worst)
    path->worst = worst = calloc(HWI_INSTANCE_MEASURES, sizeof *worst);
  if (worst)
    hwi_worst_rank(worst, all);
  drop(ended);
  if (!worst)
    return false;
  if (open->count == 0)
    return true;
  struct hwi_open_instance *around = &open->items[open->count - 1];
  around->all.duration_ns += duration_ns;
  around->all.calls += all->calls;
  around->all.bytes += all->bytes;
  if (around->all.net_bytes + ended->most_net > around->most_net)
    around->most_net = around->all.net_bytes + ended->most_net;
  around->all.net_bytes += all->net_bytes;
  return true;
}

static bool end_several(struct hwi_scopes *scopes, struct thread_scopes *thread, uint64_t count, uint64_t ns)
{
  bool done = true;
  for (; count > 0 && thread->open.beyond > 0; count--)
    thread->open.beyond--;
  for (; done && count > 0 && thread->open.count > thread->floor; count--)
    done = end(scopes, &thread->open, ns, count > 1);
  return done;
}

/* --- rules --- */

/* Ends the innermost scopes of rules until the chain is left. */
static bool end_rules(struct hwi_scopes *scopes, struct thread_scopes *thread, uint32_t chain)
{
  bool done = true;
  for (; done && thread->chain != chain; thread->chain = scopes->chains->items[thread->chain].outer)
    done = end_several(scopes, thread, 1, thread->last_ns);
  return done;
}

/* Returns the chain of the stack; of one that is not known, `usual`. */
static uint32_t chain_of(const struct hwi_scopes *scopes, uint32_t stack, uint32_t usual)
{
  const struct hwi_scope_chains *chains = scopes->chains;
  const bool is_known = stack < chains->stack_count && chains->by_stack[stack] != HWI_CHAIN_UNKNOWN;
  return is_known ? chains->by_stack[stack] : usual;
}

bool hwi_scopes_leave_rules(struct hwi_scopes *scopes, uint32_t number, uint32_t stack)
{
  if (!scopes->chains)
    return true;
  struct thread_scopes *thread = &scopes->threads[number];
  uint32_t common = thread->chain, chain = chain_of(scopes, stack, common);
  while (common != chain) {
    if (common > chain)
      common = scopes->chains->items[common].outer;
    else
      chain = scopes->chains->items[chain].outer;
  }
  return end_rules(scopes, thread, common);
}

bool hwi_scopes_enter_rules(struct hwi_scopes *scopes, uint32_t number, uint32_t stack, uint64_t ns)
{
  if (!scopes->chains)
    return true;
  struct thread_scopes *thread = &scopes->threads[number];
  const uint32_t chain = chain_of(scopes, stack, thread->chain);
  bool done = true;
  while (done && thread->chain != chain) {
    uint32_t next = chain;
    while (scopes->chains->items[next].outer != thread->chain)
      next = scopes->chains->items[next].outer;
    const struct hwi_resolved begins = {
        .entry = HW_SCOPE_BEGIN, .size = scopes->rule_names[scopes->chains->items[next].rule], .thread = number};
    done = begin(scopes, &thread->open, &begins, ns);
    thread->chain = next;
  }
  return done;
}

bool hwi_scopes_leave_all_rules(struct hwi_scopes *scopes, uint32_t number)
{
  return end_rules(scopes, &scopes->threads[number], 0);
}

/* --- tasks --- */

/* Ends the instances of a task that no thread is inside, and the task. */
static bool end_task(struct hwi_scopes *scopes, struct hwi_task *task, uint64_t ns, bool was_left)
{
  bool done = true;
  while (done && task->open.count > 0)
    done = end(scopes, &task->open, ns, was_left || task->open.count > 1);
  return done && hwi_tasks_remove(&scopes->tasks, task);
}

/* The instance of a task begins outside of all scopes. */
static bool begin_task(struct hwi_scopes *scopes, const struct hwi_resolved *event, uint64_t ns)
{
  bool is_known;
  struct hwi_task *task = hwi_tasks_add(&scopes->tasks, event->usable, &is_known);
  if (!task)
    return is_known; /* two tasks of one number are in forged traces only */
  struct hwi_resolved begins = *event;
  begins.entry = HW_SCOPE_BEGIN;
  begins.usable = 0;
  task->last_ns = ns;
  return begin(scopes, &task->open, &begins, ns);
}

/* Makes the task's instances those of the thread, within the scopes that it is in. A forbidden zone around is about the
 * thread, so it also applies in the task. */
static bool enter(struct hwi_scopes *scopes, const struct hwi_resolved *event)
{
  struct thread_scopes *thread = &scopes->threads[event->thread];
  struct hwi_instance_stack *open = &thread->open;
  struct hwi_task *task = hwi_tasks_find(&scopes->tasks, event->size);
  if (!task || task->is_inside) /* its begin is not in the trace, or it is a forked child's */
    return true;
  if (!hwi_grow((void **)&open->items, &open->capacity, open->count + task->open.count, sizeof *open->items) ||
      !hwi_grow((void **)&thread->entered, &thread->entered_capacity, thread->entered_count + 1,
                sizeof *thread->entered))
    return false;
  thread->entered[thread->entered_count++] = (struct entered){task->number, open->count, open->beyond};
  const uint32_t base = (uint32_t)open->count, zone_around = base ? open->items[base - 1].zone : 0;
  for (size_t i = 0; i < task->open.count; i++) {
    struct hwi_open_instance *item = &open->items[open->count++];
    *item = task->open.items[i];
    item->zone = item->zone ? item->zone + base : zone_around;
    item->all.thread = event->thread;
    item->context = find_context(scopes, event->thread, item->path);
    if (item->context == UINT32_MAX)
      return false;
  }
  thread->floor = open->count > base ? base + 1 : base;
  open->beyond = task->open.beyond;
  task->open.count = 0;
  task->is_inside = true;
  return true;
}

/* Gives the instances of the innermost task that the thread is inside back to it. */
static bool leave_innermost(struct hwi_scopes *scopes, struct thread_scopes *thread, uint64_t ns)
{
  const struct entered entered = thread->entered[--thread->entered_count];
  struct hwi_task *task = hwi_tasks_find(&scopes->tasks, entered.task); /* it cannot have ended */
  struct hwi_instance_stack *from = &thread->open, *to = &task->open;
  const size_t count = from->count - entered.base;
  if (!hwi_grow((void **)&to->items, &to->capacity, count, sizeof *to->items))
    return false;
  for (size_t i = 0; i < count; i++) {
    struct hwi_open_instance *item = &to->items[i];
    *item = from->items[entered.base + i];
    item->zone = item->zone > entered.base ? item->zone - (uint32_t)entered.base : 0;
  }
  to->count = count;
  to->beyond = from->beyond;
  task->last_ns = ns;
  task->is_inside = false;
  from->count = entered.base;
  from->beyond = entered.beyond;
  const struct entered *around = thread->entered_count ? &thread->entered[thread->entered_count - 1] : NULL;
  thread->floor = around ? around->base + 1 : 0;
  return !task->is_finished || end_task(scopes, task, ns, false);
}

static bool is_inside(const struct thread_scopes *thread, uint64_t task)
{
  for (size_t i = 0; i < thread->entered_count; i++)
    if (thread->entered[i].task == task)
      return true;
  return false;
}

/* Also leaves the tasks that the thread entered inside it. */
static bool leave(struct hwi_scopes *scopes, const struct hwi_resolved *event, uint64_t ns)
{
  struct thread_scopes *thread = &scopes->threads[event->thread];
  bool done = true, is_last = !is_inside(thread, event->size);
  while (done && !is_last) {
    is_last = thread->entered[thread->entered_count - 1].task == event->size;
    done = leave_innermost(scopes, thread, ns);
  }
  return done;
}

static bool finish(struct hwi_scopes *scopes, const struct hwi_resolved *event, uint64_t ns)
{
  struct hwi_task *task = hwi_tasks_find(&scopes->tasks, event->size);
  if (!task)
    return true;
  if (!task->is_inside)
    return end_task(scopes, task, ns, false);
  task->is_finished = true;
  return true;
}

static __attribute__((noinline)) bool take_task(struct hwi_scopes *scopes, const struct hwi_resolved *event,
                                                uint64_t ns)
{
  switch (event->entry) {
  case HW_SCOPE_TASK:
    return begin_task(scopes, event, ns);
  case HW_SCOPE_ENTER:
    return enter(scopes, event);
  case HW_SCOPE_LEAVE:
    return leave(scopes, event, ns);
  case HW_SCOPE_FINISH:
    return finish(scopes, event, ns);
  default:
    return true; /* later kinds are skipped */
  }
}

bool hwi_scopes_take(struct hwi_scopes **of, size_t thread_count, const struct hwi_resolved *event, uint64_t ns)
{
  if (!*of && !(*of = hwi_scopes_create()))
    return false;
  struct hwi_scopes *scopes = *of;
  if (thread_count > scopes->thread_count && !hwi_scopes_know_threads(scopes, thread_count))
    return false;
  struct thread_scopes *thread = &scopes->threads[event->thread];
  if (thread->chain && !end_rules(scopes, thread, 0))
    return false;
  thread->last_ns = ns;
  if (event->entry == HW_SCOPE_END)
    return end_several(scopes, thread, event->size, ns);
  if (event->entry <= HW_SCOPE_BEGIN_FORBIDDEN)
    return begin(scopes, &thread->open, event, ns);
  return take_task(scopes, event, ns);
}

bool hwi_scopes_end_thread(struct hwi_scopes *scopes, uint32_t number)
{
  struct thread_scopes *thread = &scopes->threads[number];
  bool done = end_rules(scopes, thread, 0);
  while (done && thread->entered_count > 0)
    done = leave_innermost(scopes, thread, thread->last_ns);
  while (done && thread->open.count > 0)
    done = end(scopes, &thread->open, thread->last_ns, true);
  return done;
}

bool hwi_scopes_end_tasks(struct hwi_scopes *scopes, uint32_t image)
{
  bool done = true;
  for (size_t i = 0; done && i < scopes->tasks.count; i++) {
    struct hwi_task *task = &scopes->tasks.items[i];
    if (task->number && (task->number - 1) >> HWI_TASK_IMAGE_SHIFT == image && !task->is_inside)
      done = end_task(scopes, task, task->last_ns, true);
  }
  return done;
}

uint32_t hwi_scopes_context(const struct hwi_scopes *scopes, uint32_t number)
{
  const struct thread_scopes *thread = &scopes->threads[number];
  return thread->open.count ? thread->open.items[thread->open.count - 1].context : thread->context;
}

struct hwi_context hwi_scopes_context_at(const struct hwi_scopes *scopes, uint32_t context)
{
  const struct hwi_pair *pair = &scopes->contexts.pairs[context + 1];
  return (struct hwi_context){(uint32_t)pair->a, (uint32_t)pair->b};
}

uint32_t hwi_scopes_path(const struct hwi_scopes *scopes, uint32_t number)
{
  const struct thread_scopes *thread = &scopes->threads[number];
  return thread->open.count ? thread->open.items[thread->open.count - 1].path : 0;
}

uint32_t hwi_scopes_outer(const struct hwi_scopes *scopes, uint32_t path)
{
  return scopes->paths[path].outer;
}

const struct hwi_open_instance *hwi_scopes_open_at(const struct hwi_scopes *scopes, uint32_t number, uint32_t depth)
{
  return &scopes->threads[number].open.items[depth];
}

void hwi_scopes_give_text(struct hwi_scopes *scopes, uint32_t number, char *text)
{
  const struct hwi_instance_stack *open = &scopes->threads[number].open;
  open->items[open->count - 1].text = text;
}

uint32_t hwi_scopes_depth(const struct hwi_scopes *scopes, uint32_t number)
{
  return (uint32_t)scopes->threads[number].open.count;
}

uint64_t hwi_scopes_latest_ns(const struct hwi_scopes *scopes, uint32_t number)
{
  return scopes->threads[number].last_ns;
}

void hwi_scopes_pass_time(struct hwi_scopes *scopes, uint32_t number, uint64_t ns)
{
  scopes->threads[number].last_ns = ns;
}

/* --- calls --- */

/* A call of a sample stands for several. */
static uint64_t times_of(const struct hwi_scope_call *call)
{
  return UINT64_C(1) + call->more;
}

static uint64_t bytes_of(const struct hwi_scope_call *call)
{
  return times_of(call) * call->bytes;
}

static struct thread_scopes *thread_of(struct hwi_scopes *scopes, const struct hwi_scope_call *call)
{
  struct thread_scopes *thread = &scopes->threads[call->thread];
  thread->last_ns = call->ns;
  return thread;
}

static __attribute__((noinline)) bool add_breach(struct hwi_scopes *scopes, const struct hwi_open_instance *zone,
                                                 const struct hwi_scope_call *call, bool is_free)
{
  const uint32_t known = scopes->breach_numbers.count;
  if (!hwi_grow((void **)&scopes->breaches, &scopes->breach_capacity, (size_t)known + 1, sizeof *scopes->breaches))
    return false;
  const uint32_t number = hwi_numbering_of(&scopes->breach_numbers, zone->path, (uint64_t)call->stack << 1 | is_free);
  if (!number)
    return false;
  struct hwi_breach *breach = &scopes->breaches[number - 1];
  if (number > known)
    *breach = (struct hwi_breach){.scope = zone->path,
                                  .stack = call->stack,
                                  .is_free = is_free,
                                  .first_ns = call->ns,
                                  .first_instance = zone->all.sequence,
                                  .first_thread = call->thread};
  breach->calls += times_of(call);
  breach->bytes += bytes_of(call);
  return true;
}

/* Notes the call if it is in a forbidden zone. Returns false if there is no memory. */
static inline bool check_zone(struct hwi_scopes *scopes, const struct thread_scopes *thread,
                              const struct hwi_scope_call *call, bool is_free)
{
  const uint32_t zone = thread->open.count ? thread->open.items[thread->open.count - 1].zone : 0;
  return __builtin_expect(!zone, 1) || add_breach(scopes, &thread->open.items[zone - 1], call, is_free);
}

bool hwi_scopes_alloc(struct hwi_scopes *scopes, const struct hwi_scope_call *call)
{
  struct thread_scopes *thread = thread_of(scopes, call);
  if (thread->open.count == 0)
    return true;
  struct hwi_open_instance *open = &thread->open.items[thread->open.count - 1];
  open->all.calls += times_of(call);
  open->all.bytes += bytes_of(call);
  open->all.net_bytes += (int64_t)bytes_of(call);
  if (open->all.net_bytes > open->most_net)
    open->most_net = open->all.net_bytes;
  if (open->all.detail)
    hwi_detail_count(open->all.detail, call->bytes, (int64_t)times_of(call));
  return check_zone(scopes, thread, call, false);
}

bool hwi_scopes_free(struct hwi_scopes *scopes, const struct hwi_scope_call *call)
{
  struct thread_scopes *thread = thread_of(scopes, call);
  if (thread->open.count == 0)
    return true;
  struct hwi_open_instance *open = &thread->open.items[thread->open.count - 1];
  struct hwi_scope *path = &scopes->paths[open->path];
  path->free_calls += times_of(call);
  path->freed_blocks += call->stack ? times_of(call) : 0;
  path->freed_bytes += bytes_of(call);
  open->all.net_bytes -= (int64_t)bytes_of(call);
  if (open->all.detail && call->stack)
    hwi_detail_count(open->all.detail, call->bytes, -(int64_t)times_of(call));
  return check_zone(scopes, thread, call, true);
}

bool hwi_scopes_failed(struct hwi_scopes *scopes, const struct hwi_scope_call *call)
{
  const struct thread_scopes *thread = thread_of(scopes, call);
  if (thread->open.count == 0)
    return true;
  scopes->paths[thread->open.items[thread->open.count - 1].path].failed_calls++;
  return check_zone(scopes, thread, call, false);
}

/* --- spans and results --- */

static void restart_open(struct hwi_scopes *scopes, const struct hwi_instance_stack *open)
{
  for (size_t i = 0; i < open->count; i++) {
    struct hwi_open_instance *item = &open->items[i];
    item->most_net = 0;
    item->all.calls = item->all.bytes = 0;
    item->all.net_bytes = 0;
    item->all.sequence = ++scopes->paths[item->path].instances;
    if (item->all.detail)
      hwi_detail_clear(item->all.detail);
  }
}

void hwi_scopes_restart(struct hwi_scopes *scopes)
{
  for (size_t i = 1; i <= scopes->path_numbers.count; i++) {
    struct hwi_scope *path = &scopes->paths[i];
    release_worst(path);
    *path = (struct hwi_scope){.outer = path->outer, .depth = path->depth};
  }
  hwi_numbering_release(&scopes->breach_numbers);
  for (size_t i = 0; i < scopes->thread_count; i++)
    restart_open(scopes, &scopes->threads[i].open);
  for (size_t i = 0; i < scopes->tasks.count; i++)
    restart_open(scopes, &scopes->tasks.items[i].open);
}

const struct hwi_breach *hwi_scopes_breaches(const struct hwi_scopes *scopes, uint32_t *count)
{
  *count = scopes->breach_numbers.count;
  return scopes->breaches;
}

struct hwi_scope *hwi_scopes_paths(struct hwi_scopes *scopes, uint32_t *count)
{
  *count = scopes->path_numbers.count + 1;
  for (size_t i = 1; i < *count; i++)
    for (int measure = 0; scopes->paths[i].worst && measure < HWI_INSTANCE_MEASURES; measure++)
      hwi_worst_order((struct hwi_worst *)&scopes->paths[i].worst[measure], (enum hwi_instance_measure)measure);
  return scopes->paths;
}

uint32_t hwi_scopes_name(const struct hwi_scopes *scopes, uint32_t path)
{
  return (uint32_t)scopes->path_numbers.pairs[path].b;
}
