/* frame_locals.h - the local variables of the functions in which a frame of a thread is */
#ifndef HWI_MEMORY_TYPES_FRAME_LOCALS_H
#define HWI_MEMORY_TYPES_FRAME_LOCALS_H

#include "memory/image/thread_frames.h"
#include "memory/types/vtables.h"
#include "symbols/frame_variables.h"

/* Calls `take` for each of them, as hwi_frame_variables does; for none, if the module or the caller of the frame is not known. */
void hwi_frame_locals(struct hwi_thread_frames *threads, struct hwi_symbols *symbols, size_t thread,
                      const struct hwi_thread_frame *frame,
                      bool (*take)(void *context, const struct hwi_frame_variable *variable), void *context);

#endif
