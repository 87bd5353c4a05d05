/* core_names.c - what is known of a block of a core dump: its type, and the stack that allocated it */
#include "report/content/core_names.h"

#include <inttypes.h>

#include "base/base_name.h"
#include "report/names/stack_label.h"

enum { CALLERS = 2 };

bool hwi_core_names_type(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  uint32_t type;
  const char *name;
  if (!hwi_vtables_type_of(names->vtables, block, &type) || !type)
    return false;
  name = hwi_vtables_name(names->vtables, type);
  hwi_line_clean(line, name);
  return true;
}

/* --- functions --- */

/* The function that was called: what was inlined into it shares its frame. */
const struct hwi_symbol *hwi_core_names_function(const struct hwi_core_names *names, uint64_t address, bool is_return)
{
  const struct hwi_core_module *module = hwi_core_modules_of(names->vtables->modules, address - is_return);
  const struct hwi_symbol *symbols;
  if (!module)
    return NULL;
  const struct hwi_symbol_module of = {module->path, module->build_id, module->build_id_bytes, module->bias};
  const uint32_t count = hwi_symbols_find(names->vtables->symbols, &of, address, is_return, &symbols);
  return count && symbols[count - 1].function ? &symbols[count - 1] : NULL;
}

void hwi_core_function_add(struct hwi_line *line, const struct hwi_symbol *function)
{
  hwi_line_clean(line, function->function);
  if (!function->file)
    return;
  hwi_line_puts(line, " (");
  hwi_line_clean(line, hwi_base_name(function->file));
  hwi_line_printf(line, ":%" PRIu32 ")", function->line);
}

/* --- stacks --- */

/* Of a block with its owner in front of it. */
static bool add_owner(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  const struct hwi_core_heap *heap = names->heap;
  const uint32_t number = heap->owners ? heap->owners[block - heap->blocks].stack : 0;
  const struct hwi_core_stack *stack = number ? &heap->stacks[number - 1] : NULL;
  uint32_t added = 0;
  for (uint32_t i = 0; stack && i < stack->count && added <= CALLERS; i++) {
    const struct hwi_symbol *function = hwi_core_names_function(names, heap->frames[stack->first + i], true);
    if (!function)
      continue;
    if (added++ > 0)
      hwi_line_puts(line, " < ");
    hwi_core_function_add(line, function);
  }
  return added > 0;
}

bool hwi_core_names_stack(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  enum { CELLS = 160 };
  const struct hwi_recorded_block *recorded =
      names->frames ? hwi_recorded_blocks_find(names->recorded, block->address) : NULL;
  if (!recorded)
    return add_owner(names, block, line);
  const struct hwi_stack_label_words words = {names->frames, "..."};
  hwi_stack_label_add(line, &words,
                      &(struct hwi_stack_label){.stack = recorded->stack, .callers = CALLERS, .cells = CELLS});
  return true;
}
