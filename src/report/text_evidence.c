/* text_evidence.c - what the recording is worth: notes near the top where something is missing, one line of evidence always */
#include <inttypes.h>
#include <string.h>

#include "report/text.h"

/* --- notes --- */

static void end_note(struct hwi_text *text, enum hwi_emphasis emphasis)
{
  hwi_text_end_wrapped(text, 2, emphasis);
}

static void note_state(struct hwi_text *text, const struct hwi_trace_info *info)
{
  if (info->being_written) {
    hwi_line_puts(&text->line,
                  "Still being written: this is the recording up to now. What is \"at the end\" is live now.");
    end_note(text, HWI_ALARM);
  }
  if (info->silent_from_ns == UINT64_MAX)
    return;
  static const char *const reasons[] = {
      [HW_STATE_STOPPED_LIMIT] = "the trace reached its size limit (record --max-size)",
      [HW_STATE_STOPPED_DISK] = "the disk was full",
      [HW_STATE_STOPPED_MEMORY] = "there was no memory for the recorder's own tables"};
  uint32_t state = info->header.state;
  bool known = state < sizeof reasons / sizeof *reasons && reasons[state] != NULL;
  hwi_line_printf(&text->line, "Silent from %s on: %s. What came later is not in these figures.",
                  hwi_time_text(info->silent_from_ns).text, known ? reasons[state] : "recording stopped");
  end_note(text, HWI_ALARM);
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
  hwi_line_clean(&text->line, note->text);
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
      hwi_line_printf(&text->line, "Not seen: %s children ran without the recorder (static, 32-bit, setuid or env -i).",
                      hwi_count_text(info->children_unseen).text);
      end_note(text, HWI_PLAIN);
    }
    any |= text->printed != before;
  }
  if (any)
    hwi_text_blank(text);
}

/* --- the line of evidence --- */

struct evidence {
  uint64_t lost, audited, different, cut, unfinished, without_node, children_unseen, damaged;
};

static struct evidence collect(const struct hwi_profile *profile)
{
  struct evidence sum = {0};
  for (uint32_t i = 0; i < profile->image_count; i++) {
    if (!profile->images[i].counted)
      continue;
    const struct hwi_trace_info *info = profile->images[i].info;
    sum.lost += info->header.lost_events;
    sum.audited += info->header.audited_stacks;
    sum.different += info->header.audit_differences;
    sum.cut += info->header.truncated_stacks;
    sum.unfinished += info->header.unfinished_stacks;
    sum.without_node += info->header.node_limit_hits;
    sum.children_unseen += info->children_unseen;
    sum.damaged += info->damaged_chunks + info->missing_chunks;
  }
  return sum;
}

static void add_count(struct hwi_text *text, const char *before, uint64_t count, const char *after)
{
  hwi_line_printf(&text->line, "%s%s%s", before, hwi_count_text(count).text, after);
}

static void add_silence(struct hwi_text *text, const char **separator, uint64_t from_ns, uint64_t to_ns)
{
  struct hwi_number from = hwi_time_text(from_ns), to = hwi_time_text(to_ns);
  hwi_line_printf(&text->line, "%s%s to %s", *separator, from.text, to_ns == UINT64_MAX ? "the end" : to.text);
  *separator = ", ";
}

static void add_silences(struct hwi_text *text)
{
  static const char first[] = "; silent ";
  const char *separator = first;
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    if (!text->profile->images[i].counted)
      continue;
    const struct hwi_trace_info *info = text->profile->images[i].info;
    uint64_t paused_ns = UINT64_MAX;
    for (uint32_t k = 0; k < info->mark_count; k++) {
      const struct hwi_mark *mark = &info->marks[k];
      if (mark->type == HW_TOOL_PAUSED && paused_ns == UINT64_MAX)
        paused_ns = mark->ns;
      if (mark->type != HW_TOOL_RESUMED || paused_ns == UINT64_MAX)
        continue;
      add_silence(text, &separator, paused_ns, mark->ns);
      paused_ns = UINT64_MAX;
    }
    if (paused_ns != UINT64_MAX)
      add_silence(text, &separator, paused_ns, UINT64_MAX);
    if (info->silent_from_ns != UINT64_MAX)
      add_silence(text, &separator, info->silent_from_ns, UINT64_MAX);
  }
  if (separator == first)
    hwi_line_puts(&text->line, "; never silent");
}

void hwi_text_evidence(struct hwi_text *text)
{
  const struct hwi_totals *totals = &text->profile->totals;
  struct evidence sum = collect(text->profile);
  add_count(text, "Evidence: ", totals->allocation_calls + totals->free_calls + totals->failed_calls, " events");
  add_count(text, ", ", sum.lost, " lost");
  add_count(text, "; ", sum.audited, " spliced stacks audited");
  add_count(text, ", ", sum.different, " differ");
  add_count(text, "; ", sum.cut, " stacks cut");
  add_count(text, ", ", sum.unfinished, " unfinished");
  add_count(text, "; ", sum.children_unseen, " children unseen");
  add_silences(text);
  if (sum.damaged > 0)
    add_count(text, "; ", sum.damaged, " chunks damaged or missing");
  if (sum.without_node > 0)
    add_count(text, "; ", sum.without_node, " events with a shortened stack (table of stacks full)");
  if (totals->unmatched_frees > 0)
    add_count(text, "; ", totals->unmatched_frees, " unmatched frees");
  if (totals->frees_of_silent_blocks > 0)
    add_count(text, "; ", totals->frees_of_silent_blocks, " frees of blocks born in silence");
  if (totals->inherited_frees > 0)
    add_count(text, "; ", totals->inherited_frees, " frees of inherited blocks");
  if (totals->missed_frees > 0)
    add_count(text, "; ", totals->missed_frees, " frees not seen");
  hwi_text_end_wrapped(text, sizeof "Evidence: " - 1, HWI_PLAIN);
}
