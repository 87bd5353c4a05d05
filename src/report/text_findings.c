/* text_findings.c - "What stands out": what an engineer would point at, from what the model knows; silent when nothing does
 *
 * grows      a stack whose minimum kept rising through the last seven tenths of the run: see growth.h.
 * real time  a thread under a real-time policy that allocated.
 * failed     calls for which there was no memory.
 * churn      most allocations are freed at once, and many they are.
 * The limits below keep programs that just start, work and end from being accused.
 */
#include <sched.h>
#include <string.h>

#include "report/text.h"

enum {
  GROWTH_CALLS_MIN = 20,
  GROWTH_PEAK_SHARE = 1000, /* what was gained is at least this part of the peak */
  GROWTH_SHOWN = 2,
  CHURN_PERCENT = 50,
  CHURN_CALLS_MIN = 10000,
  THREADS_SHOWN = 3,
  LABEL_CELLS = 13,
  WHO_CELLS = 83,
};
static const uint64_t GROWTH_NS_MIN = UINT64_C(1000000000); /* a shorter run is all start */

struct findings {
  struct hwi_text *text;
  struct hwi_named_frames *frames;
  bool any;
};

static void begin_finding(struct findings *findings, const char *label)
{
  struct hwi_text *text = findings->text;
  if (!findings->any) {
    hwi_line_puts(&text->line, "What stands out");
    hwi_text_end(text, HWI_BOLD);
  }
  findings->any = true;
  hwi_line_puts(&text->line, "  ");
  hwi_line_left(&text->line, label, LABEL_CELLS - 2);
}

static void end_finding(struct findings *findings)
{
  hwi_text_end_wrapped(findings->text, LABEL_CELLS, HWI_PLAIN);
}

/* "TrackStore::add (tracks.cpp:88)" */
static void add_who(struct findings *findings, uint32_t stack)
{
  hwi_text_who(findings->text, findings->frames, stack, WHO_CELLS);
}

/* --- grows --- */

static bool is_worth_a_line(const struct hwi_profile *profile, const struct hwi_growing *growing)
{
  return profile->duration_ns >= GROWTH_NS_MIN && profile->stacks[growing->stack].calls >= GROWTH_CALLS_MIN &&
         growing->to_bytes - growing->from_bytes >= profile->totals.peak_bytes / GROWTH_PEAK_SHARE;
}

/* Of one process alone: what a short child keeps until its end is no growth of the run. */
static void find_growth(struct findings *findings)
{
  const struct hwi_profile *profile = findings->text->profile;
  uint32_t count = findings->text->counted == 1 ? profile->growing_count : 0;
  int shown = 0;
  for (uint32_t i = 0; i < count && shown < GROWTH_SHOWN; i++) {
    const struct hwi_growing *growing = &profile->growing[i];
    const struct hwi_stack *stack = &profile->stacks[growing->stack];
    if (!is_worth_a_line(profile, growing))
      continue;
    uint64_t from_ns = growing->from_ns > stack->first_ns ? growing->from_ns : stack->first_ns;
    begin_finding(findings, "grows");
    add_who(findings, growing->stack);
    hwi_line_printf(&findings->text->line, ", +%s from %s on, %s never freed",
                    hwi_byte_rate_text(growing->to_bytes - growing->from_bytes, growing->to_ns - growing->from_ns).text,
                    hwi_time_text(from_ns).text, hwi_bytes_text(stack->live_bytes).text);
    end_finding(findings);
    shown++;
  }
}

/* --- real time --- */

static const char *real_time_policy(uint8_t policy)
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

static void find_real_time(struct findings *findings)
{
  const struct hwi_profile *profile = findings->text->profile;
  int shown = 0;
  for (uint32_t i = 0; i < profile->thread_count && shown < THREADS_SHOWN; i++) {
    const struct hwi_profile_thread *thread = &profile->threads[i];
    const char *policy = real_time_policy(thread->policy);
    if (policy == NULL || thread->allocation_calls == 0)
      continue;
    char name[sizeof thread->name + 1] = "";
    memcpy(name, thread->name, sizeof thread->name);
    begin_finding(findings, "real time");
    hwi_line_puts(&findings->text->line, "thread \"");
    hwi_line_clean(&findings->text->line, name);
    hwi_line_printf(&findings->text->line, "\" (%s %d) allocated %s times and freed %s times", policy, thread->priority,
                    hwi_count_text(thread->allocation_calls).text, hwi_count_text(thread->free_calls).text);
    end_finding(findings);
    shown++;
  }
}

/* --- failed and churn: the stack with the most of them --- */

static uint32_t most_failed(const struct hwi_profile *profile)
{
  uint32_t best = 0;
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    if (profile->stacks[i].failed_calls > (best != 0 ? profile->stacks[best].failed_calls : 0))
      best = i;
  }
  return best;
}

static uint32_t most_temporary(const struct hwi_profile *profile)
{
  uint32_t best = 0;
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    if (profile->stacks[i].temporary_calls > (best != 0 ? profile->stacks[best].temporary_calls : 0))
      best = i;
  }
  return best;
}

static void find_failed(struct findings *findings)
{
  const struct hwi_profile *profile = findings->text->profile;
  uint32_t most = most_failed(profile);
  if (profile->totals.failed_calls == 0)
    return;
  begin_finding(findings, "failed");
  hwi_line_counted(&findings->text->line, profile->totals.failed_calls, "call");
  hwi_line_puts(&findings->text->line, " got no memory");
  if (most != 0) {
    hwi_line_puts(&findings->text->line, ", most in ");
    add_who(findings, most);
  }
  end_finding(findings);
}

static void find_churn(struct findings *findings)
{
  const struct hwi_profile *profile = findings->text->profile;
  const struct hwi_totals *totals = &profile->totals;
  uint32_t most = most_temporary(profile);
  if (most == 0 || totals->temporary_calls < CHURN_CALLS_MIN ||
      totals->temporary_calls < totals->allocation_calls / 100 * CHURN_PERCENT)
    return;
  begin_finding(findings, "churn");
  hwi_line_printf(&findings->text->line, "%s of allocations are freed at once, most in ",
                  hwi_share_text(totals->temporary_calls, totals->allocation_calls).text);
  add_who(findings, most);
  end_finding(findings);
}

int hwi_text_findings(struct hwi_text *text, struct hwi_error *error)
{
  struct hwi_named_frames frames;
  int status = hwi_named_frames_init(&frames, text->report, error);
  if (status < 0)
    return status;
  struct findings findings = {.text = text, .frames = &frames};
  find_growth(&findings);
  find_real_time(&findings);
  find_failed(&findings);
  find_churn(&findings);
  if (findings.any)
    hwi_text_blank(text);
  hwi_named_frames_release(&frames);
  return HW_OK;
}
