/* core_blocks.c - answers about single blocks of a core dump, as text */

#include <inttypes.h>

#include "report/content/core_blocks.h"
#include "report/words/number.h"

static void end(struct hwi_line *line, const struct hwi_style *style)
{
  fprintf(style->out, "%s\n", hwi_line_text(line));
  hwi_line_clear(line);
}

/* --- who --- */

static void print_reference(struct hwi_line *line, const struct hwi_core_question *question,
                            const struct hwi_reference *reference, const struct hwi_style *style)
{
  hwi_line_puts(line, "  ");
  hwi_core_question_add_place(line, question, &reference->place);
  if (reference->place.kind == HWI_CORE_PLACE_BLOCK)
    hwi_core_block_add_names(line, question, reference->place.block);
  if (!reference->is_start)
    hwi_line_printf(line, ": to the block's +%#" PRIx64, reference->to_off);
  end(line, style);
}

static void print_neighbour(struct hwi_line *line, const struct hwi_core_question *question, const char *where,
                            uint32_t number, const struct hwi_style *style)
{
  hwi_line_printf(line, "  %s %#" PRIx64 ": ", where, question->graph->heap->blocks[number].address);
  hwi_core_block_add(line, question, number);
  end(line, style);
}

static int print_references(struct hwi_line *line, const struct hwi_core_question *question, uint32_t block,
                            const struct hwi_style *style, struct hwi_error *error)
{
  struct hwi_references references;
  const int status = hwi_references_find(&references, question->graph, block, question->most, error);
  if (status < 0)
    return status;
  fprintf(style->out, "\n%s\n",
          references.total ? "Words that hold an address in it:" : "No word holds an address in it.");
  for (size_t i = 0; i < references.count; i++)
    print_reference(line, question, &references.list[i], style);
  if (references.total > references.count)
    fprintf(style->out, "  and %s more (--top 0)\n", hwi_count_text(references.total - references.count).text);
  hwi_references_release(&references);
  return 0;
}

static int print_path(struct hwi_line *line, const struct hwi_core_question *question, uint32_t block,
                      const struct hwi_style *style, struct hwi_error *error)
{
  struct hwi_path path;
  const int status = hwi_path_find(&path, question->graph, block, error);
  if (status < 0)
    return status;
  fprintf(style->out, "\n%s\n",
          path.count ? "A shortest chain from a root:"
                     : "No chain of addresses leads to it from a root: it is leaked.");
  for (size_t i = 0; i < path.count; i++)
    print_reference(line, question, &path.steps[i], style);
  hwi_path_release(&path);
  return 0;
}

/* Returns whether the address is in a block. */
static bool print_block(struct hwi_line *line, const struct hwi_core_question *question,
                        const struct hwi_core_place *place, const struct hwi_style *style)
{
  if (place->block == HWI_NO_BLOCK) {
    hwi_line_printf(line, "0x%" PRIx64 " is in no block: ", place->address);
    hwi_core_question_add_place(line, question, place);
  } else {
    hwi_line_printf(line, "%#" PRIx64 " is at +%#" PRIx64 " of the block %#" PRIx64 ": ", place->address, place->off,
                    question->graph->heap->blocks[place->block].address);
    hwi_core_block_add(line, question, place->block);
  }
  end(line, style);
  return place->block != HWI_NO_BLOCK;
}

static int print_who(struct hwi_line *line, const struct hwi_core_question *question, uint64_t address,
                     const struct hwi_style *style, struct hwi_error *error)
{
  struct hwi_core_place place;
  const struct hwi_core_heap *heap = question->graph->heap;
  hwi_graph_place(question->graph, address, &place);
  if (!print_block(line, question, &place, style))
    return 0;
  const uint32_t block = place.block;
  fputs("\nNext to it:\n", style->out);
  if (block > 0)
    print_neighbour(line, question, "before", block - 1, style);
  if (block + 1 < heap->block_count)
    print_neighbour(line, question, "behind", block + 1, style);
  int status = print_references(line, question, block, style, error);
  if (status == 0 && place.kind == HWI_CORE_PLACE_BLOCK)
    status = print_path(line, question, block, style, error);
  return status;
}

int hwi_core_who_text(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
                      struct hwi_error *error)
{
  struct hwi_line line = {0};
  const int status = print_who(&line, question, address, style, error);
  hwi_line_release(&line);
  return status;
}

int hwi_core_path_text(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
                       struct hwi_error *error)
{
  struct hwi_core_place place;
  struct hwi_line line = {0};
  int status = 0;
  hwi_graph_place(question->graph, address, &place);
  if (print_block(&line, question, &place, style) && place.kind == HWI_CORE_PLACE_BLOCK)
    status = print_path(&line, question, place.block, style, error);
  hwi_line_release(&line);
  return status;
}
