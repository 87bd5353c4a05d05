/* stackless.c - in place of rankings of stacks, for a recording that has none: what it knows is block sizes
 *
 * Such are the logs of tools that write down calls alone. Their stacks are a frame each that stands for what is not known, one for
 * each entry point.
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
