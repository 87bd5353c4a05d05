/* core.c - the head of a report on a core dump, and the parts of its heap */
#include <inttypes.h>
#include <string.h>

#include "base/base_name.h"
#include "memory/types/block_types.h"
#include "memory/types/contents.h"
#include "report/content/core_pins.h"
#include "report/content/core_sums.h"
#include "report/text/text.h"

/* --- the head --- */

static void print_name(struct hwi_text *text, const struct hwi_core *core)
{
  struct hwi_line name = {0};
  hwi_line_clean(&name, hwi_base_name(core->name));
  hwi_line_shorten(&text->line, hwi_line_text(&name), text->style->columns / 2, hwi_style_ellipsis(text->style));
  hwi_line_release_part(&text->line, &name);
  hwi_line_puts(&text->line, "   ");
  hwi_line_clean(&text->line, core->memory->command);
  hwi_text_end_wrapped(text, 2, HWI_BOLD);
}

static void print_note(struct hwi_text *text, const struct hwi_memory_note *note)
{
  hwi_line_printf(&text->line, "%s: %s", hwi_bytes_text(note->bytes).text, note->text);
  if (note->filter)
    hwi_line_printf(&text->line, " (the bits %#x of coredump_filter keep it)", note->filter);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

static void print_process(struct hwi_text *text, const struct hwi_core *core)
{
  const struct hwi_memory *memory = core->memory;
  if (memory->pid)
    hwi_line_printf(&text->line, "PID %" PRIu32 ", ", memory->pid);
  if (memory->signal && sigabbrev_np(memory->signal))
    hwi_line_printf(&text->line, "killed by SIG%s, ", sigabbrev_np(memory->signal));
  if (memory->thread_count)
    hwi_line_counted(&text->line, memory->thread_count, "thread");
  else
    hwi_line_puts(&text->line, "threads are not known");
  if (core->stop_ns)
    hwi_line_printf(&text->line, "; stopped for %s", hwi_time_text(core->stop_ns).text);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
  for (size_t i = 0; i < memory->note_count; i++)
    print_note(text, &memory->notes[i]);
}

static void print_abort_message(struct hwi_text *text, const struct hwi_core *core)
{
  if (!core->abort_message[0])
    return;
  hwi_line_puts(&text->line, "The C library ended it: ");
  hwi_line_clean(&text->line, core->abort_message);
  hwi_text_end_wrapped(text, 2, HWI_ALARM);
}

void hwi_text_core_sum(struct hwi_text *text, const char *label, const struct hwi_core_heap_sum *sum, const char *more)
{
  enum { LABEL_CELLS = 12 };
  struct hwi_line blocks = {0};
  hwi_line_puts(&text->line, "  ");
  hwi_line_left(&text->line, label, LABEL_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(sum->bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_puts(&text->line, "   ");
  if (sum->blocks)
    hwi_line_counted(&blocks, sum->blocks, "block");
  hwi_line_left(&text->line, hwi_line_text(&blocks), 2 * HWI_AMOUNT_CELLS);
  hwi_line_release_part(&text->line, &blocks);
  const size_t used = hwi_cells(hwi_line_text(&text->line)), columns = text->style->columns;
  hwi_line_shorten(&text->line, more, columns > used ? columns - used : 0, hwi_style_ellipsis(text->style));
  hwi_text_end(text, HWI_PLAIN);
}

static void print_figures(struct hwi_text *text, const struct hwi_core_sums *sums)
{
  const uint64_t known = sums->live.bytes + sums->cached.bytes + sums->free.bytes + sums->top.bytes;
  const uint64_t unknown =
      sums->system_bytes > sums->understood_bytes ? sums->system_bytes - sums->understood_bytes : 0;
  const struct hwi_core_heap_sum system = {0, sums->system_bytes};
  hwi_text_core_sum(text, "live", &sums->live, "in use by the program");
  hwi_text_core_sum(text, "cached", &sums->cached, "free, kept for a thread or a size");
  hwi_text_core_sum(text, "free", &sums->free, "between blocks");
  hwi_text_core_sum(text, "top", &sums->top, "free, at the ends of arenas");
  if (sums->system_bytes >= known + unknown)
    hwi_text_core_sum(text, "overhead", &(struct hwi_core_heap_sum){0, sums->system_bytes - known - unknown},
                      "of the allocator");
  if (unknown)
    hwi_text_core_sum(text, "unknown", &(struct hwi_core_heap_sum){0, unknown}, "not understood, see below");
  hwi_text_core_sum(text, "system", &system, "from the kernel");
}

/* If there are several blocks, also how many of them each stack allocated. */
static void print_pin_owners(struct hwi_text *text, const struct hwi_pin *pin)
{
  struct hwi_pin_owner owners[HWI_PIN_OWNERS_MAX];
  const struct hwi_core_names *names = text->report->core_names;
  const size_t count = hwi_pin_owners_find(names, pin, owners);
  for (size_t i = 0; i < count; i++) {
    struct hwi_line stack = {0};
    hwi_line_puts(&text->line, "  ");
    if (pin->blocks > 1) {
      hwi_line_counted(&text->line, owners[i].blocks, "block");
      hwi_line_printf(&text->line, " of %s ", hwi_bytes_text(owners[i].bytes).text);
    }
    if (hwi_core_names_stack(names, owners[i].block, &stack))
      hwi_line_printf(&text->line, "allocated by %s", hwi_line_text(&stack));
    else
      hwi_line_puts(&text->line, "allocated by functions without names");
    hwi_line_release_part(&text->line, &stack);
    hwi_text_end_wrapped(text, 4, HWI_PLAIN);
  }
}

static void print_fragmentation(struct hwi_text *text, const struct hwi_core *core)
{
  struct hwi_fragmentation fragmentation;
  hwi_fragmentation_find(&fragmentation, core->heap);
  for (size_t i = 0; i < fragmentation.pin_count; i++) {
    const struct hwi_pin *pin = &fragmentation.pins[i];
    hwi_line_counted(&text->line, pin->blocks, "block");
    hwi_line_printf(&text->line, " of %s%s at %#" PRIx64 " %s %s of free memory from being returned to the kernel.",
                    hwi_bytes_text(pin->bytes).text, pin->blocks == 1 ? "" : " and higher", pin->address,
                    pin->blocks == 1 ? "keeps" : "keep", hwi_bytes_text(pin->held_bytes).text);
    hwi_text_end_wrapped(text, 2, HWI_ALARM);
    print_pin_owners(text, pin);
  }
  if (!fragmentation.page_bytes)
    return;
  hwi_line_printf(&text->line, "Of what is free, %s are whole pages%s.", hwi_bytes_text(fragmentation.page_bytes).text,
                  hwi_core_heap_is_of(core->heap, HWI_CORE_GLIBC) ? ", which malloc_trim(0) can give back" : "");
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

/* Other damage is not explained by what is around it. */
static void print_overrun(struct hwi_text *text, const struct hwi_core_heap *heap)
{
  const struct hwi_damage *overrun = hwi_core_heap_first_overrun(heap);
  if (!overrun)
    return;
  hwi_line_printf(&text->line, "--around %#" PRIx64 " shows the blocks there, and whose overflow it may be.",
                  overrun->address);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

static void print_understood(struct hwi_text *text, const struct hwi_core *core, const struct hwi_core_sums *sums)
{
  const bool is_sound = sums->understood_bytes == sums->system_bytes && !core->heap->damage_count;
  if (is_sound) {
    hwi_line_puts(&text->line, "Understood: all of it; the blocks of each part add up to its memory.");
    hwi_text_end_wrapped(text, 2, HWI_PLAIN);
    return;
  }
  if (sums->understood_bytes == sums->system_bytes)
    hwi_line_puts(&text->line, "Understood: all of it, but not everything in it can be so:");
  else
    hwi_line_printf(&text->line, "Understood: %.1f %% (%s of %s).", hwi_core_understood_percent(sums),
                    hwi_bytes_text(sums->understood_bytes).text, hwi_bytes_text(sums->system_bytes).text);
  hwi_text_end_wrapped(text, 2, HWI_ALARM);
  for (size_t i = 0; i < core->heap->damage_count && i < hwi_text_rows(text, HWI_DAMAGES_MAX); i++) {
    hwi_line_printf(&text->line, "  at %#" PRIx64 ": %s", core->heap->damages[i].address, core->heap->damages[i].text);
    hwi_text_end_wrapped(text, 4, HWI_PLAIN);
  }
  print_overrun(text, core->heap);
}

static void print_types(struct hwi_text *text, const struct hwi_block_types *types)
{
  if (!types || !types->is_cut)
    return;
  hwi_line_puts(&text->line,
                "Types: some were not found, since there is too much debug information, or too many pointers.");
  hwi_text_end_wrapped(text, 2, HWI_ALARM);
}

void hwi_text_core(struct hwi_text *text, const struct hwi_core *core)
{
  const struct hwi_core_sums sums = hwi_core_sums_of(core);
  print_name(text, core);
  print_process(text, core);
  print_abort_message(text, core);
  hwi_text_core_crash(text);
  hwi_line_printf(&text->line, "The heap of %s: %s live in ", core->heap->allocator,
                  hwi_bytes_text(sums.live.bytes).text);
  hwi_line_counted(&text->line, sums.live.blocks, "block");
  if (!core->recording && !hwi_core_heap_is_of(core->heap, HWI_CORE_MUSL))
    hwi_line_puts(&text->line, core->heap->owners || core->recorded_blocks
                                   ? " (usable sizes)"
                                   : " (usable sizes: those asked for are not known)");
  hwi_text_end_wrapped(text, 2, HWI_BOLD);
  if (core->recording) {
    hwi_line_counted(&text->line, core->recorded_blocks, "block");
    hwi_line_puts(&text->line, " of them are in the recording ");
    hwi_line_clean(&text->line, hwi_base_name(core->recording));
    hwi_line_puts(&text->line, ": below, they have the sizes that were asked for.");
    hwi_text_end_wrapped(text, 2, HWI_PLAIN);
  }
  hwi_text_core_recorder(text, core);
  hwi_text_blank(text);
  print_figures(text, &sums);
  hwi_text_blank(text);
  print_fragmentation(text, core);
  print_understood(text, core, &sums);
  print_types(text, core->types);
}

/* --- what blocks hold --- */

static void print_content(struct hwi_text *text, enum hwi_content content, const struct hwi_core_heap_sum *sum)
{
  static const char *const explained[HWI_CONTENTS] = {"zeros",           "text at the start",
                                                      "mostly pointers", "spread like compressed or encrypted data",
                                                      "other data",      "not in the file"};
  if (!sum->blocks)
    return;
  hwi_line_right(&text->line, hwi_bytes_text(sum->bytes).text, HWI_RANK_CELLS + HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_count_text(sum->blocks).text, HWI_AMOUNT_CELLS);
  hwi_line_printf(&text->line, "   %s", explained[content]);
  hwi_text_end(text, HWI_PLAIN);
}

static void print_duplicate(struct hwi_text *text, const struct hwi_core *core, const struct hwi_duplicate *duplicate)
{
  struct hwi_memory_reader reader = {.memory = core->memory};
  char words[HWI_CONTENT_TEXT_BYTES];
  struct hwi_line clean = {0};
  const unsigned char *bytes = hwi_memory_bytes(&reader, duplicate->address, duplicate->bytes);
  hwi_content_text(words, bytes, bytes ? duplicate->bytes : 0);
  hwi_line_right(&text->line, hwi_bytes_text((duplicate->copies - 1) * duplicate->bytes).text,
                 HWI_RANK_CELLS + HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_count_text(duplicate->copies).text, HWI_AMOUNT_CELLS);
  hwi_line_printf(&text->line, "   x %s, one at %#" PRIx64 " ", hwi_bytes_text(duplicate->bytes).text,
                  duplicate->address);
  hwi_line_clean(&clean, words);
  const size_t used = hwi_cells(hwi_line_text(&text->line)), columns = text->style->columns;
  hwi_line_shorten(&text->line, hwi_line_text(&clean), columns > used ? columns - used : 0,
                   hwi_style_ellipsis(text->style));
  hwi_line_release_part(&text->line, &clean);
  hwi_text_end(text, HWI_PLAIN);
}

void hwi_text_core_contents(struct hwi_text *text, const struct hwi_core *core)
{
  const struct hwi_core_contents *contents = core->contents;
  hwi_text_blank(text);
  hwi_text_heading(text, "What live blocks hold", "");
  hwi_line_right(&text->line, "bytes", HWI_RANK_CELLS + HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "blocks", HWI_AMOUNT_CELLS);
  hwi_text_end(text, HWI_DIM);
  for (int i = 0; i < HWI_CONTENTS; i++)
    print_content(text, (enum hwi_content)i, &contents->sums[i]);
  hwi_text_blank(text);
  hwi_text_heading(text, "Equal blocks", "");
  hwi_line_puts(&text->line, "  ");
  hwi_line_counted(&text->line, contents->duplicates.blocks, "block");
  hwi_line_printf(&text->line, " with %s %s the same bytes as another one",
                  hwi_bytes_text(contents->duplicates.bytes).text, contents->duplicates.blocks == 1 ? "has" : "have");
  hwi_text_end_wrapped(text, 4, HWI_PLAIN);
  for (size_t i = 0; i < hwi_text_rows(text, contents->most_count); i++)
    print_duplicate(text, core, &contents->most[i]);
}

/* --- the parts --- */

static void print_part(struct hwi_text *text, const struct hwi_core_heap_part *part)
{
  enum { NAME_CELLS = 24 };
  const struct hwi_core_sums sums = hwi_core_sums_of_part(part);
  const uint64_t bytes[] = {sums.live.bytes, sums.cached.bytes, sums.free.bytes, sums.top.bytes, sums.system_bytes};
  hwi_line_left(&text->line, part->name, NAME_CELLS);
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    hwi_line_right(&text->line, hwi_bytes_text(bytes[i]).text, HWI_AMOUNT_CELLS);
  if (sums.understood_bytes != sums.system_bytes)
    hwi_line_printf(&text->line, "  %.1f %% understood", hwi_core_understood_percent(&sums));
  hwi_text_end(text, HWI_PLAIN);
}

void hwi_text_core_parts(struct hwi_text *text, const struct hwi_core *core)
{
  const struct hwi_core_heap *heap = core->heap;
  const uint64_t rows = hwi_text_rows(text, heap->part_count);
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Parts of the heap               live      cached        free         top      system");
  hwi_text_end(text, HWI_BOLD);
  for (uint64_t i = 0; i < rows; i++)
    if (heap->parts[i].system_bytes || heap->parts[i].understood_bytes)
      print_part(text, &heap->parts[i]);
  if (rows < heap->part_count) {
    hwi_text_rest(text, heap->part_count - rows, "part");
    hwi_text_end(text, HWI_PLAIN);
  }
}
