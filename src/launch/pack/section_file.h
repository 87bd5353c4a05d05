/* section_file.h - writes sections one after the other into a file */
#ifndef HWI_LAUNCH_PACK_SECTION_FILE_H
#define HWI_LAUNCH_PACK_SECTION_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/pack/pack.h"

enum {
  HWI_SECTION_BYTES = 1 << 20, /* bytes of chunks per section, unless many streams share the reader's memory */
  HWI_SECTION_MIN_BYTES = 64 << 10,
  HWI_SECTIONS_IN_MEMORY = 64 << 20,
};

/* Returns how large the plain chunks of a section should be in a trace of `streams` streams: a reader holds one section
 * of each. */
uint32_t hwi_section_target(uint32_t streams);

struct hwi_section_file {
  struct hwi_packer *packer;
  int fd;
  uint64_t off;         /* where the next section goes */
  uint64_t event_count; /* in the sections written */
  bool is_unnamed;      /* the file has no name until it is complete, so a section may be written in one call */
  uint64_t least_tick;  /* of a sample with a base, its cut: sections with events end at it at least, as the base has no
                           counts of their chunks */
};

/* Writes `section` and its packed bytes at file->off, and moves file->off after them. Returns 0, or HW_ERR_IO with
 * errno set and file->off unchanged. */
int hwi_section_write(struct hwi_section_file *file, const struct hw_section_header *section, const uint8_t *packed);

/* Packs the chunks at `plain` and writes them. Returns 0, or an error of hwi_pack_chunks or hwi_section_write. */
int hwi_section_pack(struct hwi_section_file *file, const uint8_t *plain, size_t bytes);

#endif
