/* os_linux_loader.c - the seam to glibc's dynamic loader and threads
 *
 * _dl_find_object and _r_debug are read without any lock, so that a malloc inside the loader cannot deadlock. Both are weak
 * references: a glibc before 2.35 has no _dl_find_object, and dl_iterate_phdr, which takes a recursive lock of the
 * loader's, serves instead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

#include "platform/os.h"

#pragma weak _dl_find_object
#pragma weak _r_debug

/* Sets start, end and eh_frame_hdr of a module that is loaded at `bias`. */
static void measure(const ElfW(Phdr) *phdrs, size_t count, uintptr_t bias, struct hwi_os_module *module)
{
  module->start = UINTPTR_MAX;
  module->end = 0;
  module->eh_frame_hdr = 0;
  for (size_t i = 0; i < count; i++) {
    uintptr_t start = bias + phdrs[i].p_vaddr;
    if (phdrs[i].p_type == PT_GNU_EH_FRAME)
      module->eh_frame_hdr = start;
    if (phdrs[i].p_type != PT_LOAD)
      continue;
    if (start < module->start)
      module->start = start;
    if (start + phdrs[i].p_memsz > module->end)
      module->end = start + phdrs[i].p_memsz;
  }
}

static bool from_loader(const struct dl_find_object *found, struct hwi_os_module *module)
{
  module->start = (uintptr_t)found->dlfo_map_start;
  module->end = (uintptr_t)found->dlfo_map_end;
  module->eh_frame_hdr = (uintptr_t)found->dlfo_eh_frame;
  module->bias = found->dlfo_link_map->l_addr;
  module->path = found->dlfo_link_map->l_name ? found->dlfo_link_map->l_name : "";
  /* The kernel maps the executable segment by segment, so that there may be holes; glibc then gives one segment only. */
  const ElfW(Phdr) *phdrs = (const void *)getauxval(AT_PHDR);
  if (!*module->path && phdrs)
    measure(phdrs, getauxval(AT_PHNUM), module->bias, module);
  return true;
}

struct search {
  uintptr_t address;
  struct hwi_os_module *module;
};

static int covers(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  struct search *search = context;
  struct hwi_os_module *module = search->module;
  *module = (struct hwi_os_module){.bias = info->dlpi_addr, .path = info->dlpi_name};
  measure(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, module);
  return search->address >= module->start && search->address < module->end;
}

bool hwi_os_find_module(uintptr_t address, struct hwi_os_module *module)
{
  struct dl_find_object found;
  if (_dl_find_object)
    return _dl_find_object((void *)address, &found) == 0 && from_loader(&found, module);
  struct search search = {address, module};
  return dl_iterate_phdr(covers, &search) == 1;
}

/* The build-id among the notes in [at, end). */
static size_t build_id_in(const uint8_t *at, const uint8_t *end, uint8_t *to, size_t max)
{
  while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const void *)at;
    size_t name_bytes = (note->n_namesz + 3u) & ~(size_t)3, bytes = (note->n_descsz + 3u) & ~(size_t)3;
    const uint8_t *name = at + sizeof *note;
    if (name_bytes > (size_t)(end - name) || bytes > (size_t)(end - name) - name_bytes)
      return 0;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      size_t n = note->n_descsz < max ? note->n_descsz : max;
      memcpy(to, name + name_bytes, n);
      return n;
    }
    at = name + name_bytes + bytes;
  }
  return 0;
}

size_t hwi_os_build_id(const struct hwi_os_module *module, uint8_t *to, size_t max)
{
  const ElfW(Ehdr) *ehdr = (const void *)module->start;
  if (module->end - module->start < HWI_OS_PAGE_BYTES || !hwi_os_readable_pages(module->start, 1) ||
      memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 || ehdr->e_phentsize != sizeof(ElfW(Phdr)) ||
      ehdr->e_phoff + (size_t)ehdr->e_phnum * sizeof(ElfW(Phdr)) > HWI_OS_PAGE_BYTES)
    return 0;
  const ElfW(Phdr) *phdrs = (const void *)(module->start + ehdr->e_phoff);
  for (int i = 0; i < ehdr->e_phnum; i++) {
    uintptr_t start = module->bias + phdrs[i].p_vaddr, end = start + phdrs[i].p_memsz;
    if (phdrs[i].p_type != PT_NOTE || start < module->start || end > module->end || end < start)
      continue;
    size_t n = build_id_in((const uint8_t *)start, (const uint8_t *)end, to, max);
    if (n)
      return n;
  }
  return 0;
}

bool hwi_os_loader_range(uintptr_t *start, uintptr_t *end)
{
  struct hwi_os_module module;
  uintptr_t base = getauxval(AT_BASE);
  if (!base || !hwi_os_find_module(base, &module))
    return false;
  *start = module.start;
  *end = module.end;
  return true;
}

bool hwi_os_is_unloading(void)
{
  return &_r_debug && _r_debug.r_state == RT_DELETE;
}

static int unloads(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  *(uint64_t *)context = info->dlpi_subs;
  return 1; /* every module says the same */
}

uint64_t hwi_os_unload_count(void)
{
  uint64_t count = 0;
  dl_iterate_phdr(unloads, &count);
  return count;
}

static pthread_key_t thread_end_key;
static bool thread_end_is_ready;

int hwi_os_prepare_thread_end(void (*ended)(void *))
{
  int result = pthread_key_create(&thread_end_key, ended);
  thread_end_is_ready = result == 0;
  return -result;
}

int hwi_os_at_thread_end(void *argument)
{
  return thread_end_is_ready ? -pthread_setspecific(thread_end_key, argument) : -1;
}
