/* section_file.h - sections written one behind the other into a file */
#ifndef HWI_LAUNCH_SECTION_FILE_H
#define HWI_LAUNCH_SECTION_FILE_H

#include <stdint.h>

#include "trace/format.h"
#include "trace/pack.h"

enum {
  HWI_SECTION_BYTES = 1 << 20, /* of chunks that make a section, unless many streams share the reader's memory */
  HWI_SECTION_MIN_BYTES = 64 << 10,
  HWI_SECTIONS_IN_MEMORY = 64 << 20,
};

/* How large the plain chunks of a section should be in a trace of `streams` streams: a reader holds one section of each. */
uint32_t hwi_section_target(uint32_t streams);

/* Writes `section` and its packed bytes at *off, which moves behind them. HW_ERR_IO: errno is set, *off stays. */
int hwi_section_write(int fd, uint64_t *off, const struct hw_section_header *section, const uint8_t *packed);

/* Packs `plain` and writes it. */
int hwi_section_pack(struct hwi_packer *packer, int fd, uint64_t *off, const uint8_t *plain, size_t bytes,
                     uint64_t *event_count);

#endif
