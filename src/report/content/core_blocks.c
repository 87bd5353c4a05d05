/* core_blocks.c - the words for a block of a core dump */
#include "report/content/core_blocks.h"

#include "report/content/core_place_names.h"
#include "report/names/symbol_name.h"
#include "report/words/number.h"

const char *hwi_core_block_words(const struct hwi_graph *graph, uint32_t block)
{
  static const char *const leaks[HWI_LEAK_KINDS] = {"leaked", "leaked indirectly", "leaked in a cycle"};
  static const char *const states[HWI_CORE_BLOCK_STATES] = {
      "live", "of the allocator", "free", "free, and kept for a thread or a size", "the free end of an arena"};
  if (hwi_graph_is_leak(graph, block))
    return leaks[hwi_graph_leak_kind(graph, block)];
  return states[hwi_core_block_state(&graph->heap->blocks[block])];
}

/* As hwi_core_names_type, in a readable length. */
static bool add_type(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  enum { CELLS = 80 };
  struct hwi_line name = {0};
  const bool is_known = hwi_core_names_type(names, block, &name);
  const struct hwi_symbol symbol = {.function = hwi_line_text(&name), .reason = HWI_SYMBOL_DATA};
  if (is_known)
    hwi_symbol_name_add(line, &symbol, CELLS, "...");
  hwi_line_release_part(line, &name);
  return is_known;
}

void hwi_core_block_add_names(struct hwi_line *line, const struct hwi_core_question *question, uint32_t block)
{
  const struct hwi_core_block *of = &question->graph->heap->blocks[block];
  static const struct {
    const char *before;
    bool (*add)(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line);
  } parts[] = {{", ", add_type},
               {", member ", hwi_core_names_member},
               {", via ", hwi_core_names_variable},
               {", by ", hwi_core_names_stack}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    struct hwi_line name = {0};
    if (parts[i].add(&question->names, of, &name))
      hwi_line_printf(line, "%s%s", parts[i].before, hwi_line_text(&name));
    hwi_line_release_part(line, &name);
  }
}

void hwi_core_block_add(struct hwi_line *line, const struct hwi_core_question *question, uint32_t block)
{
  hwi_line_printf(line, "%s, %s", hwi_bytes_text(hwi_core_block_bytes(&question->graph->heap->blocks[block])).text,
                  hwi_core_block_words(question->graph, block));
  hwi_core_block_add_names(line, question, block);
}

void hwi_core_question_add_place(struct hwi_line *line, const struct hwi_core_question *question,
                                 const struct hwi_core_place *place)
{
  struct hwi_core_place_name name;
  hwi_core_place_name_find(&question->names, question->graph, place, &name);
  hwi_core_place_name_add(line, question->graph, &name);
}
