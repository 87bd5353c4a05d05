/* vdso.c - finds the kernel's clock in the vdso
 *
 * libc has found it as well, but gives access to it only through clock_gettime, which the target may have replaced. The
 * vdso is a small ELF image that is mapped completely. The kernel made it, so its tables are not checked.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "platform/arch.h"
#include "platform/linux/elf.h"
#include "platform/linux/vdso.h"

static bool open_vdso(struct hwi_elf_image *image, const ElfW(Ehdr) *header)
{
  const ElfW(Phdr) *segments = (const ElfW(Phdr) *)((uintptr_t)header + header->e_phoff);
  const ElfW(Dyn) *dynamic = NULL;
  uintptr_t bias = 0;
  for (int i = header->e_phnum; i-- > 0;) {
    if (segments[i].p_type == PT_LOAD) /* only the first one matters */
      bias = (uintptr_t)header + segments[i].p_offset - segments[i].p_vaddr;
    else if (segments[i].p_type == PT_DYNAMIC)
      dynamic = (const ElfW(Dyn) *)((uintptr_t)header + segments[i].p_offset);
  }
  return hwi_elf_open(image, bias, dynamic);
}

hwi_os_clock_fn *hwi_os_vdso_clock(void)
{
  static uintptr_t known; /* 0: not searched yet, 1: none */
  uintptr_t clock = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (clock == 0) {
    struct hwi_elf_image image;
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
    if (header && open_vdso(&image, header))
      clock = hwi_elf_find(&image, HWI_ARCH_VDSO_CLOCK_GETTIME);
    clock = clock ? clock : 1;
    __atomic_store_n(&known, clock, __ATOMIC_RELAXED);
  }
  return clock > 1 ? (hwi_os_clock_fn *)clock : NULL;
}
