/* who.c - stacks in a few words, as parts of a line */
#include "report/text/text.h"

static struct hwi_who_words words_of(const struct hwi_text *text, struct hwi_named_frames *frames)
{
  return (struct hwi_who_words){frames, hwi_style_ellipsis(text->style)};
}

void hwi_text_who(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_who *who)
{
  const struct hwi_who_words words = words_of(text, frames);
  hwi_who_add(&text->line, &words, who);
}

void hwi_text_tell_apart(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_who *whos, uint32_t count)
{
  const struct hwi_who_words words = words_of(text, frames);
  if (!hwi_whos_tell_apart(&words, whos, count))
    text->line.failed = true;
}
