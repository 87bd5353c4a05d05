/* os_linux_segments.h - the segments of a loaded module; internal to this folder */
#ifndef HWI_PLATFORM_OS_LINUX_SEGMENTS_H
#define HWI_PLATFORM_OS_LINUX_SEGMENTS_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/os_code.h"

/* Stores in the image where the segments of the module with this dynamic section are. Takes the loader's lock. */
void hwi_segments_find(struct hwi_os_image *image, const ElfW(Dyn) *dynamic);

/* Returns the segment that has [at, at + bytes) from the image's file, or NULL if there is none. */
const ElfW(Phdr) *hwi_segment_of(const struct hwi_os_image *image, uintptr_t at, size_t bytes);

#endif
