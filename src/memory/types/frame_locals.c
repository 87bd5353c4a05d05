/* frame_locals.c - the local variables of the functions in which a frame of a thread is */
#include "memory/types/frame_locals.h"

void hwi_frame_locals(struct hwi_thread_frames *threads, struct hwi_symbols *symbols, size_t thread,
                      const struct hwi_thread_frame *frame,
                      bool (*take)(void *context, const struct hwi_frame_variable *variable), void *context)
{
  const uint64_t address = frame->address - frame->is_return;
  const struct hwi_core_module *module = hwi_core_modules_of(threads->modules, address);
  struct hwi_frame_bases bases;
  if (!module || !hwi_thread_frame_bases(threads, thread, frame, &bases))
    return;
  const struct hwi_symbol_module of = hwi_core_module_of_symbols(module);
  hwi_frame_variables(symbols, &of, address, &bases, take, context);
}
