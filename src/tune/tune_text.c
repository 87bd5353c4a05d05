/* tune_text.c - what the texts of `tune` have in common */
#include "tune/tune_text.h"

#include "report/content/evidence.h"

void hwi_tune_print_part(struct hwi_text *text, uint64_t bytes, uint64_t all, const char *what)
{
  hwi_line_right(&text->line, hwi_bytes_text(bytes).text, HWI_TUNE_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_share_text(bytes, all).text, HWI_TUNE_SHARE_CELLS);
  hwi_line_repeat(&text->line, " ", HWI_TUNE_GAP_CELLS);
  hwi_line_puts(&text->line, what);
  hwi_text_end_wrapped(text, HWI_TUNE_AMOUNT_CELLS + HWI_TUNE_SHARE_CELLS + HWI_TUNE_GAP_CELLS, HWI_PLAIN);
}

static void count_silence(void *context, const struct hwi_silence *silence)
{
  (void)silence;
  ++*(uint32_t *)context;
}

bool hwi_tune_is_whole(const struct hwi_profile *profile)
{
  const struct hwi_evidence evidence = hwi_evidence_of(profile);
  uint32_t silences = 0, running = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (!image->counted)
      continue;
    hwi_evidence_silences(image->info, count_silence, &silences);
    running += image->info->being_written;
  }
  return !silences && !running && !evidence.lost_events && !evidence.damaged_chunks && !evidence.missing_chunks;
}

void hwi_tune_print_doubt(struct hwi_text *text, const char *doubt)
{
  if (hwi_tune_is_whole(text->profile))
    return;
  hwi_line_puts(&text->line, doubt);
  hwi_text_end_wrapped(text, 0, HWI_ALARM);
}
