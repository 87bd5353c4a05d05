/* findings.c - what stands out in a profile: what an engineer would point at
 *
 * forbidden      a thread allocated or freed in a forbidden zone (HW_NO_ALLOC).
 * growth         a stack whose lowest live bytes rose from each tenth of the run to the next, over the last seven
 *                tenths: see growth.h.
 * real time      a thread under a real-time policy that allocated or freed after its first second.
 * warm-up        only the first instances of a scope that the program marked allocate, or hardly any of the later ones.
 * failed         calls for which there was no memory.
 * giant          one block is a fifth of the peak.
 * churn          most allocations are freed at once, and they are many.
 * foreign frees  a thread frees many blocks of other threads.
 *
 * Memory that the program did not request:
 *
 * RSS gap        much of the resident memory (without the recorder's) is in no block: at the peak, or at the time of
 *                the largest gap if that is clearly larger, such as after most blocks were freed. Its largest part is
 *                named. Pages of files, such as code or a mapped database, do not count: the kernel can take them back
 *                at any time.
 * slack          usable sizes are much larger than the requested sizes; the block size with most of the difference is
 *                named.
 *
 * Advice names a change, with what it would have saved in this run:
 *
 * reserve        blocks grow by realloc, step by step, to sizes that could have been allocated at once.
 * container      the same for what seems to be the growth of containers: see resizes.h.
 * arena          blocks of one stack are freed together: see sweeps.h. One large block for each group of them would be
 *                enough.
 * inline buffer  a stack's many small blocks have very short lives: the object that owns them could contain their
 *                memory.
 *
 * The limits below avoid findings about programs that only start, work and end.
 */
#include "report/content/findings.h"

#include <sched.h>

#include "report/content/evidence.h"
#include "report/content/rss_parts.h"
#include "report/selection/figures.h"

enum {
  FORBIDDEN_MAX = 3,
  GROWTH_CALLS_MIN = 20,
  GROWTH_PEAK_DIVISOR = 1000, /* the growth is at least 1/1000 of the peak */
  GROWTH_MAX = 2,
  REAL_TIME_MAX = 3,
  SCOPE_INSTANCES_MIN = 20,
  WARM_UP_DIVISOR = 10, /* at most a tenth of the instances are the warm-up, and at most a tenth allocate later */
  GIANT_PEAK_PERCENT = 20,
  GIANT_BYTES_MIN = 1000000,
  CHURN_PERCENT = 50,
  MANY_CALLS = 10000,
  FOREIGN_PERCENT = 10,

  GAP_PERCENT = 25, /* of the resident memory without files */
  GAP_BYTES_MIN = 64000000,
  MORE_PERCENT = 110, /* of the gap at the peak: a gap this large at another time is reported instead */
  SLACK_PERCENT = 20, /* of the requested bytes */
  SLACK_BYTES_MIN = 1000000,

  CALLS_PERCENT = 10, /* of the run's calls: below it, no advice is given */
  INLINE_BYTES_MAX = 64,
  INLINE_SHORT_PERCENT = 95, /* of the blocks must live for less than a millisecond */
  INLINE_LIVE_MAX = 100,     /* blocks of the largest size at once */
  GROWN_PERCENT = 10,        /* of the blocks replaced a smaller one: then the block is a growing buffer */
  COPIED_BYTES_MIN = 1000000,
  COPIED_PERCENT = 5, /* of all bytes allocated */
  ARENA_PERCENT = 90, /* of the stack's blocks */
  ARENA_GENERATION_MIN = 100,
};
static const uint64_t NS_AN_HOUR = UINT64_C(3600000000000), GROWTH_NS_MIN = UINT64_C(10000000000);

static void add(struct hwi_findings *findings, struct hwi_finding finding)
{
  if (findings->count < HWI_FINDINGS_MAX)
    findings->items[findings->count++] = finding;
}

/* Whether `part` is at least `percent` of `whole`. */
static bool is_share(uint64_t part, uint64_t whole, unsigned percent)
{
  return (double)part * 100 >= (double)whole * percent;
}

/* --- forbidden zones --- */

/* Returns the finding about the zone, or NULL. */
static struct hwi_finding *finding_of_zone(struct hwi_findings *findings, uint32_t scope)
{
  for (uint32_t i = 0; i < findings->count; i++) {
    if (findings->items[i].scope == scope)
      return &findings->items[i];
  }
  return NULL;
}

/* One finding for each zone, with the first call in it. */
static void find_forbidden(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  for (uint32_t i = 0; i < profile->breach_count; i++) {
    const struct hwi_breach *breach = &profile->breaches[i];
    struct hwi_finding *finding = finding_of_zone(findings, breach->scope);
    if (!finding && findings->count == FORBIDDEN_MAX)
      continue;
    if (!finding) {
      finding = &findings->items[findings->count];
      add(findings, (struct hwi_finding){.kind = HWI_FINDING_FORBIDDEN,
                                         .stack = breach->stack,
                                         .thread = breach->first_thread,
                                         .scope = breach->scope,
                                         .figures = {0, 0, breach->first_instance, breach->first_ns}});
    }
    finding->figures[breach->is_free] += breach->calls;
  }
}

/* --- growth --- */

static uint64_t bytes_an_hour(const struct hwi_growing *growing)
{
  uint64_t ns = growing->to_ns - growing->from_ns;
  double rate = ns > 0 ? (double)(growing->to_bytes - growing->from_bytes) * (double)NS_AN_HOUR / (double)ns : 0;
  return rate < (double)INT64_MAX ? (uint64_t)rate : INT64_MAX;
}

/* For one process only: the memory that a short child keeps until its end is not growth of the run. */
static void find_growth(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  uint32_t counted, added = 0;
  hwi_largest_image(profile, &counted);
  if (counted != 1 || profile->duration_ns < GROWTH_NS_MIN) /* a shorter run is only start-up */
    return;
  for (uint32_t i = 0; i < profile->growing_count && added < GROWTH_MAX; i++) {
    const struct hwi_growing *growing = &profile->growing[i];
    const struct hwi_stack *stack = &profile->stacks[growing->stack];
    if (stack->calls < GROWTH_CALLS_MIN ||
        growing->to_bytes - growing->from_bytes < profile->totals.peak_bytes / GROWTH_PEAK_DIVISOR)
      continue;
    uint64_t from_ns = growing->from_ns > stack->first_ns ? growing->from_ns : stack->first_ns;
    add(findings, (struct hwi_finding){.kind = HWI_FINDING_GROWTH,
                                       .stack = growing->stack,
                                       .figures = {bytes_an_hour(growing), from_ns, stack->live_bytes}});
    added++;
  }
}

/* --- real time --- */

const char *hwi_real_time_policy(uint8_t policy)
{
  switch (policy) {
  case SCHED_FIFO:
    return "FIFO";
  case SCHED_RR:
    return "RR";
  case SCHED_DEADLINE:
    return "DEADLINE";
  default:
    return NULL;
  }
}

static void find_real_time(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  for (uint32_t i = 0, added = 0; i < profile->thread_count && added < REAL_TIME_MAX; i++) {
    const struct hwi_profile_thread *thread = &profile->threads[i];
    if (!hwi_real_time_policy(thread->policy) || thread->late_allocation_calls + thread->late_free_calls == 0)
      continue;
    add(findings, (struct hwi_finding){.kind = HWI_FINDING_REAL_TIME,
                                       .thread = i,
                                       .figures = {thread->late_allocation_calls, thread->late_free_calls}});
    added++;
  }
}

/* --- warm-up --- */

/* Returns how many instances allocate before the first one that does not. */
static uint64_t warm_up_of(const struct hwi_scope *scope)
{
  const uint64_t before = scope->first_quiet ? scope->first_quiet - 1 : scope->instances;
  return before < scope->allocating ? before : scope->allocating; /* an earlier one may not have ended */
}

static uint64_t late_of(const struct hwi_scope *scope)
{
  return scope->allocating - warm_up_of(scope);
}

static bool has_warm_up(const struct hwi_scope *scope)
{
  const uint64_t most = scope->instances / WARM_UP_DIVISOR;
  return scope->instances >= SCOPE_INSTANCES_MIN && scope->allocating > 0 && warm_up_of(scope) <= most &&
         late_of(scope) <= most;
}

/* Whether `a` is the more important path: one that still allocates, with the most instances. Of equal ones, the inner
 * path says more exactly where. */
static bool is_more_important(const struct hwi_scope *a, const struct hwi_scope *b)
{
  const bool a_is_late = late_of(a) > 0, b_is_late = late_of(b) > 0;
  if (a_is_late != b_is_late)
    return a_is_late;
  return a->instances != b->instances ? a->instances > b->instances : a->depth > b->depth;
}

static void find_warm_up(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  const struct hwi_scope *best = NULL;
  for (uint32_t i = 1; i < profile->scope_count; i++) {
    const struct hwi_scope *scope = &profile->scopes[i];
    if (has_warm_up(scope) && (!best || is_more_important(scope, best)))
      best = scope;
  }
  if (best && !profile->sample_bytes) /* a sample does not show which instances allocate */
    add(findings,
        (struct hwi_finding){.kind = HWI_FINDING_WARM_UP,
                             .scope = (uint32_t)(best - profile->scopes),
                             .figures = {best->instances, best->allocating, warm_up_of(best), best->last_allocating}});
}

/* --- a stack with the most of something --- */

static uint64_t failed_of(const struct hwi_stack *stack)
{
  return stack->failed_calls;
}

static uint64_t temporary_of(const struct hwi_stack *stack)
{
  return stack->temporary_calls;
}

/* Returns the stack with the largest figure, or 0 if it is 0 for all. */
static uint32_t stack_with_most(const struct hwi_profile *profile, uint64_t (*figure_of)(const struct hwi_stack *stack))
{
  uint32_t best = 0;
  uint64_t best_figure = 0;
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    uint64_t figure = figure_of(&profile->stacks[i]);
    if (figure > best_figure) {
      best = i;
      best_figure = figure;
    }
  }
  return best;
}

static void find_failed(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  if (profile->totals.failed_calls > 0)
    add(findings, (struct hwi_finding){.kind = HWI_FINDING_FAILED,
                                       .stack = stack_with_most(profile, failed_of),
                                       .figures = {profile->totals.failed_calls}});
}

/* The largest block of the peak. There may be others of its size. */
static void find_giant(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  uint64_t bytes = 0;
  uint32_t stack = 0;
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    if (cell->peak_blocks > 0 && profile->sizes[cell->size].size > bytes) {
      bytes = profile->sizes[cell->size].size;
      stack = cell->stack;
    }
  }
  if (bytes >= GIANT_BYTES_MIN && is_share(bytes, profile->totals.peak_bytes, GIANT_PEAK_PERCENT))
    add(findings, (struct hwi_finding){.kind = HWI_FINDING_GIANT, .stack = stack, .figures = {bytes}});
}

static void find_churn(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  const struct hwi_totals *totals = &profile->totals;
  uint32_t stack = stack_with_most(profile, temporary_of);
  if (stack != 0 && totals->temporary_calls >= MANY_CALLS &&
      is_share(totals->temporary_calls, hwi_amount_of_run(profile).calls, CHURN_PERCENT))
    add(findings, (struct hwi_finding){.kind = HWI_FINDING_CHURN,
                                       .stack = stack,
                                       .figures = {totals->temporary_calls, profile->stacks[stack].temporary_calls}});
}

/* --- foreign frees --- */

static void find_foreign_frees(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  uint64_t all = 0;
  uint32_t best = 0;
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    all += profile->threads[i].foreign_frees;
    if (profile->threads[i].foreign_frees > profile->threads[best].foreign_frees)
      best = i;
  }
  if (all >= MANY_CALLS && is_share(all, profile->totals.free_calls, FOREIGN_PERCENT))
    add(findings, (struct hwi_finding){.kind = HWI_FINDING_FOREIGN_FREES,
                                       .thread = best,
                                       .figures = {profile->threads[best].foreign_frees, all}});
}

/* --- memory beyond the requested bytes --- */

struct gap {
  uint64_t bytes, resident, part_bytes;
  const char *part;
};

/* Returns an empty gap if it is too small to stand out, or not known. */
static struct gap gap_at(const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  if (!point || point->sample.mapped == 0 || !hwi_rss_has_live(profile, point))
    return (struct gap){0};
  struct hwi_rss_parts parts = hwi_rss_parts_of(profile, point);
  const struct {
    const char *name;
    uint64_t bytes;
  } items[] = {{"free_bytes", parts.free},
               {"own_mapped_bytes", parts.own},
               {"rounding_bytes", parts.rounding},
               {"stack_bytes", parts.stacks},
               {"other_bytes", parts.other}};
  size_t largest = 0;
  struct gap gap = {.resident = point->sample.mapped - parts.recorder};
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    largest = items[i].bytes > items[largest].bytes ? i : largest;
    gap.bytes += items[i].bytes;
  }
  gap.part = items[largest].name;
  gap.part_bytes = items[largest].bytes;
  return gap.bytes >= GAP_BYTES_MIN && is_share(gap.bytes, gap.resident - parts.files, GAP_PERCENT) ? gap
                                                                                                    : (struct gap){0};
}

static void find_rss_gap(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  uint32_t counted;
  const struct hwi_image *image = hwi_largest_image(profile, &counted);
  if (counted != 1)
    return;
  const struct hwi_trace_info *info = image->info;
  const struct hwi_rss_point *at = hwi_rss_point_of_peak(profile, info);
  struct gap at_peak = gap_at(profile, at), most = at_peak;
  for (uint32_t i = 0; i < info->rss_count; i++) {
    struct gap gap = gap_at(profile, &info->rss[i]);
    if (gap.bytes > most.bytes && gap.bytes / MORE_PERCENT * 100 > at_peak.bytes) {
      at = &info->rss[i];
      most = gap;
    }
  }
  if (most.bytes == 0)
    return;
  uint64_t time_ns = hwi_rss_is_of_peak(profile, at) ? profile->totals.peak_time_ns : at->ns;
  add(findings, (struct hwi_finding){.kind = HWI_FINDING_RSS_GAP,
                                     .figures = {most.bytes, most.resident, most.part_bytes, time_ns},
                                     .part = most.part});
}

static uint64_t slack_of(const struct hwi_size *size)
{
  uint64_t asked = size->peak_blocks * size->size;
  return size->peak_usable > asked ? size->peak_usable - asked : 0;
}

static uint64_t slack_of_stack(const struct hwi_stack *stack)
{
  return stack->peak_usable > stack->peak_bytes ? stack->peak_usable - stack->peak_bytes : 0;
}

static void find_slack(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  const struct hwi_totals *totals = &profile->totals;
  const struct hwi_size *most = NULL;
  for (uint32_t i = 0; i < profile->size_count; i++) {
    if (slack_of(&profile->sizes[i]) > (most ? slack_of(most) : 0))
      most = &profile->sizes[i];
  }
  uint64_t slack = totals->peak_usable_bytes > totals->peak_bytes ? totals->peak_usable_bytes - totals->peak_bytes : 0;
  if (!most || slack < SLACK_BYTES_MIN || !is_share(slack, totals->peak_bytes, SLACK_PERCENT))
    return;
  add(findings,
      (struct hwi_finding){.kind = HWI_FINDING_SLACK,
                           .stack = stack_with_most(profile, slack_of_stack),
                           .figures = {slack, most->size, most->peak_usable / most->peak_blocks, most->peak_blocks}});
}

/* --- advice: growth that could have been reserved --- */

static bool is_worth_reserving(const struct hwi_profile *profile, const struct hwi_resizes *steps)
{
  bool is_much_copied = steps->grown_copied_bytes >= COPIED_BYTES_MIN &&
                        is_share(steps->grown_copied_bytes, profile->totals.allocated_bytes, COPIED_PERCENT);
  bool is_often_called =
      steps->grown >= MANY_CALLS && is_share(steps->grown, profile->totals.allocation_calls, CALLS_PERCENT);
  return is_much_copied || is_often_called;
}

static void find_reserve(struct hwi_findings *findings, const struct hwi_profile *profile, bool estimated)
{
  const struct hwi_stack_resizes *best = NULL;
  for (uint32_t i = 0; i < profile->resize_count; i++) {
    const struct hwi_stack_resizes *item = &profile->resizes[i];
    if (item->estimated != estimated || !is_worth_reserving(profile, &item->steps))
      continue;
    if (!best || item->steps.grown_copied_bytes > best->steps.grown_copied_bytes)
      best = item;
  }
  if (!best)
    return;
  add(findings, (struct hwi_finding){.kind = estimated ? HWI_FINDING_CONTAINER : HWI_FINDING_RESERVE,
                                     .stack = best->stack,
                                     .figures = {best->steps.grown, best->steps.grown_copied_bytes, best->final_median,
                                                 best->final_largest}});
}

/* --- advice: arenas --- */

static void find_arena(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  const struct hwi_together *best = NULL;
  for (uint32_t i = 0; i < profile->together_count; i++) {
    const struct hwi_together *item = &profile->together[i];
    if (item->blocks >= MANY_CALLS && item->blocks / item->generations >= ARENA_GENERATION_MIN &&
        is_share(item->blocks, profile->stacks[item->stack].calls, ARENA_PERCENT) &&
        (!best || item->blocks > best->blocks))
      best = item;
  }
  if (!best || !is_share(best->blocks, profile->totals.allocation_calls, CALLS_PERCENT))
    return;
  add(findings, (struct hwi_finding){.kind = HWI_FINDING_ARENA,
                                     .stack = best->stack,
                                     .figures = {best->blocks - best->generations, best->blocks, best->generations,
                                                 best->largest_bytes}});
}

/* --- advice: inline buffers --- */

/* Returns the calls that an inline buffer would save. If INLINE_LIVE_MAX blocks or more are live at once, no object has
 * room for them. */
static uint64_t calls_saved_inline(const struct hwi_stack *stack)
{
  uint64_t short_lived = stack->lifetimes[HWI_LIFETIME_TEMPORARY] + stack->lifetimes[HWI_LIFETIME_BELOW_1MS];
  bool fits = stack->largest <= INLINE_BYTES_MAX && stack->own_peak_bytes < INLINE_LIVE_MAX * stack->largest &&
              is_share(short_lived, stack->calls, INLINE_SHORT_PERCENT);
  return fits ? stack->calls : 0;
}

/* Whether the stack's blocks grow into larger ones: room for one of them would not be enough. profile->resizes is by
 * stack; the search continues at *next_resize. */
static bool grows(const struct hwi_profile *profile, uint32_t stack, uint32_t *next_resize)
{
  while (*next_resize < profile->resize_count && profile->resizes[*next_resize].stack < stack)
    ++*next_resize;
  return *next_resize < profile->resize_count && profile->resizes[*next_resize].stack == stack &&
         is_share(profile->resizes[*next_resize].steps.grown, profile->stacks[stack].calls, GROWN_PERCENT);
}

static void find_inline_buffer(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  uint32_t number = 0, next_resize = 0;
  uint64_t most = 0;
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    uint64_t saved = calls_saved_inline(&profile->stacks[i]);
    if (saved <= most || grows(profile, i, &next_resize))
      continue;
    number = i;
    most = saved;
  }
  const struct hwi_stack *stack = number ? &profile->stacks[number] : NULL;
  if (stack && stack->calls >= MANY_CALLS && is_share(stack->calls, profile->totals.allocation_calls, CALLS_PERCENT))
    add(findings, (struct hwi_finding){
                      .kind = HWI_FINDING_INLINE_BUFFER, .stack = number, .figures = {stack->calls, stack->largest}});
}

/* --- all --- */

void hwi_findings_find(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  *findings = (struct hwi_findings){.count = 0};
  if (profile->stack_count == 0)
    return;
  find_forbidden(findings, profile);
  find_growth(findings, profile);
  find_real_time(findings, profile);
  find_warm_up(findings, profile);
  find_failed(findings, profile);
  find_giant(findings, profile);
  if (profile->heap) /* the others are about the memory of malloc, and what its calls cost */
    return;
  find_rss_gap(findings, profile);
  find_slack(findings, profile);
  find_churn(findings, profile);
  find_foreign_frees(findings, profile);
  find_reserve(findings, profile, false);
  find_reserve(findings, profile, true);
  find_arena(findings, profile);
  find_inline_buffer(findings, profile);
}
