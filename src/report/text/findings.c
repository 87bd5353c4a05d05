/* findings.c - "What stands out": the findings in words; nothing is printed without findings */
#include <string.h>

#include "report/content/findings.h"
#include "report/content/rss_parts.h"
#include "report/text/text.h"

enum { LABEL_CELLS = 13, STACK_CELLS = 83 };

struct context {
  struct hwi_text *text;
  struct hwi_named_frames *frames;
  struct hwi_stack_label stack_label; /* of the current finding */
};

static void add_who(struct context *context)
{
  hwi_text_stack_label(context->text, context->frames, &context->stack_label);
}

static void add_thread(struct context *context, const struct hwi_finding *finding)
{
  const struct hwi_profile_thread *thread = &context->text->profile->threads[finding->thread];
  hwi_line_puts(&context->text->line, "thread \"");
  hwi_line_clean(&context->text->line, thread->name);
  hwi_line_puts(&context->text->line, "\"");
}

static void word_forbidden(struct context *context, const struct hwi_finding *finding)
{
  struct hwi_text *text = context->text;
  hwi_text_scope_path(&text->line, text, finding->scope);
  hwi_line_puts(&text->line, ": ");
  if (finding->figures[0] > 0)
    hwi_line_counted(&text->line, finding->figures[0], "allocation");
  hwi_line_puts(&text->line, finding->figures[0] > 0 && finding->figures[1] > 0 ? " and " : "");
  if (finding->figures[1] > 0)
    hwi_line_counted(&text->line, finding->figures[1], "free");
  hwi_line_printf(&text->line, " in a forbidden zone, first in instance %s at %s",
                  hwi_count_text(finding->figures[2]).text, hwi_time_text(finding->figures[3]).text);
  if (finding->stack != 0) {
    hwi_line_puts(&text->line, finding->figures[0] > 0 ? ", in " : ", of a block from ");
    add_who(context);
  }
}

static void word_growth(struct context *context, const struct hwi_finding *finding)
{
  const uint64_t ns_an_hour = UINT64_C(3600000000000);
  add_who(context);
  hwi_line_printf(&context->text->line, ", +%s from %s on, %s never freed",
                  hwi_byte_rate_text(finding->figures[0], ns_an_hour).text, hwi_time_text(finding->figures[1]).text,
                  hwi_bytes_text(finding->figures[2]).text);
}

static void word_real_time(struct context *context, const struct hwi_finding *finding)
{
  const struct hwi_profile_thread *thread = &context->text->profile->threads[finding->thread];
  add_thread(context, finding);
  hwi_line_printf(&context->text->line, " (%s %d) allocated %s times and freed %s times after its first second",
                  hwi_real_time_policy(thread->policy), thread->priority, hwi_count_text(finding->figures[0]).text,
                  hwi_count_text(finding->figures[1]).text);
}

static void add_scope(struct context *context, const struct hwi_finding *finding)
{
  struct hwi_text *text = context->text;
  struct hwi_line path = {0};
  hwi_text_scope_path(&path, text, finding->scope);
  hwi_line_shorten(&text->line, hwi_line_text(&path), STACK_CELLS, hwi_style_ellipsis(text->style));
  hwi_line_release_part(&text->line, &path);
}

static void word_warm_up(struct context *context, const struct hwi_finding *finding)
{
  struct hwi_line *line = &context->text->line;
  const uint64_t warm_up = finding->figures[2], late = finding->figures[1] - warm_up;
  if (late == 0) {
    hwi_line_printf(line, warm_up > 1 ? "only the first %s" : "only the first", hwi_count_text(warm_up).text);
    hwi_line_printf(line, " of %s instances of ", hwi_count_text(finding->figures[0]).text);
    add_scope(context, finding);
    hwi_line_puts(line, warm_up > 1 ? " allocate" : " allocates");
    return;
  }
  hwi_line_printf(line, "%s of %s instances of ", hwi_count_text(late).text, hwi_count_text(finding->figures[0]).text);
  add_scope(context, finding);
  hwi_line_puts(line, late > 1 ? " allocate" : " allocates");
  if (warm_up > 0)
    hwi_line_printf(line, warm_up > 1 ? " after the first %s" : " after the first", hwi_count_text(warm_up).text);
  hwi_line_printf(line, "%s number %s", late > 1 ? "; the last is" : ":", hwi_count_text(finding->figures[3]).text);
}

static void word_failed(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_counted(&context->text->line, finding->figures[0], "call");
  hwi_line_puts(&context->text->line, " got no memory");
  if (finding->stack == 0)
    return;
  hwi_line_puts(&context->text->line, ", most in ");
  add_who(context);
}

static void word_giant(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "%s of the peak is one block of %s, from ",
                  hwi_share_text(finding->figures[0], context->text->profile->totals.peak_bytes).text,
                  hwi_bytes_text(finding->figures[0]).text);
  add_who(context);
}

static void word_churn(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "%s of allocations are freed at once, most in ",
                  hwi_share_text(finding->figures[0], hwi_amount_of_run(context->text->profile).calls).text);
  add_who(context);
}

static void word_foreign_frees(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "%s of frees are of another thread's blocks, most by ",
                  hwi_share_text(finding->figures[1], context->text->profile->totals.free_calls).text);
  add_thread(context, finding);
  hwi_line_printf(&context->text->line, " (%s; --by thread)", hwi_count_text(finding->figures[0]).text);
}

/* Returns the words for an RSS gap's largest part. */
static const char *part_words(const struct hwi_profile *profile, const char *part, uint64_t bytes)
{
  if (strcmp(part, "free_bytes") == 0 && !hwi_rss_can_be_free(profile, bytes))
    return "free inside the allocator, or mapped by the program itself";
  static const char *const words[][2] = {{"free_bytes", "free inside the allocator"},
                                         {"own_mapped_bytes", "mapped by the program itself"},
                                         {"rounding_bytes", "rounding of block sizes"},
                                         {"stack_bytes", "thread stacks"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(words[i][0], part) == 0)
      return words[i][1];
  }
  return "outside the heap";
}

static void word_rss_gap(struct context *context, const struct hwi_finding *finding)
{
  bool is_at_peak = finding->figures[3] == context->text->profile->totals.peak_time_ns;
  const uint64_t gap = finding->figures[0], part = finding->figures[2],
                 hardly_any = 200; /* less than a 200th of the gap is not mentioned */
  hwi_line_printf(&context->text->line, "%s of the %s resident at %s is in no block", hwi_bytes_text(gap).text,
                  hwi_bytes_text(finding->figures[1]).text,
                  is_at_peak ? "the peak" : hwi_time_text(finding->figures[3]).text);
  if (gap - part <= gap / hardly_any)
    hwi_line_puts(&context->text->line, ": it");
  else
    hwi_line_printf(&context->text->line, "; %s", hwi_bytes_text(part).text);
  hwi_line_printf(&context->text->line, " is %s",
                  part_words(context->text->profile, finding->part, finding->figures[2]));
}

static void word_slack(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "rounding adds %s (%s) to the peak; most by ",
                  hwi_bytes_text(finding->figures[0]).text,
                  hwi_share_text(finding->figures[0], context->text->profile->totals.peak_bytes).text);
  hwi_line_counted(&context->text->line, finding->figures[3], "block");
  hwi_line_printf(&context->text->line, " of %s bytes, which %s %s", hwi_count_text(finding->figures[1]).text,
                  finding->figures[3] == 1 ? "takes" : "take", hwi_count_text(finding->figures[2]).text);
}

static void add_saved(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, " saves %s calls and %s copied in ", hwi_count_text(finding->figures[0]).text,
                  hwi_bytes_text(finding->figures[1]).text);
  add_who(context);
  if (finding->figures[2] != finding->figures[3])
    hwi_line_printf(&context->text->line, ", where half end at %s or less", hwi_bytes_text(finding->figures[2]).text);
}

static void word_reserve(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "asking for %s at once", hwi_bytes_text(finding->figures[3]).text);
  add_saved(context, finding);
}

static void word_container(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "reserve(), %s large, probably", hwi_bytes_text(finding->figures[3]).text);
  add_saved(context, finding);
}

static void word_arena(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "an arena saves %s allocations and as many frees in ",
                  hwi_count_text(finding->figures[0]).text);
  add_who(context);
  hwi_line_printf(&context->text->line, ": its blocks are freed together, %s at a time, at most %s",
                  hwi_count_text(finding->figures[1] / finding->figures[2]).text,
                  hwi_bytes_text(finding->figures[3]).text);
}

static void word_inline_buffer(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "an inline buffer of %s saves %s calls (%s) in ",
                  hwi_bytes_text(finding->figures[1]).text, hwi_count_text(finding->figures[0]).text,
                  hwi_share_text(finding->figures[0], hwi_amount_of_run(context->text->profile).calls).text);
  add_who(context);
}

static const struct {
  const char *label;
  void (*word)(struct context *context, const struct hwi_finding *finding);
} kinds[HWI_FINDING_KINDS] = {
    [HWI_FINDING_FORBIDDEN] = {"forbidden", word_forbidden},
    [HWI_FINDING_GROWTH] = {"grows", word_growth},
    [HWI_FINDING_REAL_TIME] = {"real time", word_real_time},
    [HWI_FINDING_WARM_UP] = {"warm-up", word_warm_up},
    [HWI_FINDING_FAILED] = {"failed", word_failed},
    [HWI_FINDING_GIANT] = {"giant", word_giant},
    [HWI_FINDING_RSS_GAP] = {"RSS gap", word_rss_gap},
    [HWI_FINDING_SLACK] = {"slack", word_slack},
    [HWI_FINDING_CHURN] = {"churn", word_churn},
    [HWI_FINDING_FOREIGN_FREES] = {"handed on", word_foreign_frees},
    [HWI_FINDING_RESERVE] = {"advice", word_reserve},
    [HWI_FINDING_CONTAINER] = {"advice", word_container},
    [HWI_FINDING_ARENA] = {"advice", word_arena},
    [HWI_FINDING_INLINE_BUFFER] = {"advice", word_inline_buffer},
};

/* Finds the words for each finding's stack; different stacks with the same function also get its caller. */
static void find_stack_labels(struct context *context, const struct hwi_findings *findings,
                              struct hwi_stack_label *stack_labels)
{
  for (uint32_t i = 0; i < findings->count; i++)
    stack_labels[i] =
        (struct hwi_stack_label){.stack = findings->items[i].stack, .cells = STACK_CELLS, .is_named = true};
  hwi_text_distinguish(context->text, context->frames, stack_labels, findings->count);
}

const char *hwi_finding_label(enum hwi_finding_kind kind)
{
  return kinds[kind].label;
}

int hwi_findings_word(const struct hwi_findings *findings, const struct hwi_report *report,
                      struct hwi_line lines[HWI_FINDINGS_MAX], struct hwi_error *error)
{
  const struct hwi_style style = {.columns = HWI_COLUMNS_DEFAULT, .utf8 = true};
  struct hwi_text text = {.report = report, .profile = report->profile, .style = &style};
  struct hwi_named_frames frames;
  struct context context = {.text = &text, .frames = &frames};
  struct hwi_stack_label stack_labels[HWI_FINDINGS_MAX];
  memset(lines, 0, HWI_FINDINGS_MAX * sizeof *lines);
  int status = hwi_named_frames_init(&frames, report, error);
  if (status < 0)
    return status;
  find_stack_labels(&context, findings, stack_labels);
  for (uint32_t i = 0; i < findings->count; i++) {
    context.stack_label = stack_labels[i];
    kinds[findings->items[i].kind].word(&context, &findings->items[i]);
    lines[i] = text.line;
    text.line = (struct hwi_line){0};
  }
  hwi_named_frames_release(&frames);
  return HW_OK;
}

static void print(struct context *context, const struct hwi_findings *findings)
{
  struct hwi_text *text = context->text;
  struct hwi_stack_label stack_labels[HWI_FINDINGS_MAX];
  find_stack_labels(context, findings, stack_labels);
  hwi_line_puts(&text->line, "What stands out");
  hwi_text_end(text, HWI_BOLD);
  for (uint32_t i = 0; i < findings->count; i++) {
    const struct hwi_finding *finding = &findings->items[i];
    hwi_line_puts(&text->line, "  ");
    hwi_line_left(&text->line, kinds[finding->kind].label, LABEL_CELLS - 2);
    context->stack_label = stack_labels[i];
    kinds[finding->kind].word(context, finding);
    hwi_text_end_wrapped(text, LABEL_CELLS, HWI_PLAIN);
  }
  hwi_text_blank(text);
}

int hwi_text_findings(struct hwi_text *text, struct hwi_error *error)
{
  struct hwi_findings findings;
  hwi_findings_find(&findings, text->profile);
  if (findings.count == 0)
    return HW_OK;
  struct hwi_named_frames frames;
  int status = hwi_named_frames_init(&frames, text->report, error);
  if (status < 0)
    return status;
  struct context context = {.text = text, .frames = &frames};
  print(&context, &findings);
  hwi_named_frames_release(&frames);
  return HW_OK;
}
