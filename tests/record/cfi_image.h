/* cfi_image.h - an ELF file mapped as a loader would map it: its segments in place, with nothing readable between
 * them */
#ifndef TESTS_CFI_IMAGE_H
#define TESTS_CFI_IMAGE_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/unwind/cfi.h"

enum { IMAGE_PAGE = 4096, IMAGE_MOST_PHDRS = 64 };

struct image {
  int descriptor;
  uintptr_t bias;
  struct hwi_cfi_module module;
};

static inline uintptr_t image_page_up(uintptr_t address)
{
  return (address + IMAGE_PAGE - 1) & ~(uintptr_t)(IMAGE_PAGE - 1);
}

/* Maps the segments that are readable and not writable: CFI is only in these. */
static inline bool image_map(struct image *image, const Elf64_Phdr *phdrs, unsigned count)
{
  uintptr_t low = UINTPTR_MAX, high = 0;
  for (unsigned i = 0; i < count; i++) {
    if (phdrs[i].p_type != PT_LOAD)
      continue;
    uintptr_t start = phdrs[i].p_vaddr & ~(uintptr_t)(IMAGE_PAGE - 1), end = phdrs[i].p_vaddr + phdrs[i].p_memsz;
    low = start < low ? start : low;
    high = end > high ? end : high;
  }
  if (low >= high)
    return false;
  void *range = mmap(NULL, image_page_up(high - low), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return false;
  image->bias = (uintptr_t)range - low;
  image->module.start = (uintptr_t)range;
  image->module.end = (uintptr_t)range + image_page_up(high - low);
  for (unsigned i = 0; i < count; i++) {
    uintptr_t skew = phdrs[i].p_vaddr % IMAGE_PAGE;
    if (phdrs[i].p_type == PT_GNU_EH_FRAME)
      image->module.eh_frame_hdr = image->bias + phdrs[i].p_vaddr;
    if (phdrs[i].p_type == PT_LOAD && (phdrs[i].p_flags & (PF_R | PF_W)) == PF_R &&
        mmap((void *)(image->bias + phdrs[i].p_vaddr - skew), phdrs[i].p_filesz + skew, PROT_READ,
             MAP_PRIVATE | MAP_FIXED, image->descriptor, (off_t)(phdrs[i].p_offset - skew)) == MAP_FAILED)
      return false;
  }
  return image->module.eh_frame_hdr != 0;
}

static inline void image_close(struct image *image)
{
  if (image->module.start)
    munmap((void *)image->module.start, image->module.end - image->module.start);
  close(image->descriptor);
}

/* Returns false if there is no such file, or if it has no CFI. */
static inline bool image_open(struct image *image, const char *path)
{
  Elf64_Ehdr elf;
  Elf64_Phdr phdrs[IMAGE_MOST_PHDRS];
  *image = (struct image){.descriptor = open(path, O_RDONLY | O_CLOEXEC)};
  if (image->descriptor < 0)
    return false;
  if (pread(image->descriptor, &elf, sizeof elf, 0) == sizeof elf && memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
      elf.e_machine == HWI_ARCH_ELF_MACHINE && elf.e_phnum <= IMAGE_MOST_PHDRS &&
      pread(image->descriptor, phdrs, elf.e_phnum * sizeof *phdrs, (off_t)elf.e_phoff) ==
          (ssize_t)(elf.e_phnum * sizeof *phdrs) &&
      image_map(image, phdrs, elf.e_phnum))
    return true;
  image_close(image);
  return false;
}

/* The search table of .eh_frame_hdr, in the only form that linkers write here: pairs of 4 bytes, relative to the
 * header. */
static inline uint32_t image_function_count(const struct image *image)
{
  const uint8_t *header = (const uint8_t *)image->module.eh_frame_hdr;
  uint32_t count;
  if (header[0] != 1 || header[2] != 0x03 || header[3] != 0x3b)
    return 0;
  memcpy(&count, header + 8, sizeof count);
  return count;
}

static inline uintptr_t image_function(const struct image *image, uint32_t i)
{
  int32_t offset;
  memcpy(&offset, (const uint8_t *)image->module.eh_frame_hdr + 12 + 8 * (size_t)i, sizeof offset);
  return image->module.eh_frame_hdr + (uintptr_t)(intptr_t)offset;
}

#endif
