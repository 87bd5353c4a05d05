/* core_names.c - what is known of a block of a core dump: its type, and the stack that allocated it */
#include "report/content/core_names.h"

#include <stdlib.h>
#include <string.h>

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

static int compare(const void *key, const void *item)
{
  const uint64_t address = *(const uint64_t *)key;
  const struct hwi_recorded_block *block = item;
  return address < block->address ? -1 : address > block->address;
}

bool hwi_core_names_stack(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line)
{
  enum { CALLERS = 2, CELLS = 160 };
  if (!names->frames || !names->recorded->count)
    return false;
  const struct hwi_recorded_block *recorded = bsearch(&block->address, names->recorded->blocks, names->recorded->count,
                                                      sizeof *names->recorded->blocks, compare);
  if (!recorded)
    return false;
  const struct hwi_stack_label_words words = {names->frames, "..."};
  hwi_stack_label_add(line, &words,
                      &(struct hwi_stack_label){.stack = recorded->stack, .callers = CALLERS, .cells = CELLS});
  return true;
}
