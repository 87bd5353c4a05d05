/* next_command.c - the last line of the first screen: the command that most likely answers the reader's next
 * question */
#include <inttypes.h>
#include <string.h>

#include "report/content/findings.h"
#include "report/text/text.h"
#include "report/words/line.h"

/* Returns the options that show more about a finding; NULL if there is no such view. */
static const char *view_of(const struct hwi_finding *finding)
{
  switch (finding->kind) {
  case HWI_FINDING_FORBIDDEN:
    return "--by scope";
  case HWI_FINDING_GROWTH:
    return "--leaks";
  case HWI_FINDING_RSS_GAP:
    return strcmp(finding->part, "free_bytes") == 0 || strcmp(finding->part, "rounding_bytes") == 0 ? "--by size"
                                                                                                    : NULL;
  case HWI_FINDING_SLACK:
    return "--by size";
  case HWI_FINDING_CHURN:
    return "--cost temporary";
  case HWI_FINDING_FOREIGN_FREES:
    return "--by thread";
  case HWI_FINDING_WARM_UP:
    return "--instances --cost calls";
  case HWI_FINDING_RESERVE:
  case HWI_FINDING_CONTAINER:
    return "--resizes";
  case HWI_FINDING_ARENA:
  case HWI_FINDING_INLINE_BUFFER:
    return "--lifetimes --cost calls";
  case HWI_FINDING_REAL_TIME:
  case HWI_FINDING_FAILED:
  case HWI_FINDING_GIANT:
  case HWI_FINDING_KINDS:
    break;
  }
  return NULL;
}

/* Adds the options for a thread's calls after its first second. The thread is given by its name, or by its ID if it
 * has none. */
static void add_thread(struct hwi_text *text, const struct hwi_profile_thread *thread)
{
  const char *name = thread->name;
  char id[16];
  snprintf(id, sizeof id, "%" PRIu32, thread->tid);
  hwi_line_puts(&text->line, "--from 1s --cost calls --thread ");
  hwi_line_shell_word(&text->line, name[0] != '\0' && name[strcspn(name, "*?[\\")] == '\0' ? name : id);
}

static void add_view(struct hwi_text *text, const struct hwi_findings *findings)
{
  const struct hwi_totals *totals = &text->profile->totals;
  enum { TENTH = 10 };
  for (uint32_t i = 0; i < findings->count; i++) {
    if (findings->items[i].kind == HWI_FINDING_REAL_TIME) {
      add_thread(text, &text->profile->threads[findings->items[i].thread]);
      return;
    }
    const char *view = view_of(&findings->items[i]);
    if (view) {
      hwi_line_puts(&text->line, view);
      return;
    }
  }
  hwi_line_puts(&text->line, totals->live_bytes_at_end > totals->peak_bytes / TENTH ? "--leaks" : "--tree");
}

void hwi_text_next_command(struct hwi_text *text)
{
  const struct hwi_report *report = text->report;
  struct hwi_findings findings;
  if (!text->style->terminal || !hwi_text_is_first_screen(text))
    return;
  hwi_findings_find(&findings, text->profile);
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Next: heapwright report ");
  add_view(text, &findings);
  if (text->counted > 1)
    hwi_line_puts(&text->line, " --children");
  else if (report->pid != 0)
    hwi_line_printf(&text->line, " --pid %" PRIu32, report->pid);
  if (text->profile->heap) {
    hwi_line_puts(&text->line, " --heap ");
    hwi_line_shell_word(&text->line, text->profile->heap);
  }
  if (report->trace) {
    hwi_line_puts(&text->line, *report->trace == '-' ? " ./" : " "); /* so that a name is never read as an option */
    hwi_line_shell_word(&text->line, report->trace);
  }
  hwi_text_end(text, HWI_DIM); /* never wrapped: it is there to be copied */
}
