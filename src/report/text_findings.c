/* text_findings.c - "What stands out": the findings in words; silent when nothing does */
#include <string.h>

#include "report/findings.h"
#include "report/text.h"

enum { LABEL_CELLS = 13, WHO_CELLS = 83 };

struct context {
  struct hwi_text *text;
  struct hwi_named_frames *frames;
};

static void add_who(struct context *context, uint32_t stack)
{
  hwi_text_who(context->text, context->frames, stack, WHO_CELLS);
}

static void add_thread(struct context *context, const struct hwi_finding *finding)
{
  const struct hwi_profile_thread *thread = &context->text->profile->threads[finding->thread];
  char name[sizeof thread->name + 1] = "";
  memcpy(name, thread->name, sizeof thread->name);
  hwi_line_puts(&context->text->line, "thread \"");
  hwi_line_clean(&context->text->line, name);
  hwi_line_puts(&context->text->line, "\"");
}

static void word_growth(struct context *context, const struct hwi_finding *finding)
{
  const uint64_t ns_an_hour = UINT64_C(3600000000000);
  add_who(context, finding->stack);
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

static void word_failed(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_counted(&context->text->line, finding->figures[0], "call");
  hwi_line_puts(&context->text->line, " got no memory");
  if (finding->stack == 0)
    return;
  hwi_line_puts(&context->text->line, ", most in ");
  add_who(context, finding->stack);
}

static void word_giant(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "%s of the peak is one block of %s, from ",
                  hwi_share_text(finding->figures[0], context->text->profile->totals.peak_bytes).text,
                  hwi_bytes_text(finding->figures[0]).text);
  add_who(context, finding->stack);
}

static void word_churn(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "%s of allocations are freed at once, most in ",
                  hwi_share_text(finding->figures[0], context->text->profile->totals.allocation_calls).text);
  add_who(context, finding->stack);
}

static void word_foreign_frees(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "%s of frees are of what another thread allocated, most by ",
                  hwi_share_text(finding->figures[1], context->text->profile->totals.free_calls).text);
  add_thread(context, finding);
  hwi_line_printf(&context->text->line, " (%s; --by thread)", hwi_count_text(finding->figures[0]).text);
}

static void word_inline_buffer(struct context *context, const struct hwi_finding *finding)
{
  hwi_line_printf(&context->text->line, "room for %s in place of a block saves %s calls (%s) in ",
                  hwi_bytes_text(finding->figures[1]).text, hwi_count_text(finding->figures[0]).text,
                  hwi_share_text(finding->figures[0], context->text->profile->totals.allocation_calls).text);
  add_who(context, finding->stack);
}

static const struct {
  const char *label;
  void (*word)(struct context *context, const struct hwi_finding *finding);
} kinds[HWI_FINDING_KINDS] = {
    [HWI_FINDING_GROWTH] = {"grows", word_growth},
    [HWI_FINDING_REAL_TIME] = {"real time", word_real_time},
    [HWI_FINDING_FAILED] = {"failed", word_failed},
    [HWI_FINDING_GIANT] = {"giant", word_giant},
    [HWI_FINDING_CHURN] = {"churn", word_churn},
    [HWI_FINDING_FOREIGN_FREES] = {"handed on", word_foreign_frees},
    [HWI_FINDING_INLINE_BUFFER] = {"advice", word_inline_buffer},
};

static void print(struct context *context, const struct hwi_findings *findings)
{
  struct hwi_text *text = context->text;
  hwi_line_puts(&text->line, "What stands out");
  hwi_text_end(text, HWI_BOLD);
  for (uint32_t i = 0; i < findings->count; i++) {
    const struct hwi_finding *finding = &findings->items[i];
    hwi_line_puts(&text->line, "  ");
    hwi_line_left(&text->line, kinds[finding->kind].label, LABEL_CELLS - 2);
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
  struct context context = {text, &frames};
  print(&context, &findings);
  hwi_named_frames_release(&frames);
  return HW_OK;
}
