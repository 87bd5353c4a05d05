/* moment.c - the blocks of a heap as a trace */
#include "export/moment.h"

#include <stdlib.h>

#include "export/synthetic.h"
#include "trace/numbering.h"

static const char missing[] = "stacks, threads, times, or sizes that were asked for: blocks have their usable sizes";
static const char missing_with_owners[] = "threads and times";

enum { UNKNOWN_NODE = 1 }; /* frames and types have the next ones */

/* All zero: none. */
struct nodes {
  struct hwi_numbering frames; /* pairs of the caller's node and the address */
  uint32_t *stacks;            /* by place: the node */
};

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

/* Returns the node of a stack, whose frames get the nodes that they need. */
static uint32_t node_of_stack(struct hwi_synthetic *trace, struct nodes *nodes, const struct hwi_core_modules *modules,
                              const uint64_t *frames, uint32_t count)
{
  uint32_t node = 0;
  for (uint32_t i = count; i-- > 0 && trace->status == 0;) {
    const uint32_t known = nodes->frames.count, number = hwi_numbering_of(&nodes->frames, node, frames[i]);
    const struct hwi_core_module *of = hwi_core_modules_of(modules, frames[i] - 1);
    if (!number)
      trace->status = HW_ERR_MEMORY;
    if (nodes->frames.count > known)
      hwi_synthetic_node(trace, UNKNOWN_NODE + number, node, of ? (uint32_t)(of - modules->modules) + 1 : 0, frames[i]);
    node = UNKNOWN_NODE + number;
  }
  return node;
}

static void write_stacks(struct hwi_synthetic *trace, struct nodes *nodes, const struct hwi_core_modules *modules,
                         const struct hwi_core_heap *heap)
{
  nodes->stacks = calloc(heap->stack_count + 1, sizeof *nodes->stacks);
  if (!nodes->stacks)
    trace->status = HW_ERR_MEMORY;
  for (size_t i = 0; i < heap->stack_count && trace->status == 0; i++)
    nodes->stacks[i] =
        node_of_stack(trace, nodes, modules, heap->frames + heap->stacks[i].first, heap->stacks[i].count);
}

/* Returns the node of the block's type. Types have nodes in the order in which blocks have them, from `base` on. */
static uint32_t node_of_type(struct hwi_synthetic *trace, struct hwi_vtables *vtables,
                             const struct hwi_core_block *block, uint32_t base)
{
  const size_t known = vtables->type_count;
  uint32_t type;
  if (!hwi_vtables_type_of(vtables, block, &type))
    trace->status = HW_ERR_MEMORY;
  if (vtables->type_count > known) {
    const struct hwi_vtable_type *of = &vtables->types[known];
    const uint32_t module = (uint32_t)(of->module - vtables->modules->modules) + 1;
    hwi_synthetic_node(trace, base + (uint32_t)vtables->type_count, 0, module, of->address);
  }
  return type ? base + type : UNKNOWN_NODE;
}

static void write_block(struct hwi_synthetic *trace, const struct nodes *nodes, struct hwi_vtables *vtables,
                        const struct hwi_core_heap *heap, size_t at)
{
  const struct hwi_core_block *block = &heap->blocks[at];
  const struct hwi_core_owner none = {.bytes = hwi_core_block_bytes(block)};
  const struct hwi_core_owner *owner = heap->owners && heap->owners[at].is_known ? &heap->owners[at] : &none;
  if (hwi_core_block_state(block) != HWI_CORE_BLOCK_LIVE || owner->is_freed)
    return;
  const uint32_t node = owner->stack ? nodes->stacks[owner->stack - 1]
                                     : node_of_type(trace, vtables, block, UNKNOWN_NODE + nodes->frames.count);
  hwi_synthetic_alloc(trace, node, owner->bytes, block->address + owner->front);
}

int hwi_moment_write(struct hwi_vtables *vtables, const struct hwi_core_heap *heap, int fd)
{
  struct hwi_synthetic trace;
  struct nodes nodes = {0};
  const struct hwi_memory *memory = vtables->memory;
  hwi_synthetic_begin(&trace, fd, false);
  trace.header.pid = memory->pid;
  hwi_synthetic_note(&trace, HW_NOTE_IMPORTED, heap->owners ? missing_with_owners : missing);
  hwi_synthetic_record(&trace, HW_RECORD_COMMAND, memory->command, strlen(memory->command) + 1);
  write_modules(&trace, vtables->modules);
  hwi_synthetic_entry(&trace, UNKNOWN_NODE, HW_ENTRY_MALLOC);
  if (heap->owners)
    write_stacks(&trace, &nodes, vtables->modules, heap);
  for (size_t i = 0; i < heap->block_count && trace.status == 0; i++)
    write_block(&trace, &nodes, vtables, heap, i);
  hwi_numbering_release(&nodes.frames);
  free(nodes.stacks);
  return hwi_synthetic_end(&trace);
}
