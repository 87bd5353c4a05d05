/* core_names.c - what is known of a block of a core dump: its type, and the stack that allocated it */
#include "report/content/core_names.h"

#include "report/names/stack_label.h"

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

bool hwi_core_names_stack(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  enum { CALLERS = 2, CELLS = 160 };
  const struct hwi_recorded_block *recorded =
      names->frames ? hwi_recorded_blocks_find(names->recorded, block->address) : NULL;
  if (!recorded)
    return false;
  const struct hwi_stack_label_words words = {names->frames, "..."};
  hwi_stack_label_add(line, &words,
                      &(struct hwi_stack_label){.stack = recorded->stack, .callers = CALLERS, .cells = CELLS});
  return true;
}
