/* findings.c - what stands out in a profile, and the stacks whose live bytes grow, as members of a JSON object */
#include "report/json/members.h"

#include "report/text/text.h"

/* --- findings --- */

static const struct {
  const char *kind;
  const char *figures[HWI_FINDING_FIGURES]; /* NULL: no more figures */
  bool of_thread;
} names[HWI_FINDING_KINDS] = {
    [HWI_FINDING_FORBIDDEN] = {"forbidden", {"allocation_calls", "free_calls", "first_instance", "first_ns"}, true},
    [HWI_FINDING_GROWTH] = {"growth", {"bytes_per_hour", "from_ns", "live_bytes"}, false},
    [HWI_FINDING_REAL_TIME] = {"real_time", {"late_allocation_calls", "late_free_calls"}, true},
    [HWI_FINDING_WARM_UP] = {"warm_up",
                             {"instances", "allocating_instances", "warm_up_instances", "last_allocating_instance"},
                             false},
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
  if (finding->scope != 0)
    hwi_json_scope_path(json, profile, finding->scope);
  if (finding->stack != 0)
    stacks->write(stacks->context, json, finding->stack);
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

/* --- growing stacks --- */

static uint64_t bytes_per_hour(const struct hwi_growing *growing)
{
  const double ns_an_hour = 3600e9;
  uint64_t ns = growing->to_ns - growing->from_ns;
  double rate = ns > 0 ? (double)(growing->to_bytes - growing->from_bytes) * ns_an_hour / (double)ns : 0;
  return rate < (double)INT64_MAX ? (uint64_t)rate : INT64_MAX;
}

void hwi_json_growing(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_stacks *stacks)
{
  hwi_json_begin_array(json, "growing");
  for (uint32_t i = 0; i < profile->growing_count; i++) {
    const struct hwi_growing *growing = &profile->growing[i];
    const struct hwi_stack *stack = &profile->stacks[growing->stack];
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "from_ns", growing->from_ns);
    hwi_json_number(json, "to_ns", growing->to_ns);
    hwi_json_number(json, "from_bytes", growing->from_bytes);
    hwi_json_number(json, "to_bytes", growing->to_bytes);
    hwi_json_number(json, "bytes_per_hour", bytes_per_hour(growing));
    hwi_json_number(json, "first_ns", stack->first_ns);
    hwi_json_number(json, "last_ns", stack->last_ns);
    hwi_json_number(json, "live_bytes", stack->live_bytes);
    stacks->write(stacks->context, json, growing->stack);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
