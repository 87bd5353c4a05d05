/* moment.c - the blocks of a heap as a trace
 *
 * Nodes are numbered: 1 is the unknown stack, then come the frames of the recording, if there is one, and then types, in the
 * order in which blocks have them. Modules: first those of the recording, then those of the core dump.
 */
#include "export/moment.h"

#include "export/synthetic.h"

static const char missing[] = "frees, times, or blocks that were freed before: it is the heap of a core dump";
static const char missing_stacks[] =
    "stacks, threads, frees, times, or sizes that were asked for: it is the heap of a core "
    "dump, whose blocks have their usable sizes";

enum { UNKNOWN_NODE = 1 };

struct writer {
  struct hwi_moment *moment;
  struct hwi_synthetic trace;
  uint32_t recorded_modules, recorded_nodes;
  size_t next_recorded;
};

/* --- the recording --- */

static void write_recorded_stacks(struct writer *writer)
{
  const struct hwi_profile *profile = writer->moment->profile;
  for (uint32_t i = 1; i < profile->module_count; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    hwi_synthetic_module(&writer->trace, ++writer->recorded_modules,
                         &(struct hwi_synthetic_module){.path = module->path,
                                                        .start = module->start,
                                                        .end = module->end,
                                                        .bias = module->bias,
                                                        .build_id = module->build_id,
                                                        .build_id_bytes = module->build_id_bytes});
  }
  for (uint32_t i = 1; i < profile->frame_count; i++) {
    const struct hwi_frame *frame = &profile->frames[i];
    const struct hwi_node node = {.parent = frame->caller ? UNKNOWN_NODE + frame->caller : 0,
                                  .module = frame->module,
                                  .address = frame->address,
                                  .entry = frame->entry,
                                  .cut = frame->cut};
    hwi_synthetic_node(&writer->trace, UNKNOWN_NODE + ++writer->recorded_nodes, &node);
  }
}

/* Returns what the recording has of the block, or NULL. */
static const struct hwi_recorded_block *find_recorded(struct writer *writer, uint64_t address)
{
  const struct hwi_recorded_blocks *recorded = writer->moment->recorded;
  if (!writer->moment->profile)
    return NULL;
  while (writer->next_recorded < recorded->count && recorded->blocks[writer->next_recorded].address < address)
    writer->next_recorded++;
  const struct hwi_recorded_block *found = &recorded->blocks[writer->next_recorded];
  return writer->next_recorded < recorded->count && found->address == address ? found : NULL;
}

/* --- types --- */

static void write_modules(struct writer *writer)
{
  const struct hwi_core_modules *modules = writer->moment->vtables->modules;
  for (size_t i = 0; i < modules->count; i++) {
    const struct hwi_core_module *module = &modules->modules[i];
    hwi_synthetic_module(&writer->trace, writer->recorded_modules + (uint32_t)i + 1,
                         &(struct hwi_synthetic_module){.path = module->path,
                                                        .start = module->begin,
                                                        .end = module->end,
                                                        .bias = module->bias,
                                                        .build_id = module->build_id,
                                                        .build_id_bytes = module->build_id_bytes});
  }
}

static uint32_t node_of_type(struct writer *writer, const struct hwi_core_block *block)
{
  struct hwi_vtables *vtables = writer->moment->vtables;
  const size_t known = vtables->type_count;
  uint32_t type;
  if (!hwi_vtables_type_of(vtables, block, &type))
    writer->trace.status = HW_ERR_MEMORY;
  if (vtables->type_count > known) {
    const struct hwi_vtable_type *of = &vtables->types[known];
    const uint32_t module = writer->recorded_modules + (uint32_t)(of->module - vtables->modules->modules) + 1;
    hwi_synthetic_node(&writer->trace, UNKNOWN_NODE + writer->recorded_nodes + (uint32_t)vtables->type_count,
                       &(struct hwi_node){.module = module, .address = of->address});
  }
  return type ? UNKNOWN_NODE + writer->recorded_nodes + type : UNKNOWN_NODE;
}

/* --- the trace --- */

static void write_block(struct writer *writer, const struct hwi_core_block *block)
{
  struct hwi_moment *moment = writer->moment;
  const struct hwi_recorded_block *recorded = find_recorded(writer, block->address);
  if (recorded) {
    moment->known_stacks++;
    hwi_synthetic_alloc(&writer->trace, UNKNOWN_NODE + moment->profile->stacks[recorded->stack].frame, recorded->size,
                        block->address);
  } else {
    hwi_synthetic_alloc(&writer->trace, node_of_type(writer, block), hwi_core_block_bytes(block), block->address);
  }
}

static bool is_wanted(const struct hwi_moment *moment, size_t block)
{
  return moment->leaks_of ? hwi_graph_is_leak(moment->leaks_of, (uint32_t)block)
                          : hwi_core_block_state(&moment->heap->blocks[block]) == HWI_CORE_BLOCK_LIVE;
}

int hwi_moment_write(struct hwi_moment *moment, int fd)
{
  const struct hwi_memory *memory = moment->vtables->memory;
  const struct hwi_core_heap *heap = moment->heap;
  struct writer writer = {.moment = moment};
  struct hwi_synthetic *trace = &writer.trace;
  moment->known_stacks = 0;
  hwi_synthetic_begin(trace, fd, false);
  trace->header.pid = memory->pid;
  hwi_synthetic_note(trace, HW_NOTE_IMPORTED, moment->profile ? missing : missing_stacks);
  hwi_synthetic_record(trace, HW_RECORD_COMMAND, memory->command, strlen(memory->command) + 1);
  hwi_synthetic_entry(trace, UNKNOWN_NODE, HW_ENTRY_MALLOC);
  if (moment->profile)
    write_recorded_stacks(&writer);
  write_modules(&writer);
  for (size_t i = 0; i < heap->block_count && trace->status == 0; i++)
    if (is_wanted(moment, i))
      write_block(&writer, &heap->blocks[i]);
  return hwi_synthetic_end(trace);
}
