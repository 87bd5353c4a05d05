/* heaps.c - the heaps that the program gives out itself, next to malloc: one line each, the largest peak first */
#include "report/text/text.h"

/* Adds " (2 heaps, 3 resets)": what the figures do not say. */
static void add_note(struct hwi_text *text, const struct hwi_heap *heap)
{
  bool is_first = true;
  const struct {
    uint64_t count;
    const char *noun;
  } notes[] = {
      {heap->created > 1 ? heap->created : 0, "heap"},
      {heap->resets, "reset"},
      {heap->failed_calls, "failed call"},
      {heap->unmatched_frees, "unknown free"},
      {heap->missed_frees, "missed free"},
  };
  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
    if (notes[i].count == 0)
      continue;
    hwi_line_puts(&text->line, is_first ? " (" : ", ");
    is_first = false;
    hwi_line_counted(&text->line, notes[i].count, notes[i].noun);
  }
  hwi_line_puts(&text->line, is_first ? "" : ")");
}

static void add_figures(struct hwi_text *text, const struct hwi_heap *heap)
{
  hwi_line_right(&text->line, hwi_bytes_text(heap->peak_bytes).text, HWI_RANK_CELLS + HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_count_text(heap->allocation_calls).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(heap->allocated_bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(heap->live_bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_puts(&text->line, "   ");
}

static void print_heap(struct hwi_text *text, const struct hwi_heap *heap)
{
  add_figures(text, heap);
  hwi_line_clean(&text->line, heap->name);
  add_note(text, heap);
  hwi_text_end(text, HWI_PLAIN);
}

/* The figures of malloc, to compare with. */
static struct hwi_heap malloc_of(const struct hwi_totals *totals)
{
  return (struct hwi_heap){.allocation_calls = totals->allocation_calls,
                           .allocated_bytes = totals->allocated_bytes,
                           .peak_bytes = totals->peak_bytes,
                           .live_bytes = totals->live_bytes_at_end};
}

void hwi_text_heaps(struct hwi_text *text)
{
  const struct hwi_profile *profile = text->profile;
  if (profile->heap_count == 0)
    return;
  const struct hwi_heap usual = malloc_of(&profile->totals);
  hwi_text_heading(text, "Heaps that the program gives out itself", "[--heap NAME]");
  hwi_line_right(&text->line, "peak", HWI_RANK_CELLS + HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "calls", HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "allocated", HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "at the end", HWI_AMOUNT_CELLS);
  hwi_line_puts(&text->line, "   heap");
  hwi_text_end(text, HWI_DIM);
  const uint64_t rows = hwi_text_rows(text, profile->heap_count);
  for (uint64_t i = 0; i < rows; i++)
    print_heap(text, &profile->heaps[i]);
  if (rows < profile->heap_count) {
    hwi_line_repeat(&text->line, " ", HWI_RANK_CELLS + 4 * HWI_AMOUNT_CELLS + 3);
    hwi_text_rest(text, profile->heap_count - rows, "heap");
    hwi_text_end(text, HWI_PLAIN);
  }
  add_figures(text, &usual);
  hwi_line_puts(&text->line, "malloc, to compare with");
  hwi_text_end(text, HWI_DIM);
  hwi_text_blank(text);
}
