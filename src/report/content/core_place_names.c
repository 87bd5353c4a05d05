/* core_place_names.c - the name of a place of memory: the variable that is there, or the function whose frame it is in */
#include "report/content/core_place_names.h"

#include <inttypes.h>

#include "memory/types/frame_locals.h"

/* --- variables --- */

static void find_global(const struct hwi_core_names *names, struct hwi_core_place_name *name)
{
  const struct hwi_core_module *module = hwi_core_modules_of(names->types->vtables.modules, name->place.address);
  if (!module)
    return;
  const struct hwi_symbol_module of = hwi_core_module_of_symbols(module);
  if (hwi_symbols_variable(names->types->vtables.symbols, &of, name->place.address, &name->variable))
    name->module = module->path;
}

static void find_local(const struct hwi_core_names *names, struct hwi_core_place_name *name)
{
  uint64_t off;
  const struct hwi_core_module *module =
      name->place.local_off != 0 ? hwi_thread_storage_at(names->storage, name->place.local_off, &off) : NULL;
  if (!module)
    return;
  const struct hwi_symbol_module of = hwi_core_module_of_symbols(module);
  if (!hwi_symbols_local_variable(names->types->vtables.symbols, &of, off, &name->variable))
    return;
  name->module = module->path;
  name->place.kind = HWI_CORE_PLACE_LOCAL;
}

/* --- functions --- */

static const struct hwi_symbol *function_of(const struct hwi_core_names *names, const struct hwi_thread_frame *frame)
{
  return frame ? hwi_core_names_function(names, frame->address, frame->is_return) : NULL;
}

static bool take_local(void *context, const struct hwi_frame_variable *variable)
{
  struct hwi_core_place_name *name = context;
  if (name->place.address - variable->address >= variable->bytes)
    return true;
  name->local = variable->name;
  name->local_off = name->place.address - variable->address;
  return true;
}

/* A place that is in a frame is no thread-local storage. */
static void find_frame(const struct hwi_core_names *names, struct hwi_core_place_name *name)
{
  const struct hwi_thread_frame *frame = hwi_thread_frames_at(names->threads, name->place.thread, name->place.address);
  name->function = function_of(names, frame);
  if (!frame) {
    find_local(names, name);
    return;
  }
  name->place.local_off = 0;
  if (name->function)
    hwi_frame_locals(names->threads, names->types->vtables.symbols, name->place.thread, frame, take_local, name);
}

/* --- all --- */

void hwi_core_place_name_find(const struct hwi_core_names *names, const struct hwi_graph *graph,
                              const struct hwi_core_place *place, struct hwi_core_place_name *name)
{
  *name = (struct hwi_core_place_name){.place = *place};
  switch (place->kind) {
  case HWI_CORE_PLACE_MODULE:
  case HWI_CORE_PLACE_MAPPED: /* raw memory, of whose regions no file is known */
    find_global(names, name);
    return;
  case HWI_CORE_PLACE_STACK:
    find_frame(names, name);
    break;
  case HWI_CORE_PLACE_REGISTER:
    name->function = function_of(names, hwi_thread_frames_setter(names->threads, place->thread, place->reg));
    break;
  case HWI_CORE_PLACE_LOCAL:
    find_local(names, name);
    break;
  case HWI_CORE_PLACE_BELOW:
    break;
  default:
    return;
  }
  name->thread = &graph->memory->threads[place->thread];
}

static void add_variable(struct hwi_line *line, const struct hwi_core_place_name *name)
{
  const bool is_local = name->place.kind == HWI_CORE_PLACE_LOCAL;
  if (is_local)
    hwi_line_puts(line, "thread-local variable ");
  hwi_line_clean(line, name->variable.name);
  if (name->variable.off)
    hwi_line_printf(line, "+%#" PRIx64, name->variable.off);
  if (is_local)
    hwi_line_printf(line, " of thread %" PRIu32, name->thread->tid);
  hwi_line_puts(line, " in ");
  hwi_line_clean(line, name->module);
}

static void add_local_variable(struct hwi_line *line, const struct hwi_core_place_name *name)
{
  hwi_line_puts(line, "local variable ");
  hwi_line_clean(line, name->local);
  if (name->local_off)
    hwi_line_printf(line, "+%#" PRIx64, name->local_off);
  hwi_line_puts(line, " of ");
  hwi_core_function_add(line, name->function);
  hwi_line_printf(line, " in thread %" PRIu32, name->thread->tid);
}

void hwi_core_place_name_add(struct hwi_line *line, const struct hwi_graph *graph,
                             const struct hwi_core_place_name *name)
{
  char text[HWI_CORE_PLACE_TEXT_BYTES];
  if (name->variable.name) {
    add_variable(line, name);
    return;
  }
  if (name->local) {
    add_local_variable(line, name);
    return;
  }
  hwi_core_place_text(graph, &name->place, text, sizeof text);
  hwi_line_clean(line, text);
  if (!name->function)
    return;
  hwi_line_puts(line, ", in ");
  hwi_core_function_add(line, name->function);
}
