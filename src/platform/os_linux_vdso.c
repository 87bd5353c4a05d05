/* os_linux_vdso.c - finds the kernel's clock in the vdso
 *
 * libc has found it, too, but lets nobody at it save through clock_gettime, which the target may have replaced. The vdso
 * is a small ELF image that is mapped whole; the kernel made it, so its tables are taken as they are.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "platform/os_vdso.h"

struct image {
  uintptr_t bias;
  const ElfW(Dyn) *dynamic;
  const ElfW(Sym) *symbols;
  const char *strings;
  const ElfW(Word) *hash; /* buckets, chains: the second word is how many symbols there are */
};

static bool find_segments(struct image *image, const ElfW(Ehdr) *header)
{
  const ElfW(Phdr) *segments = (const void *)((uintptr_t)header + header->e_phoff);
  bool has_load = false;
  for (int i = 0; i < header->e_phnum; i++) {
    if (segments[i].p_type == PT_LOAD && !has_load) {
      image->bias = (uintptr_t)header + segments[i].p_offset - segments[i].p_vaddr;
      has_load = true;
    } else if (segments[i].p_type == PT_DYNAMIC) {
      image->dynamic = (const void *)((uintptr_t)header + segments[i].p_offset);
    }
  }
  return has_load && image->dynamic;
}

static bool find_tables(struct image *image)
{
  for (const ElfW(Dyn) *at = image->dynamic; at->d_tag != DT_NULL; at++) {
    const void *table = (const void *)(image->bias + at->d_un.d_ptr);
    if (at->d_tag == DT_SYMTAB)
      image->symbols = table;
    else if (at->d_tag == DT_STRTAB)
      image->strings = table;
    else if (at->d_tag == DT_HASH)
      image->hash = table;
  }
  return image->symbols && image->strings && image->hash;
}

static uintptr_t find_symbol(const struct image *image, const char *name)
{
  for (ElfW(Word) i = 0; i < image->hash[1]; i++)
    if (image->symbols[i].st_shndx != SHN_UNDEF && strcmp(image->strings + image->symbols[i].st_name, name) == 0)
      return image->bias + image->symbols[i].st_value;
  return 0;
}

hwi_os_clock_fn *hwi_os_vdso_clock(void)
{
  static _Atomic uintptr_t known; /* 0: not looked yet, 1: none */
  uintptr_t clock = atomic_load_explicit(&known, memory_order_relaxed);
  if (clock == 0) {
    struct image image = {0};
    const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
    if (header && find_segments(&image, header) && find_tables(&image))
      clock = find_symbol(&image, "__vdso_clock_gettime");
    clock = clock ? clock : 1;
    atomic_store_explicit(&known, clock, memory_order_relaxed);
  }
  return clock > 1 ? (hwi_os_clock_fn *)clock : NULL;
}
