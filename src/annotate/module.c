/* module.c - the module that an address is in */
#include "annotate/module.h"

#ifdef HW_STATIC

#include <elf.h>
#include <link.h>

#include "platform/arch.h"

extern const ElfW(Ehdr) program_header __asm__("__ehdr_start") __attribute__((visibility("hidden")));

bool hwi_module_find(uintptr_t address, struct hwi_os_module *module)
{
  const uintptr_t start = (uintptr_t)&program_header;
  const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(start + program_header.e_phoff);
  *module = (struct hwi_os_module){.start = start, .path = ""};
  for (unsigned i = 0; i < program_header.e_phnum; i++)
    if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
      module->bias = start - segments[i].p_vaddr;
  for (unsigned i = 0; i < program_header.e_phnum; i++) {
    const uintptr_t at = module->bias + segments[i].p_vaddr;
    if (segments[i].p_type == PT_LOAD && at + segments[i].p_memsz > module->end)
      module->end = at + segments[i].p_memsz;
    if (segments[i].p_type == HWI_ARCH_UNWIND_SEGMENT)
      module->eh_frame_hdr = at;
  }
  return address >= module->start && address < module->end;
}

#else

bool hwi_module_find(uintptr_t address, struct hwi_os_module *module)
{
  return hwi_os_find_module(address, module);
}

#endif
