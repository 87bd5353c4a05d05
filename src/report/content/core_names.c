/* core_names.c - what is known of a block of a core dump: its type, and the stack that allocated it */
#include "report/content/core_names.h"

#include <inttypes.h>

#include "base/base_name.h"
#include "report/names/stack_label.h"

enum { CALLERS = 2 };

static bool find_label(const struct hwi_core_names *names, const struct hwi_core_block *block,
                       struct hwi_block_label *label)
{
  struct hwi_block_types *types = names->types;
  return hwi_block_types_of(types, (size_t)(block - types->heap->blocks), label) && label->form != HWI_FORM_UNKNOWN;
}

bool hwi_core_names_type(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  struct hwi_block_types *types = names->types;
  struct hwi_block_label label;
  char text[HWI_BLOCK_TYPE_TEXT_BYTES];
  if (!find_label(names, block, &label))
    return false;
  hwi_block_types_text(types, &label, hwi_core_block_bytes(block), text, sizeof text);
  hwi_line_clean(line, label.form == HWI_FORM_VTABLE ? hwi_vtables_name(&types->vtables, label.vtable) : text);
  return true;
}

static bool add_name(const struct hwi_core_names *names, uint32_t number, struct hwi_line *line)
{
  if (number)
    hwi_line_clean(line, hwi_block_types_name(names->types, number));
  return number;
}

bool hwi_core_names_member(const struct hwi_core_names *names, const struct hwi_core_block *block,
                           struct hwi_line *line)
{
  struct hwi_block_label label;
  return find_label(names, block, &label) && add_name(names, label.member, line);
}

bool hwi_core_names_variable(const struct hwi_core_names *names, const struct hwi_core_block *block,
                             struct hwi_line *line)
{
  struct hwi_block_label label;
  return find_label(names, block, &label) && add_name(names, label.origin, line);
}

/* --- functions --- */

uint32_t hwi_core_names_code(const struct hwi_core_names *names, uint64_t address, bool is_return,
                             const struct hwi_core_module **module, const struct hwi_symbol **symbols)
{
  const struct hwi_core_module *found = hwi_core_modules_of(names->types->vtables.modules, address - is_return);
  const struct hwi_symbol_module of = found ? hwi_core_module_of_symbols(found) : (struct hwi_symbol_module){0};
  *module = found;
  return hwi_symbols_find(names->types->vtables.symbols, found ? &of : NULL, address, is_return, symbols);
}

/* The function that was called: what was inlined into it shares its frame. */
const struct hwi_symbol *hwi_core_names_function(const struct hwi_core_names *names, uint64_t address, bool is_return)
{
  const struct hwi_core_module *module;
  const struct hwi_symbol *symbols;
  const uint32_t count = hwi_core_names_code(names, address, is_return, &module, &symbols);
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

bool hwi_core_names_add_callers(const struct hwi_core_names *names, const uint64_t *addresses, size_t count,
                                struct hwi_line *line)
{
  uint32_t added = 0;
  for (size_t i = 0; i < count && added <= CALLERS; i++) {
    const struct hwi_symbol *function = hwi_core_names_function(names, addresses[i], true);
    if (!function)
      continue;
    if (added++ > 0)
      hwi_line_puts(line, " < ");
    hwi_core_function_add(line, function);
  }
  return added > 0;
}

/* Of a block with its owner in front of it. */
static bool add_owner(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  const struct hwi_core_heap *heap = names->heap;
  const uint32_t number = heap->owners ? heap->owners[block - heap->blocks].stack : 0;
  const struct hwi_core_stack *stack = number ? &heap->stacks[number - 1] : NULL;
  return stack && hwi_core_names_add_callers(names, heap->frames + stack->first, stack->count, line);
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
