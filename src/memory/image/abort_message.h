/* abort_message.h - what the C library wrote before it aborted the process */
#ifndef HWI_MEMORY_IMAGE_ABORT_MESSAGE_H
#define HWI_MEMORY_IMAGE_ABORT_MESSAGE_H

#include "memory/image/memory.h"

enum { HWI_ABORT_MESSAGE_BYTES = 256 };

/* Finds the message with which glibc aborted the process: of a damaged heap or stack, or of a failed assertion. `text` gets it
 * without its line end, and without its end if it is too long; "" if there is none. */
void hwi_abort_message_find(const struct hwi_memory *memory, char text[static HWI_ABORT_MESSAGE_BYTES]);

#endif
