/* evidence.c - how complete the recording is: notes near the top if something is missing, and always a line of
 * evidence */
#include <inttypes.h>
#include <string.h>

#include "report/content/evidence.h"
#include "report/text/text.h"

/* --- notes: for all processes together, since a run may have thousands --- */

static void end_note(struct hwi_text *text, enum hwi_emphasis emphasis)
{
  hwi_text_end_wrapped(text, 2, emphasis);
}

/* Images that are still being written or were saved then, images in which recording ended early, and the first time that
 * it did. */
struct unfinished {
  uint32_t running, saved, silent;
  bool stopped; /* any of them by more than a pause */
  struct hwi_silence first;
};

static void count_silence(void *context, const struct hwi_silence *silence)
{
  struct unfinished *found = context;
  if (silence->to_ns != UINT64_MAX)
    return; /* a pause that ended is shown in the chart and in the line of evidence */
  const uint32_t state = hwi_evidence_state_of(silence->why);
  found->saved += state == HW_STATE_SAVED;
  if (state == HW_STATE_SAVED)
    return;
  found->stopped |= state != 0;
  if (found->silent++ == 0 || silence->from_ns < found->first.from_ns)
    found->first = *silence;
}

/* Returns whether recording stopped in any image. */
static bool note_unfinished(struct hwi_text *text)
{
  struct unfinished found = {0};
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    const struct hwi_image *image = &text->profile->images[i];
    if (!image->counted)
      continue;
    found.running += image->info->being_written;
    hwi_evidence_silences(image->info, count_silence, &found);
  }
  if (found.running > 0) {
    hwi_line_puts(&text->line, "Still being written: this is the recording up to now; \"at the end\" means now.");
    end_note(text, HWI_ALARM);
  }
  if (found.saved > 0) {
    hwi_line_puts(&text->line,
                  "Saved while the program ran: this is the recording up to then; \"at the end\" means that moment.");
    end_note(text, HWI_ALARM);
  }
  if (found.silent == 0)
    return false;
  hwi_line_printf(&text->line, "Silent from %s on (%s)", hwi_time_text(found.first.from_ns).text, found.first.why);
  if (found.silent > 1)
    hwi_line_printf(&text->line, ", and %s more process%s", hwi_count_text(found.silent - 1).text,
                    found.silent == 2 ? "" : "es");
  hwi_line_puts(&text->line, ": what came later is not in these figures.");
  end_note(text, HWI_ALARM);
  return found.stopped;
}

/* A piece that cannot be read may contain several that are then missing: one note for both. */
static void note_damage(struct hwi_text *text, const struct hwi_evidence *sum)
{
  uint64_t pieces = sum->damaged_chunks + sum->missing_chunks;
  if (pieces == 0)
    return;
  hwi_line_puts(&text->line, "Damaged: ");
  if (sum->damaged_chunks > 0) {
    hwi_line_counted(&text->line, sum->damaged_chunks, "piece");
    hwi_line_puts(&text->line, " of the trace could not be read");
    if (text->counted == 1)
      hwi_line_printf(&text->line, " (the first at offset %" PRIu64 ")", text->image->info->first_damage_off);
    if (sum->missing_chunks > 0)
      hwi_line_printf(&text->line, ", and %s more %s missing", hwi_count_text(sum->missing_chunks).text,
                      sum->missing_chunks == 1 ? "is" : "are");
  } else {
    hwi_line_counted(&text->line, pieces, "piece");
    hwi_line_printf(&text->line, " of the trace %s missing", pieces == 1 ? "is" : "are");
  }
  hwi_line_printf(&text->line, "; no figure includes %s events.", pieces == 1 ? "its" : "their");
  end_note(text, HWI_ALARM);
}

static void put_loss_causes(struct hwi_text *text, const struct hwi_evidence *sum)
{
  const char *before = ": ";
  for (int loss = 0; loss < HW_LOSSES; loss++) {
    if (!sum->lost_by_cause[loss])
      continue;
    hwi_line_printf(&text->line, "%s%s %s", before, hwi_count_text(sum->lost_by_cause[loss]).text,
                    hwi_loss_text((enum hw_loss)loss));
    before = ", ";
  }
}

/* --- programs that left no trace: each is named once --- */

enum { PROGRAMS_SHOWN_MAX = 4 };

struct programs {
  struct hwi_unseen_program shown[PROGRAMS_SHOWN_MAX];
  uint64_t times[PROGRAMS_SHOWN_MAX];
  uint64_t count, others;
};

static void collect_program(void *context, const struct hwi_unseen_program *program)
{
  struct programs *programs = context;
  for (uint64_t i = 0; i < programs->count; i++) {
    if (strcmp(programs->shown[i].name, program->name) == 0 &&
        strcmp(programs->shown[i].by->info->exe, program->by->info->exe) == 0) {
      programs->times[i]++;
      return;
    }
  }
  if (programs->count == PROGRAMS_SHOWN_MAX) {
    programs->others++;
    return;
  }
  programs->shown[programs->count] = *program;
  programs->times[programs->count++] = 1;
}

static void add_program(struct hwi_line *line, const struct hwi_unseen_program *program, uint64_t times)
{
  hwi_line_clean(line, program->name[0] != '\0' ? program->name : "a program");
  if (times > 1)
    hwi_line_printf(line, " (%s times)", hwi_count_text(times).text);
  hwi_line_puts(line, program->is_child ? ", started by " : ", executed by ");
  hwi_line_clean(line, hwi_base_name(program->by->info->exe));
}

static void add_programs(struct hwi_text *text)
{
  struct programs programs = {0};
  hwi_evidence_unseen_programs(text->profile, collect_program, &programs);
  for (uint64_t i = 0; i < programs.count; i++) {
    hwi_line_puts(&text->line, i == 0 ? ": " : "; ");
    add_program(&text->line, &programs.shown[i], programs.times[i]);
  }
  if (programs.others > 0)
    hwi_line_printf(&text->line, "; and %s more", hwi_count_text(programs.others).text);
}

/* Events lost after recording stopped belong to the silence, which has its own note. */
static void note_losses(struct hwi_text *text, const struct hwi_evidence *sum, bool stopped)
{
  if (sum->lost_events > 0 && !stopped) {
    hwi_line_puts(&text->line, "Lost: ");
    hwi_line_counted(&text->line, sum->lost_events, "event");
    hwi_line_puts(&text->line, " could not be kept");
    put_loss_causes(text, sum);
    hwi_line_puts(&text->line, ".");
    end_note(text, HWI_ALARM);
  }
  if (sum->audit_differences > 0) {
    hwi_line_printf(&text->line, "Doubtful stacks: %s of %s audited ones differ from a full walk. Please report this.",
                    hwi_count_text(sum->audit_differences).text, hwi_count_text(sum->audited_stacks).text);
    end_note(text, HWI_ALARM);
  }
  if (sum->children_unseen > 0) {
    hwi_line_printf(&text->line, "Not seen: %s %s ran without being recorded ",
                    hwi_count_text(sum->children_unseen).text, sum->children_unseen == 1 ? "child" : "children");
    hwi_line_puts(
        &text->line,
        "(static, 32-bit, setuid or another user's programs, a sanitizer, a sandbox, env -i, a ulimit or a full disk that "
        "forbids the trace, or forked after recording had stopped)");
    add_programs(text);
    hwi_line_puts(&text->line, ".");
    end_note(text, HWI_PLAIN);
  }
  if (sum->unreadable_images > 0) {
    hwi_line_puts(&text->line, "Not counted: ");
    hwi_line_counted(&text->line, sum->unreadable_images, "trace");
    hwi_line_printf(&text->line, " next to the others %s damaged, or of another run.",
                    sum->unreadable_images == 1 ? "is" : "are");
    end_note(text, HWI_ALARM);
  }
}

/* Returns what a note means to the reader, or NULL. Every program has blocks from before libc was ready: these are
 * in the line of evidence only. */
static const char *meaning_of(const struct hwi_note *note)
{
  switch (note->kind) {
  case HW_NOTE_OWN_MALLOC:
    return "brings its own malloc, whose calls do not reach the recorder.";
  case HW_NOTE_OWN_NEW:
    return "brings its own operator new, which is seen only where it calls malloc.";
  case HW_NOTE_STATIC_ALLOCATOR:
    return "has its own allocator linked in, whose calls do not reach the recorder.";
  case HW_NOTE_STRICT:
    return "(a thread) entered strict seccomp, which forbids the clocks: its later calls have the time of its last "
           "call before that, and are recorded until its last piece of the trace was full.";
  case HW_NOTE_LATE:
    return "(the recorder was loaded only for what the program states by ITT or NVTX; heapwright record sees all).";
  case HW_NOTE_IGNORED:
    return "(a function of ITT that the program calls, which is ignored).";
  case HW_NOTE_IMPORTED:
    return "(imported from a tool's recording that does not have them).";
  case HW_NOTE_MEMORY:
    return "(the heap was read from memory, which does not have them).";
  case HW_NOTE_NOT_REDIRECTED:
    return "(its calls do not reach the recorder).";
  default:
    return NULL;
  }
}

/* A note about a whole malloc that is hidden is printed also for images that are not shown: it may be the reason. */
static const char *meaning_if_printed(const struct hwi_image *image, const struct hwi_note *note)
{
  bool hides_all = note->kind == HW_NOTE_OWN_MALLOC || note->kind == HW_NOTE_STATIC_ALLOCATOR ||
                   note->kind == HW_NOTE_LATE || note->kind == HW_NOTE_NOT_REDIRECTED;
  return image->counted || hides_all ? meaning_of(note) : NULL;
}

static bool is_printed(const struct hwi_image *image, const struct hwi_note *note)
{
  if (note->kind == HW_NOTE_ALLOCATOR || note->kind == HW_NOTE_REDIRECTED)
    return image->counted;
  return meaning_if_printed(image, note);
}

/* Whether an earlier image has the same note. */
static bool is_known(const struct hwi_profile *profile, uint32_t image, const struct hwi_note *note)
{
  for (uint32_t i = 0; i < image; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    for (uint32_t k = 0; info && k < info->note_count && is_printed(&profile->images[i], note); k++) {
      if (info->notes[k].kind == note->kind && strcmp(info->notes[k].text, note->text) == 0)
        return true;
    }
  }
  return false;
}

/* Whether note_linked_in names the allocator whose malloc that is. */
static bool is_linked_in(const struct hwi_text *text, uint32_t image, const struct hwi_note *note)
{
  return note->kind == HW_NOTE_OWN_MALLOC && text->static_allocators.texts[image] &&
         strcmp(note->text, text->profile->images[image].info->exe) == 0;
}

static void note_all_unseen(struct hwi_text *text)
{
  enum { SHOWN_MAX = 4 };
  uint32_t shown = 0;
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    const struct hwi_image *image = &text->profile->images[i];
    for (uint32_t k = 0; image->info && k < image->info->note_count && shown < SHOWN_MAX; k++) {
      const struct hwi_note *note = &image->info->notes[k];
      const char *meaning = meaning_if_printed(image, note);
      if (!meaning || is_known(text->profile, i, note) || is_linked_in(text, i, note))
        continue;
      hwi_line_puts(&text->line, "Not seen: ");
      if (!image->counted) {
        hwi_line_puts(&text->line, "in ");
        hwi_line_clean(&text->line, hwi_base_name(image->info->exe));
        hwi_line_puts(&text->line, ", which is not shown, ");
      }
      hwi_line_clean(&text->line, note->kind == HW_NOTE_NOT_REDIRECTED ? note->text : hwi_base_name(note->text));
      hwi_line_printf(&text->line, " %s", meaning);
      end_note(text, HWI_PLAIN);
      shown++;
    }
  }
}

/* Each program is named once. */
static bool is_named(const struct hwi_text *text, uint32_t image)
{
  const struct hwi_image *images = text->profile->images;
  for (uint32_t i = 0; i < image; i++) {
    if (text->static_allocators.texts[i] && strcmp(images[i].info->exe, images[image].info->exe) == 0)
      return true;
  }
  return false;
}

static void note_linked_in(struct hwi_text *text)
{
  enum { SHOWN_MAX = 4 };
  uint32_t shown = 0;
  for (uint32_t i = 0; i < text->profile->image_count && shown < SHOWN_MAX; i++) {
    if (!text->static_allocators.texts[i] || is_named(text, i))
      continue;
    hwi_line_puts(&text->line, "Not seen: ");
    hwi_line_clean(&text->line, hwi_base_name(text->profile->images[i].info->exe));
    hwi_line_printf(&text->line, " has %s linked in, whose calls do not reach the recorder.",
                    text->static_allocators.texts[i]);
    end_note(text, HWI_PLAIN);
    shown++;
  }
}

static void note_dropped(struct hwi_text *text, const struct hwi_evidence *sum)
{
  if (sum->dropped_until_ns == 0)
    return;
  hwi_line_printf(&text->line, "Kept: the events from %s on; of before: what still lives, and totals (record --keep).",
                  hwi_time_text(sum->dropped_until_ns).text);
  if (sum->peak_is_of_kept)
    hwi_line_puts(&text->line,
                  " The peak of all processes together is that of the kept events: --pid shows each one's own.");
  end_note(text, HWI_PLAIN);
}

void hwi_text_notes(struct hwi_text *text)
{
  uint64_t before = text->printed;
  struct hwi_evidence sum = hwi_evidence_of(text->profile);
  note_dropped(text, &sum);
  bool stopped = note_unfinished(text);
  note_damage(text, &sum);
  note_losses(text, &sum, stopped);
  hwi_text_short_stacks(text);
  note_all_unseen(text);
  note_linked_in(text);
  if (text->printed != before)
    hwi_text_blank(text);
}

/* --- the line of evidence --- */

struct silences {
  struct hwi_text *text;
  uint64_t count;
};

enum { SILENCES_SHOWN = 5 };

static void add_silence(void *context, const struct hwi_silence *silence)
{
  struct silences *silences = context;
  if (hwi_evidence_state_of(silence->why) == HW_STATE_SAVED)
    return;
  if (++silences->count > SILENCES_SHOWN)
    return;
  struct hwi_number from = hwi_time_text(silence->from_ns), to = hwi_time_text(silence->to_ns);
  hwi_line_printf(&silences->text->line, "%s%s to %s (%s)", silences->count == 1 ? "; silent " : ", ", from.text,
                  silence->to_ns == UINT64_MAX ? "the end" : to.text, silence->why);
}

static void add_silences(struct hwi_text *text)
{
  struct silences silences = {.text = text};
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    if (text->profile->images[i].counted)
      hwi_evidence_silences(text->profile->images[i].info, add_silence, &silences);
  }
  if (silences.count == 0)
    hwi_line_puts(&text->line, "; never silent");
  else if (silences.count > SILENCES_SHOWN)
    hwi_line_printf(&text->line, " and %s times more", hwi_count_text(silences.count - SILENCES_SHOWN).text);
}

/* "jemalloc (je_malloc) in /usr/bin/app": the path without its folders. */
static void add_redirected(struct hwi_text *text, const struct hwi_note *note)
{
  static const char before_path[] = " in /";
  char allocator[64];
  const char *path = strstr(note->text, before_path);
  const size_t bytes = path ? (size_t)(path - note->text) : 0;
  hwi_line_puts(&text->line, "; ");
  if (bytes > 0 && bytes < sizeof allocator) {
    memcpy(allocator, note->text, bytes);
    allocator[bytes] = 0;
    hwi_line_clean(&text->line, allocator);
    hwi_line_puts(&text->line, " in ");
  }
  hwi_line_clean(&text->line, hwi_base_name(note->text));
  hwi_line_puts(&text->line, " redirected");
}

/* Adds the allocators of the images, if they are not the C library's. */
static void add_allocators(struct hwi_text *text)
{
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    const struct hwi_image *image = &text->profile->images[i];
    for (uint32_t k = 0; image->counted && k < image->info->note_count; k++) {
      const struct hwi_note *note = &image->info->notes[k];
      if (note->kind == HW_NOTE_REDIRECTED && !is_known(text->profile, i, note))
        add_redirected(text, note);
      if (note->kind != HW_NOTE_ALLOCATOR || is_known(text->profile, i, note))
        continue;
      hwi_line_puts(&text->line, "; malloc of ");
      hwi_line_clean(&text->line, hwi_base_name(note->text));
    }
  }
}

void hwi_text_evidence(struct hwi_text *text)
{
  const struct hwi_profile *profile = text->profile;
  const struct hwi_totals *totals = &profile->totals;
  struct hwi_evidence sum = hwi_evidence_of(profile);
  bool is_run = profile->span.kind == HWI_SPAN_RUN, is_moment = profile->span.kind == HWI_SPAN_MOMENT;
  const struct {
    const char *before;
    uint64_t count;
    const char *one, *many;
    bool always;
  } items[] = {
      {"", sum.events, is_run ? "event" : "event in the interval", is_run ? "events" : "events in the interval",
       !is_moment},
      {is_moment ? "" : ", ", sum.lost_events, is_moment ? "event lost" : "lost", is_moment ? "events lost" : "lost",
       true},
      {"; ", sum.audited_stacks, "spliced stack audited", "spliced stacks audited", true},
      {", ", sum.audit_differences, "differs", "differ", true},
      {"; ", sum.truncated_stacks, "stack cut", "stacks cut", true},
      {", ", sum.unfinished_stacks, "unfinished", "unfinished", true},
      {"; ", sum.children_unseen, "child unseen", "children unseen", true},
      {"; ", sum.unreadable_images, "trace of a child unreadable", "traces of children unreadable", false},
      {"; ", sum.damaged_chunks + sum.missing_chunks, "piece damaged or missing", "pieces damaged or missing", false},
      {"; ", sum.node_limit_hits, "stack not known (table of stacks full)", "stacks not known (table of stacks full)",
       false},
      {"; ", sum.boot_blocks, "block without a stack, given out before libc was ready",
       "blocks without a stack, given out before libc was ready", false},
      {"; ", totals->unmatched_frees, "unmatched free", "unmatched frees", false},
      {"; ", totals->frees_of_silent_blocks, "free of a block allocated while silent",
       "frees of blocks allocated while silent", false},
      {"; ", totals->inherited_frees, "free of an inherited block", "frees of inherited blocks", false},
      {"; ", totals->missed_frees, "free not seen", "frees not seen", false},
  };
  hwi_line_puts(&text->line, "Evidence: ");
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    if (items[i].always || items[i].count > 0)
      hwi_line_printf(&text->line, "%s%s %s", items[i].before, hwi_count_text(items[i].count).text,
                      items[i].count == 1 ? items[i].one : items[i].many);
  }
  if (profile->sample_bytes)
    hwi_line_printf(&text->line, "; sampled: one allocation per %s", hwi_binary_bytes_text(profile->sample_bytes).text);
  if (sum.dropped_until_ns > 0)
    hwi_line_printf(&text->line, "; events before %s dropped", hwi_time_text(sum.dropped_until_ns).text);
  add_allocators(text);
  add_silences(text);
  hwi_text_end_wrapped(text, sizeof "Evidence: " - 1, HWI_PLAIN);
}
