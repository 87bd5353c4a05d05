/* core_names.c - what is known of a block of a core dump: its type, and the stack that allocated it */
#include "report/content/core_names.h"

#include "report/names/stack_label.h"

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
