/* core.c - the head of a report on a core dump, and the parts of its heap */
#include <inttypes.h>
#include <string.h>

#include "base/base_name.h"
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

static void print_process(struct hwi_text *text, const struct hwi_memory *memory)
{
  if (memory->pid)
    hwi_line_printf(&text->line, "PID %" PRIu32 ", ", memory->pid);
  if (memory->signal && sigabbrev_np(memory->signal))
    hwi_line_printf(&text->line, "killed by SIG%s, ", sigabbrev_np(memory->signal));
  if (memory->thread_count)
    hwi_line_counted(&text->line, memory->thread_count, "thread");
  else
    hwi_line_puts(&text->line, "threads are not known");
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
  if (memory->missing) {
    hwi_line_printf(&text->line, "The file is truncated: %s are missing, the first of address %#" PRIx64 ".",
                    hwi_bytes_text(memory->missing).text, memory->missing_from);
    hwi_text_end_wrapped(text, 2, HWI_ALARM);
  }
}

static void print_figure(struct hwi_text *text, const char *label, const struct hwi_core_heap_sum *sum,
                         const char *more)
{
  enum { LABEL_CELLS = 12, FIGURE_CELLS = 12, MORE_CELLS = 40 };
  struct hwi_line blocks = {0};
  hwi_line_puts(&text->line, "  ");
  hwi_line_left(&text->line, label, LABEL_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(sum->bytes).text, FIGURE_CELLS);
  if (sum->blocks)
    hwi_line_counted(&blocks, sum->blocks, "block");
  hwi_line_puts(&text->line, "   ");
  hwi_line_left(&text->line, hwi_line_text(&blocks), 2 * FIGURE_CELLS);
  hwi_line_release_part(&text->line, &blocks);
  hwi_line_shorten(&text->line, more, MORE_CELLS, hwi_style_ellipsis(text->style));
  hwi_text_end(text, HWI_PLAIN);
}

static void print_figures(struct hwi_text *text, const struct hwi_core_sums *sums)
{
  struct hwi_core_heap_sum rest = {0, sums->system_bytes - sums->live.bytes - sums->cached.bytes - sums->free.bytes -
                                          sums->top.bytes - sums->own.bytes};
  const struct hwi_core_heap_sum system = {0, sums->system_bytes};
  print_figure(text, "live", &sums->live, "in use by the program");
  print_figure(text, "cached", &sums->cached, "free, kept for a thread or a size");
  print_figure(text, "free", &sums->free, "between blocks");
  print_figure(text, "top", &sums->top, "free, at the ends of arenas");
  if (sums->understood_bytes == sums->system_bytes)
    print_figure(text, "overhead", &(struct hwi_core_heap_sum){0, rest.bytes + sums->own.bytes}, "of the allocator");
  print_figure(text, "system", &system, "from the kernel");
}

static void print_understood(struct hwi_text *text, const struct hwi_core *core, const struct hwi_core_sums *sums)
{
  const bool is_sound = sums->understood_bytes == sums->system_bytes && !core->heap->damage_count;
  if (is_sound) {
    hwi_line_puts(&text->line, "Understood: all of it; every arena's blocks add up to what it got from the kernel.");
    hwi_text_end_wrapped(text, 2, HWI_PLAIN);
    return;
  }
  hwi_line_printf(&text->line, "Understood: %.1f %% (%s of %s).", hwi_core_understood_percent(sums),
                  hwi_bytes_text(sums->understood_bytes).text, hwi_bytes_text(sums->system_bytes).text);
  hwi_text_end_wrapped(text, 2, HWI_ALARM);
  for (size_t i = 0; i < core->heap->damage_count && i < hwi_text_rows(text, HWI_DAMAGES_MAX); i++) {
    hwi_line_printf(&text->line, "  at %#" PRIx64 ": %s", core->heap->damages[i].address, core->heap->damages[i].text);
    hwi_text_end_wrapped(text, 4, HWI_PLAIN);
  }
}

void hwi_text_core(struct hwi_text *text, const struct hwi_core *core)
{
  const struct hwi_core_sums sums = hwi_core_sums_of(core);
  print_name(text, core);
  print_process(text, core->memory);
  hwi_line_printf(&text->line, "The heap of %s: %s live in ", core->heap->allocator,
                  hwi_bytes_text(sums.live.bytes).text);
  hwi_line_counted(&text->line, sums.live.blocks, "block");
  hwi_line_puts(&text->line, core->heap->owners ? " (usable sizes)" : " (usable sizes: those asked for are not known)");
  hwi_text_end_wrapped(text, 2, HWI_BOLD);
  hwi_text_blank(text);
  print_figures(text, &sums);
  hwi_text_blank(text);
  print_understood(text, core, &sums);
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
