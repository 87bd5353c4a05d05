/* findings.c - what stands out in a profile: what an engineer would point at
 *
 * growth         a stack whose minimum kept rising through the last seven tenths of the run: see growth.h.
 * real time      a thread under a real-time policy that allocated or freed after its first second.
 * failed         calls for which there was no memory.
 * giant          one block is a fifth of the peak.
 * churn          most allocations are freed at once, and they are many.
 * foreign frees  a thread frees many blocks of other threads.
 *
 * findings_memory.c finds memory beyond the requested bytes, findings_advice.c finds possible changes. The limits below
 * avoid findings about programs that only start, work and end.
 */
#include "report/findings.h"

#include <sched.h>

#include "report/evidence.h"

enum {
  GROWTH_CALLS_MIN = 20,
  GROWTH_PEAK_SHARE = 1000, /* the growth is at least this part of the peak */
  GROWTH_MAX = 2,
  REAL_TIME_MAX = 3,
  GIANT_PEAK_PERCENT = 20,
  GIANT_BYTES_MIN = 1000000,
  CHURN_PERCENT = 50,
  MANY_CALLS = 10000,
  FOREIGN_PERCENT = 10,
};
static const uint64_t NS_AN_HOUR = UINT64_C(3600000000000), GROWTH_NS_MIN = UINT64_C(10000000000);

void hwi_findings_add(struct hwi_findings *findings, struct hwi_finding finding)
{
  if (findings->count < HWI_FINDINGS_MAX)
    findings->items[findings->count++] = finding;
}

bool hwi_is_share(uint64_t part, uint64_t whole, unsigned percent)
{
  return (double)part * 100 >= (double)whole * percent;
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
        growing->to_bytes - growing->from_bytes < profile->totals.peak_bytes / GROWTH_PEAK_SHARE)
      continue;
    uint64_t from_ns = growing->from_ns > stack->first_ns ? growing->from_ns : stack->first_ns;
    hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_GROWTH,
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
    hwi_findings_add(findings,
                     (struct hwi_finding){.kind = HWI_FINDING_REAL_TIME,
                                          .thread = i,
                                          .figures = {thread->late_allocation_calls, thread->late_free_calls}});
    added++;
  }
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

uint32_t hwi_findings_most(const struct hwi_profile *profile, uint64_t (*figure_of)(const struct hwi_stack *stack))
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
    hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_FAILED,
                                                    .stack = hwi_findings_most(profile, failed_of),
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
  if (bytes >= GIANT_BYTES_MIN && hwi_is_share(bytes, profile->totals.peak_bytes, GIANT_PEAK_PERCENT))
    hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_GIANT, .stack = stack, .figures = {bytes}});
}

static void find_churn(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  const struct hwi_totals *totals = &profile->totals;
  uint32_t stack = hwi_findings_most(profile, temporary_of);
  if (stack != 0 && totals->temporary_calls >= MANY_CALLS &&
      hwi_is_share(totals->temporary_calls, totals->allocation_calls, CHURN_PERCENT))
    hwi_findings_add(
        findings, (struct hwi_finding){.kind = HWI_FINDING_CHURN,
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
  if (all >= MANY_CALLS && hwi_is_share(all, profile->totals.free_calls, FOREIGN_PERCENT))
    hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_FOREIGN_FREES,
                                                    .thread = best,
                                                    .figures = {profile->threads[best].foreign_frees, all}});
}

void hwi_findings_find(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  *findings = (struct hwi_findings){.count = 0};
  if (profile->stack_count == 0)
    return;
  find_growth(findings, profile);
  find_real_time(findings, profile);
  find_failed(findings, profile);
  find_giant(findings, profile);
  hwi_findings_look_at_memory(findings, profile);
  find_churn(findings, profile);
  find_foreign_frees(findings, profile);
  hwi_findings_advise(findings, profile);
}

/* --- JSON --- */

static const struct {
  const char *kind;
  const char *figures[HWI_FINDING_FIGURES]; /* NULL: no more figures */
  bool of_thread;
} names[HWI_FINDING_KINDS] = {
    [HWI_FINDING_GROWTH] = {"growth", {"bytes_per_hour", "from_ns", "live_bytes"}, false},
    [HWI_FINDING_REAL_TIME] = {"real_time", {"late_allocation_calls", "late_free_calls"}, true},
    [HWI_FINDING_FAILED] = {"failed", {"failed_calls"}, false},
    [HWI_FINDING_GIANT] = {"giant", {"bytes"}, false},
    [HWI_FINDING_RSS_GAP] = {"rss_gap", {"gap_bytes", "rss_bytes", "part_bytes", "time_ns"}, false},
    [HWI_FINDING_SLACK] = {"slack", {"slack_bytes", "size", "usable_size", "blocks"}, false},
    [HWI_FINDING_CHURN] = {"churn", {"temporary_calls", "stack_temporary_calls"}, false},
    [HWI_FINDING_FOREIGN_FREES] = {"foreign_frees", {"foreign_frees", "all_foreign_frees"}, true},
    [HWI_FINDING_RESERVE] = {"reserve", {"saved_calls", "saved_bytes", "median_size", "largest_size"}, false},
    [HWI_FINDING_CONTAINER] = {"container_growth",
                               {"saved_calls", "saved_bytes", "median_size", "largest_size"},
                               false},
    [HWI_FINDING_ARENA] = {"arena", {"saved_calls", "blocks", "generations", "largest_bytes"}, false},
    [HWI_FINDING_INLINE_BUFFER] = {"inline_buffer", {"saved_calls", "largest"}, false},
};

/* Writes into the object begun last. */
static void write_finding(struct hwi_json *json, const struct hwi_profile *profile,
                          const struct hwi_json_stacks *stacks, const struct hwi_finding *finding)
{
  for (int i = 0; i < HWI_FINDING_FIGURES && names[finding->kind].figures[i]; i++)
    hwi_json_number(json, names[finding->kind].figures[i], finding->figures[i]);
  if (finding->part)
    hwi_json_text(json, "part", finding->part);
  if (names[finding->kind].of_thread) {
    const struct hwi_profile_thread *thread = &profile->threads[finding->thread];
    hwi_json_text(json, "thread", thread->name);
    hwi_json_number(json, "tid", thread->tid);
  }
  if (finding->stack != 0)
    stacks->tell(stacks->context, json, finding->stack);
}

void hwi_json_findings(struct hwi_json *json, const struct hwi_report *report, const struct hwi_json_stacks *stacks)
{
  struct hwi_findings findings;
  struct hwi_line lines[HWI_FINDINGS_MAX];
  hwi_findings_find(&findings, report->profile);
  json->failed |= hwi_findings_word(&findings, report, lines, NULL) < 0;
  hwi_json_begin_array(json, "findings");
  for (uint32_t i = 0; i < findings.count; i++) {
    const struct hwi_finding *finding = &findings.items[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "kind", names[finding->kind].kind);
    hwi_json_text(json, "label", hwi_finding_label(finding->kind));
    hwi_json_text(json, "text", hwi_line_text(&lines[i]));
    write_finding(json, report->profile, stacks, finding);
    hwi_json_end_object(json);
    json->failed |= lines[i].failed;
    hwi_line_release(&lines[i]);
  }
  hwi_json_end_array(json);
}
