/* moment.c - the blocks of a heap as a trace
 *
 * Nodes are numbered: 1 is the unknown stack, then come the frames of the recording, those of owners in memory (annotate.h), and
 * then types (type_frames.h), in the order in which blocks have them. Modules: first those of the recording, then those of the
 * core dump, then names.
 */
#include "export/moment.h"

#include <stdlib.h>

#include "export/synthetic.h"
#include "export/type_frames.h"
#include "trace/numbering.h"

static const char missing[] =
    "stacks, threads, frees, times, or sizes that were asked for: blocks have their usable sizes";
static const char missing_with_stacks[] = "threads, frees, times";

enum { UNKNOWN_NODE = 1 };

struct writer {
  struct hwi_moment *moment;
  struct hwi_synthetic trace;
  uint32_t module_count, node_count; /* so far */
  uint32_t first_module;             /* number of the core dump's first module, less 1 */
  uint32_t first_recorded;           /* node, less 1 */
  uint32_t *owner_stacks;            /* the node of each stack of owners */
  size_t next_recorded;
  struct hwi_type_frames types;
};

static uint32_t add_node(struct writer *writer, const struct hwi_node *node)
{
  hwi_synthetic_node(&writer->trace, ++writer->node_count, node);
  return writer->node_count;
}

static uint32_t module_of(const struct writer *writer, const struct hwi_core_module *module)
{
  return module ? writer->first_module + (uint32_t)(module - writer->moment->modules->modules) + 1 : 0;
}

/* --- modules --- */

static void write_recorded_modules(struct writer *writer)
{
  const struct hwi_profile *profile = writer->moment->profile;
  for (uint32_t i = 1; profile && i < profile->module_count; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    hwi_synthetic_module(&writer->trace, ++writer->module_count,
                         &(struct hwi_synthetic_module){.path = module->path,
                                                        .start = module->start,
                                                        .end = module->end,
                                                        .bias = module->bias,
                                                        .build_id = module->build_id,
                                                        .build_id_bytes = module->build_id_bytes});
  }
}

static void write_modules(struct writer *writer)
{
  const struct hwi_core_modules *modules = writer->moment->modules;
  writer->first_module = writer->module_count;
  for (size_t i = 0; i < modules->count; i++) {
    const struct hwi_core_module *module = &modules->modules[i];
    hwi_synthetic_module(&writer->trace, ++writer->module_count,
                         &(struct hwi_synthetic_module){.path = module->path,
                                                        .start = module->begin,
                                                        .end = module->end,
                                                        .bias = module->bias,
                                                        .build_id = module->build_id,
                                                        .build_id_bytes = module->build_id_bytes});
  }
}

/* --- stacks of the recording --- */

static void write_recorded_stacks(struct writer *writer)
{
  const struct hwi_profile *profile = writer->moment->profile;
  writer->first_recorded = writer->node_count;
  for (uint32_t i = 1; profile && i < profile->frame_count; i++) {
    const struct hwi_frame *frame = &profile->frames[i];
    add_node(writer, &(struct hwi_node){.parent = frame->caller ? writer->first_recorded + frame->caller : 0,
                                        .module = frame->module,
                                        .address = frame->address,
                                        .entry = frame->entry,
                                        .cut = frame->cut});
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

/* --- which blocks --- */

static bool is_wanted(const struct hwi_moment *moment, size_t number)
{
  const struct hwi_core_heap *heap = moment->heap;
  return moment->leaks_of ? hwi_graph_is_leak(moment->leaks_of, (uint32_t)number)
                          : hwi_core_block_state(&heap->blocks[number]) == HWI_CORE_BLOCK_LIVE;
}

/* Returns the stack of the block's owner, from 1 on; 0: not known. */
static uint32_t owner_stack(const struct hwi_core_heap *heap, size_t number)
{
  return heap->owners && heap->owners[number].is_known ? heap->owners[number].stack : 0;
}

/* --- stacks of owners --- */

/* Returns the node of a stack, whose frames get the nodes that they need: `frames` numbers pairs of the caller's node and the
 * address. */
static uint32_t node_of_stack(struct writer *writer, struct hwi_numbering *frames, const uint64_t *addresses,
                              uint32_t count)
{
  const uint32_t first = writer->node_count - frames->count;
  uint32_t node = 0;
  for (uint32_t i = count; i-- > 0 && writer->trace.status == 0;) {
    const uint32_t known = frames->count, number = hwi_numbering_of(frames, node, addresses[i]);
    const struct hwi_core_module *of = hwi_core_modules_of(writer->moment->modules, addresses[i] - 1);
    if (!number)
      writer->trace.status = HW_ERR_MEMORY;
    if (frames->count > known)
      add_node(writer, &(struct hwi_node){.parent = node, .module = module_of(writer, of), .address = addresses[i]});
    node = first + number;
  }
  return node;
}

static void write_owner_stacks(struct writer *writer)
{
  const struct hwi_core_heap *heap = writer->moment->heap;
  struct hwi_numbering frames = {0};
  writer->owner_stacks = calloc(heap->stack_count + 1, sizeof *writer->owner_stacks);
  if (!writer->owner_stacks)
    writer->trace.status = HW_ERR_MEMORY;
  for (size_t i = 0; i < heap->stack_count && writer->trace.status == 0; i++)
    writer->owner_stacks[i] =
        node_of_stack(writer, &frames, heap->frames + heap->stacks[i].first, heap->stacks[i].count);
  hwi_numbering_release(&frames);
}

/* --- types --- */

/* Returns whether a block that is written has no stack. */
static bool needs_types(struct writer *writer)
{
  const struct hwi_core_heap *heap = writer->moment->heap;
  bool is_needed = false;
  for (size_t i = 0; i < heap->block_count && !is_needed; i++)
    is_needed =
        is_wanted(writer->moment, i) && !find_recorded(writer, heap->blocks[i].address) && !owner_stack(heap, i);
  writer->next_recorded = 0;
  return is_needed;
}

static void begin_types(struct writer *writer)
{
  struct hwi_moment *moment = writer->moment;
  struct hwi_error error = {0};
  writer->types = (struct hwi_type_frames){.types = moment->types,
                                           .trace = &writer->trace,
                                           .first_core_module = writer->first_module + 1,
                                           .first_node = writer->node_count + 1,
                                           .first_module = writer->module_count + 1};
  const int status = needs_types(writer) ? moment->find_types(moment->context, &error) : 0;
  if (status < 0)
    writer->trace.status = status;
}

/* --- the trace --- */

static void write_block(struct writer *writer, size_t number)
{
  struct hwi_moment *moment = writer->moment;
  const struct hwi_core_heap *heap = moment->heap;
  const struct hwi_core_block *block = &heap->blocks[number];
  const uint32_t stack = owner_stack(heap, number);
  const struct hwi_recorded_block *recorded = find_recorded(writer, block->address);
  if (recorded) {
    moment->known_stacks++;
    const uint32_t frame = moment->profile->stacks[recorded->stack].frame;
    hwi_synthetic_alloc(&writer->trace, frame ? writer->first_recorded + frame : UNKNOWN_NODE, recorded->size,
                        block->address);
  } else {
    const uint32_t node = stack ? writer->owner_stacks[stack - 1] : hwi_type_frames_of(&writer->types, number);
    hwi_synthetic_alloc(&writer->trace, node, hwi_core_block_bytes(block), block->address);
  }
}

/* The words of a command are known with blanks between them: each is taken for an argument. */
static void write_command(struct hwi_synthetic *trace, const struct hwi_memory *memory)
{
  char words[sizeof memory->command];
  size_t bytes = 0;
  for (const char *at = memory->command; *at; at++)
    if (*at != ' ')
      words[bytes++] = *at;
    else if (bytes > 0 && words[bytes - 1])
      words[bytes++] = 0;
  if (bytes > 0 && words[bytes - 1])
    words[bytes++] = 0;
  hwi_synthetic_record(trace, HW_RECORD_COMMAND, words, bytes);
}

int hwi_moment_write(struct hwi_moment *moment, int fd)
{
  const struct hwi_memory *memory = moment->memory;
  const struct hwi_core_heap *heap = moment->heap;
  struct writer writer = {.moment = moment, .node_count = UNKNOWN_NODE};
  struct hwi_synthetic *trace = &writer.trace;
  moment->known_stacks = 0;
  hwi_synthetic_begin(trace, fd, false);
  trace->header.pid = memory->pid;
  trace->header.origin = HW_ORIGIN_MOMENT;
  hwi_synthetic_note(trace, HW_NOTE_MEMORY, moment->profile || heap->owners ? missing_with_stacks : missing);
  write_command(trace, memory);
  hwi_synthetic_entry(trace, UNKNOWN_NODE, HW_ENTRY_MALLOC);
  write_recorded_modules(&writer);
  write_modules(&writer);
  write_recorded_stacks(&writer);
  write_owner_stacks(&writer);
  if (trace->status == 0)
    begin_types(&writer);
  for (size_t i = 0; i < heap->block_count && trace->status == 0; i++)
    if (is_wanted(moment, i))
      write_block(&writer, i);
  free(writer.owner_stacks);
  hwi_type_frames_release(&writer.types);
  return hwi_synthetic_end(trace);
}
