/* type_roots.c - the variables from which the types of blocks are found: those of modules, of threads, and of frames */
#include <stdio.h>

#include "memory/types/frame_locals.h"
#include "memory/types/type_spread.h"
#include "symbols/debug_info.h"

enum { FRAMES_MOST = 1 << 16 }; /* of all threads: more are a stack that overflowed, in which functions repeat */

/* --- debug information --- */

void hwi_type_roots_read(struct hwi_block_types *types)
{
  const struct hwi_core_modules *modules = types->vtables.modules;
  for (size_t i = 0; i < modules->count; i++) {
    const struct hwi_core_module *module = &modules->modules[i];
    const struct hwi_symbol_module named = hwi_core_module_of_symbols(module);
    struct hwi_data_source source = {
        .bias = module->bias, .module = (uint32_t)i, .local_bytes = types->storage ? module->local_bytes : 0};
    source.dwarf = hwi_symbols_debug_info(types->vtables.symbols, &named, &source.dir);
    if (source.dwarf)
      hwi_data_index_add(&types->data.index, &source);
  }
}

/* --- variables of modules and of threads --- */

static void spread_of_threads(struct hwi_type_spread *spread, const struct hwi_data_variable *variable, uint32_t type,
                              const struct hwi_type_walk *walk)
{
  for (size_t i = 0; i < spread->reader.memory->thread_count; i++) {
    const uint64_t storage = hwi_thread_storage_of(spread->types->storage, variable->module, i);
    if (storage)
      hwi_type_spread_value(spread, type, storage + variable->address, walk);
  }
}

void hwi_type_roots_spread_variables(struct hwi_type_spread *spread)
{
  struct hwi_block_types *types = spread->types;
  for (size_t i = 0; i < types->data.index.variable_count && !spread->failed; i++) {
    struct hwi_data_variable *variable = &types->data.index.variables[i];
    const uint32_t type = hwi_data_types_of(&types->data, &variable->die);
    const struct hwi_type_walk walk = {.origin = hwi_store_intern_text(&types->names, variable->name)};
    spread->failed |= !walk.origin;
    if (variable->is_local)
      spread_of_threads(spread, variable, type, &walk);
    else
      hwi_type_spread_value(spread, type, variable->address, &walk);
  }
}

/* --- variables of frames --- */

struct in_frame {
  struct hwi_type_spread *spread;
  const struct hwi_thread_frame *frame;
};

/* Returns the function of a frame, in which others may be inlined, or NULL if it is not known. */
static const char *function_of(const struct hwi_block_types *types, const struct hwi_thread_frame *frame)
{
  const struct hwi_core_module *module = hwi_core_modules_of(types->vtables.modules, frame->address - frame->is_return);
  const struct hwi_symbol *symbols;
  if (!module)
    return NULL;
  const struct hwi_symbol_module named = hwi_core_module_of_symbols(module);
  const uint32_t count = hwi_symbols_find(types->vtables.symbols, &named, frame->address, frame->is_return, &symbols);
  return count ? symbols[count - 1].function : NULL;
}

static bool spread_local(void *context, const struct hwi_frame_variable *variable)
{
  const struct in_frame *in = context;
  struct hwi_block_types *types = in->spread->types;
  const char *function = function_of(types, in->frame);
  char text[HWI_BLOCK_TYPE_TEXT_BYTES];
  Dwarf_Die die = variable->die;
  snprintf(text, sizeof text, function ? "%s of %s" : "%s", variable->name, function);
  const uint32_t type = hwi_data_types_of(&types->data, &die);
  const struct hwi_type_walk walk = {.origin = hwi_store_intern_text(&types->names, text)};
  in->spread->failed |= !walk.origin;
  if (walk.origin)
    hwi_type_spread_value(in->spread, type, variable->address, &walk);
  return !in->spread->failed;
}

static void spread_frame(struct hwi_type_spread *spread, size_t thread, const struct hwi_thread_frame *frame)
{
  struct in_frame in = {spread, frame};
  hwi_frame_locals(spread->types->threads, spread->types->vtables.symbols, thread, frame, spread_local, &in);
}

void hwi_type_roots_spread_frames(struct hwi_type_spread *spread)
{
  struct hwi_thread_frames *threads = spread->types->threads;
  size_t frames = 0;
  for (size_t i = 0; threads && i < threads->memory->thread_count && !spread->failed; i++) {
    const struct hwi_thread_stack *stack = hwi_thread_frames_of(threads, i);
    spread->failed |= !stack;
    for (size_t k = 0; stack && k < stack->count && frames < FRAMES_MOST && !spread->failed; k++, frames++)
      spread_frame(spread, i, &stack->frames[k]);
  }
}
