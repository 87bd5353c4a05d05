/* moment.c - the blocks of a heap as a trace */
#include "export/moment.h"

#include "export/synthetic.h"

static const char missing[] = "stacks, threads, times, or sizes that were asked for: blocks have their usable sizes";

enum { UNKNOWN_NODE = 1 }; /* types have the next ones */

static void write_modules(struct hwi_synthetic *trace, const struct hwi_core_modules *modules)
{
  for (size_t i = 0; i < modules->count; i++) {
    const struct hwi_core_module *module = &modules->modules[i];
    hwi_synthetic_module(trace, (uint32_t)i + 1,
                         &(struct hwi_synthetic_module){.path = module->path,
                                                        .start = module->begin,
                                                        .end = module->end,
                                                        .bias = module->bias,
                                                        .build_id = module->build_id,
                                                        .build_id_bytes = module->build_id_bytes});
  }
}

/* Returns the node of the block's type. Types have nodes in the order in which blocks have them. */
static uint32_t node_of(struct hwi_synthetic *trace, struct hwi_vtables *vtables, const struct hwi_core_block *block)
{
  const size_t known = vtables->type_count;
  uint32_t type;
  if (!hwi_vtables_type_of(vtables, block, &type))
    trace->status = HW_ERR_MEMORY;
  if (vtables->type_count > known) {
    const struct hwi_vtable_type *of = &vtables->types[known];
    const uint32_t module = (uint32_t)(of->module - vtables->modules->modules) + 1;
    hwi_synthetic_node(trace, UNKNOWN_NODE + (uint32_t)vtables->type_count, 0, module, of->address);
  }
  return UNKNOWN_NODE + type;
}

int hwi_moment_write(struct hwi_vtables *vtables, const struct hwi_core_heap *heap, int fd)
{
  struct hwi_synthetic trace;
  const struct hwi_memory *memory = vtables->memory;
  hwi_synthetic_begin(&trace, fd, false);
  trace.header.pid = memory->pid;
  hwi_synthetic_note(&trace, HW_NOTE_IMPORTED, missing);
  hwi_synthetic_record(&trace, HW_RECORD_COMMAND, memory->command, strlen(memory->command) + 1);
  write_modules(&trace, vtables->modules);
  hwi_synthetic_entry(&trace, UNKNOWN_NODE, HW_ENTRY_MALLOC);
  for (size_t i = 0; i < heap->block_count && trace.status == 0; i++) {
    const struct hwi_core_block *block = &heap->blocks[i];
    if (hwi_core_block_state(block) == HWI_CORE_BLOCK_LIVE)
      hwi_synthetic_alloc(&trace, node_of(&trace, vtables, block), hwi_core_block_bytes(block), block->address);
  }
  return hwi_synthetic_end(&trace);
}
