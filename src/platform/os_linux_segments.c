/* os_linux_segments.c - the segments of a loaded module */
#define _GNU_SOURCE
#include "platform/os_linux_segments.h"

struct search {
  struct hwi_os_image *image;
  uintptr_t dynamic;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  const struct search *search = context;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_DYNAMIC || info->dlpi_addr + segment->p_vaddr != search->dynamic)
      continue;
    search->image->segments = info->dlpi_phdr;
    search->image->segment_count = info->dlpi_phnum;
    return 1;
  }
  return 0;
}

void hwi_segments_find(struct hwi_os_image *image, const ElfW(Dyn) *dynamic)
{
  struct search search = {image, (uintptr_t)dynamic};
  image->segments = NULL;
  image->segment_count = 0;
  dl_iterate_phdr(look, &search);
}

const ElfW(Phdr) *hwi_segment_of(const struct hwi_os_image *image, uintptr_t at, size_t bytes)
{
  const ElfW(Phdr) *segments = image->segments;
  for (size_t i = 0; i < image->segment_count; i++) {
    const uintptr_t off = at - (image->bias + segments[i].p_vaddr);
    if (segments[i].p_type == PT_LOAD && off < segments[i].p_filesz && bytes <= segments[i].p_filesz - off)
      return &segments[i];
  }
  return NULL;
}
