/* text_evidence.c - what the recording is worth: notes near the top where something is missing, one line of evidence always */
#include <inttypes.h>
#include <string.h>

#include "report/evidence.h"
#include "report/text.h"

/* --- notes --- */

static void end_note(struct hwi_text *text, enum hwi_emphasis emphasis)
{
  hwi_text_end_wrapped(text, 2, emphasis);
}

static void note_silence(void *context, const struct hwi_silence *silence)
{
  struct hwi_text *text = context;
  if (silence->to_ns != UINT64_MAX)
    return; /* a pause that ended is in the chart and in the line of evidence */
  hwi_line_printf(&text->line, "Silent from %s on (%s): what came later is not in these figures.",
                  hwi_time_text(silence->from_ns).text, silence->why);
  end_note(text, HWI_ALARM);
}

static void note_state(struct hwi_text *text, const struct hwi_trace_info *info)
{
  if (info->being_written) {
    hwi_line_puts(&text->line, "Still being written: this is the recording up to now; \"at the end\" means now.");
    end_note(text, HWI_ALARM);
  }
  hwi_evidence_silences(info, note_silence, text);
}

static void note_damage(struct hwi_text *text, const struct hwi_trace_info *info)
{
  if (info->damaged_chunks > 0) {
    hwi_line_printf(&text->line,
                    "Damaged: %s pieces of the trace could not be read (the first at offset %" PRIu64
                    "); all figures are too small by what they held.",
                    hwi_count_text(info->damaged_chunks).text, info->first_damage_off);
    end_note(text, HWI_ALARM);
  }
  if (info->missing_chunks > 0) {
    hwi_line_printf(&text->line,
                    "Cut short: %s pieces of the trace are missing; all figures are too small by what they held.",
                    hwi_count_text(info->missing_chunks).text);
    end_note(text, HWI_ALARM);
  }
  if (info->header.lost_events > 0) {
    hwi_line_printf(&text->line, "Lost: %s events could not be kept.", hwi_count_text(info->header.lost_events).text);
    end_note(text, HWI_ALARM);
  }
  if (info->header.audit_differences > 0) {
    hwi_line_printf(&text->line, "Doubtful stacks: %s of %s audited ones differ from a full walk. Please report this.",
                    hwi_count_text(info->header.audit_differences).text,
                    hwi_count_text(info->header.audited_stacks).text);
    end_note(text, HWI_ALARM);
  }
}

static void note_unseen(struct hwi_text *text, const struct hwi_note *note)
{
  static const struct {
    const char *before, *after;
  } words[] = {
      [HW_NOTE_OWN_MALLOC] = {"Not seen: ", " brings its own malloc, whose calls do not reach the recorder."},
      [HW_NOTE_OWN_NEW] = {"", " brings its own operator new, which is seen only where it calls malloc."},
      [HW_NOTE_BOOT_BLOCKS] = {"Without stacks: ", " blocks given out before libc was ready."},
      [HW_NOTE_STATIC_ALLOCATOR] = {"Not seen: ", " has an allocator of its own linked in."},
  };
  if (note->kind >= sizeof words / sizeof *words || words[note->kind].after == NULL)
    return;
  hwi_line_puts(&text->line, words[note->kind].before);
  hwi_line_clean(&text->line, hwi_base_name(note->text));
  hwi_line_puts(&text->line, words[note->kind].after);
  end_note(text, HWI_PLAIN);
}

void hwi_text_notes(struct hwi_text *text)
{
  bool any = false;
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    const struct hwi_image *image = &text->profile->images[i];
    if (!image->counted)
      continue;
    const struct hwi_trace_info *info = image->info;
    uint64_t before = text->printed;
    note_state(text, info);
    note_damage(text, info);
    for (uint32_t k = 0; k < info->note_count; k++)
      note_unseen(text, &info->notes[k]);
    if (info->children_unseen > 0) {
      hwi_line_printf(&text->line, "Not seen: %s %s ran without the recorder (static, 32-bit, setuid or env -i).",
                      hwi_count_text(info->children_unseen).text, info->children_unseen == 1 ? "child" : "children");
      end_note(text, HWI_PLAIN);
    }
    any |= text->printed != before;
  }
  if (any)
    hwi_text_blank(text);
}

/* --- the line of evidence --- */

struct silences {
  struct hwi_text *text;
  uint64_t count;
};

static void add_silence(void *context, const struct hwi_silence *silence)
{
  struct silences *silences = context;
  struct hwi_number from = hwi_time_text(silence->from_ns), to = hwi_time_text(silence->to_ns);
  hwi_line_printf(&silences->text->line, "%s%s to %s (%s)", silences->count++ == 0 ? "; silent " : ", ", from.text,
                  silence->to_ns == UINT64_MAX ? "the end" : to.text, silence->why);
}

void hwi_text_evidence(struct hwi_text *text)
{
  const struct hwi_profile *profile = text->profile;
  const struct hwi_totals *totals = &profile->totals;
  struct hwi_evidence sum = hwi_evidence_of(profile);
  const struct {
    const char *before;
    uint64_t count;
    const char *after;
    bool always;
  } items[] = {
      {"Evidence: ", sum.events, " events", true},
      {", ", sum.lost_events, " lost", true},
      {"; ", sum.audited_stacks, " spliced stacks audited", true},
      {", ", sum.audit_differences, " differ", true},
      {"; ", sum.truncated_stacks, " stacks cut", true},
      {", ", sum.unfinished_stacks, " unfinished", true},
      {"; ", sum.children_unseen, " children unseen", true},
      {"; ", sum.damaged_chunks + sum.missing_chunks, " chunks damaged or missing", false},
      {"; ", sum.node_limit_hits, " stacks shortened (table of stacks full)", false},
      {"; ", totals->unmatched_frees, " unmatched frees", false},
      {"; ", totals->frees_of_silent_blocks, " frees of blocks born in silence", false},
      {"; ", totals->inherited_frees, " frees of inherited blocks", false},
      {"; ", totals->missed_frees, " frees not seen", false},
  };
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    if (items[i].always || items[i].count > 0)
      hwi_line_printf(&text->line, "%s%s%s", items[i].before, hwi_count_text(items[i].count).text, items[i].after);
  }
  struct silences silences = {.text = text};
  for (uint32_t i = 0; i < profile->image_count; i++) {
    if (profile->images[i].counted)
      hwi_evidence_silences(profile->images[i].info, add_silence, &silences);
  }
  if (silences.count == 0)
    hwi_line_puts(&text->line, "; never silent");
  hwi_text_end_wrapped(text, sizeof "Evidence: " - 1, HWI_PLAIN);
}
