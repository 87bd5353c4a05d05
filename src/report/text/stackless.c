/* stackless.c - shows block sizes instead of a ranking of stacks, for a recording that has no stacks
 *
 * These are logs of tools that record only calls. Such a recording has one stack for each entry point; its single
 * frame represents the unknown stack.
 */
#include "report/text/text.h"

bool hwi_text_is_stackless(const struct hwi_text *text)
{
  const struct hwi_profile *profile = text->profile;
  if (profile->totals.allocation_calls == 0)
    return false;
  for (uint32_t i = 0; i < profile->stack_count; i++) {
    if (hwi_profile_depth(profile, i) > 0)
      return false;
  }
  return true;
}

void hwi_text_stackless(struct hwi_text *text, const struct hwi_selection *selection)
{
  hwi_line_puts(&text->line, "The recording has no stacks");
  hwi_line_puts(&text->line, hwi_style_hint(text->style, "; --by entry and --by thread show more"));
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
  hwi_text_blank(text);
  hwi_text_sizes(text, selection);
}
