/* loader.c - the loaded modules, from the data of glibc's or musl's dynamic loader
 *
 * _dl_find_object, _r_debug and musl's list of modules are read without any lock, so that a malloc inside the loader, or in a signal
 * handler that interrupts it, cannot deadlock. A glibc before 2.35 has no _dl_find_object (find_object.h);
 * dl_iterate_phdr, which takes a recursive lock of the loader, is used instead. In a static program that function takes no
 * lock, or the same one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "platform/arch.h"
#include "platform/linux/find_object.h"
#include "platform/linux/modules.h"
#include "platform/os.h"

#pragma weak _r_debug

extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));                     /* of musl's loader */
extern void init_static_musl(void) __asm__("__init_libc") __attribute__((weak)); /* in each static program */

bool hwi_os_libc_is_glibc(void)
{
  return gnu_get_libc_version != NULL;
}

bool hwi_os_libc_is_musl(void)
{
  return &_dl_debug_addr || init_static_musl;
}

bool hwi_os_has_known_libc(void)
{
  return hwi_os_libc_is_glibc() || hwi_os_libc_is_musl() || hwi_os_is_static();
}

/* Sets start, end and eh_frame_hdr of a module that is loaded at `bias`. */
static void measure(const ElfW(Phdr) *phdrs, size_t count, uintptr_t bias, struct hwi_os_module *module)
{
  module->start = UINTPTR_MAX;
  module->end = 0;
  module->eh_frame_hdr = 0;
  for (size_t i = 0; i < count; i++) {
    uintptr_t start = bias + phdrs[i].p_vaddr;
    if (phdrs[i].p_type == HWI_ARCH_UNWIND_SEGMENT)
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
  /* The kernel maps the executable segment by segment, so there may be holes; glibc then reports only one segment. */
  const ElfW(Phdr) *phdrs = (const ElfW(Phdr) *)getauxval(AT_PHDR);
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
  struct search *search = (struct search *)context;
  struct hwi_os_module *module = search->module;
  *module = (struct hwi_os_module){.bias = info->dlpi_addr, .path = info->dlpi_name};
  measure(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, module);
  return search->address >= module->start && search->address < module->end;
}

/* Sets the segments of the module whose ELF header is at its bias; false if there is none. */
static bool measure_image(struct hwi_os_module *module)
{
  const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)module->bias;
  if (module->bias % HWI_OS_PAGE_BYTES || !hwi_os_readable_pages(module->bias, 1) ||
      memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
      elf->e_phoff + (size_t)elf->e_phnum * sizeof(ElfW(Phdr)) > HWI_OS_PAGE_BYTES)
    return false;
  measure((const ElfW(Phdr) *)(module->bias + elf->e_phoff), elf->e_phnum, module->bias, module);
  return true;
}

static bool is_within(uintptr_t address, const struct hwi_os_module *module)
{
  return address >= module->start && address < module->end;
}

/* musl keeps the modules in a list, to which it only adds; the first one is the program, which it names by argv[0]. A
 * program that is started by naming it to the loader has no program headers in the auxiliary vector. */
static bool find_in_musls_list(uintptr_t address, struct hwi_os_module *module)
{
  const struct link_map *first = _dl_debug_addr->r_map;
  for (const struct link_map *map = first; map; map = map->l_next) {
    *module = (struct hwi_os_module){.bias = map->l_addr, .path = map == first || !map->l_name ? "" : map->l_name};
    if (map == first && getauxval(AT_BASE))
      measure((const ElfW(Phdr) *)getauxval(AT_PHDR), getauxval(AT_PHNUM), map->l_addr, module);
    else if (!measure_image(module))
      continue;
    if (is_within(address, module))
      return true;
  }
  return false;
}

/* musl's loader has that name in its list, glibc's puts it in the place of its own; it looks for a name without a folder where libraries
 * are. */
const char *hwi_modules_program(void)
{
  if (getauxval(AT_BASE) || hwi_os_is_static())
    return NULL;
  if (&_dl_debug_addr)
    return _dl_debug_addr->r_map->l_name;
  const char *name = (const char *)getauxval(AT_EXECFN);
  return name && strchr(name, '/') ? name : NULL;
}

enum { MOST_VDSO_BYTES = 1 << 16 };

extern const ElfW(Ehdr) own_header __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* A static program may allocate before libc has made its own data of the program. */
static bool is_in_static_program(uintptr_t address, struct hwi_os_module *module)
{
  const uintptr_t header = (uintptr_t)&own_header;
  const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(header + own_header.e_phoff);
  *module = (struct hwi_os_module){.path = ""};
  for (size_t i = 0; i < own_header.e_phnum; i++)
    if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
      module->bias = header - segments[i].p_vaddr;
  measure(segments, own_header.e_phnum, module->bias, module);
  return is_within(address, module);
}

/* Neither musl's list nor a static program's has the vdso, which is linked for the address 0. */
static bool is_in_vdso(uintptr_t address, struct hwi_os_module *module)
{
  const uintptr_t header = getauxval(AT_SYSINFO_EHDR);
  *module = (struct hwi_os_module){.bias = header, .path = "linux-vdso.so.1"};
  return header && address - header < MOST_VDSO_BYTES && measure_image(module) && is_within(address, module);
}

static bool find_in_loader(uintptr_t address, struct hwi_os_module *module)
{
  struct dl_find_object found;
  struct search search = {address, module};
  if (hwi_os_is_static()) /* a static program of glibc may load libraries, too */
    return is_in_static_program(address, module) || dl_iterate_phdr(covers, &search) == 1;
  hwi_find_object_fn *find = hwi_find_object();
  if (find)
    return find((void *)address, &found) == 0 && from_loader(&found, module);
  return &_dl_debug_addr ? find_in_musls_list(address, module) : dl_iterate_phdr(covers, &search) == 1;
}

bool hwi_os_find_module(uintptr_t address, struct hwi_os_module *module)
{
  return find_in_loader(address, module) || is_in_vdso(address, module);
}

bool hwi_os_is_of_libc(uintptr_t address)
{
  struct hwi_os_module libc, module;
  return hwi_os_find_module((uintptr_t)&getauxval, &libc) && hwi_os_find_module(address, &module) &&
         module.start == libc.start;
}

struct path_search {
  bool (*is_one)(const char *path);
  const char *path; /* the path that was found */
};

static int is_wanted(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  struct path_search *search = context;
  if (!search->is_one(info->dlpi_name))
    return 0;
  search->path = info->dlpi_name;
  return 1;
}

const char *hwi_os_module_path(bool (*is_one)(const char *path))
{
  struct path_search search = {.is_one = is_one};
  dl_iterate_phdr(is_wanted, &search);
  return search.path;
}

/* Writes the build-id among the notes in [at, end), and returns its length; 0: none. */
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

/* Returns the segments of a module, *count ElfW(Phdr): none if its headers are not in its first page. */
static const void *segments_of(const struct hwi_os_module *module, unsigned *count)
{
  const ElfW(Ehdr) *ehdr = (const void *)module->start;
  *count = 0;
  if (module->end - module->start < HWI_OS_PAGE_BYTES || !hwi_os_readable_pages(module->start, 1) ||
      memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 || ehdr->e_phentsize != sizeof(ElfW(Phdr)) ||
      ehdr->e_phoff + (size_t)ehdr->e_phnum * sizeof(ElfW(Phdr)) > HWI_OS_PAGE_BYTES)
    return NULL;
  *count = ehdr->e_phnum;
  return (const void *)(module->start + ehdr->e_phoff);
}

size_t hwi_os_build_id(const struct hwi_os_module *module, uint8_t *to, size_t max)
{
  unsigned count;
  const ElfW(Phdr) *phdrs = segments_of(module, &count);
  for (unsigned i = 0; i < count; i++) {
    uintptr_t start = module->bias + phdrs[i].p_vaddr, end = start + phdrs[i].p_memsz;
    if (phdrs[i].p_type != PT_NOTE || start < module->start || end > module->end || end < start)
      continue;
    size_t n = build_id_in((const uint8_t *)start, (const uint8_t *)end, to, max);
    if (n)
      return n;
  }
  return 0;
}

bool hwi_os_is_code(const struct hwi_os_module *module, uintptr_t address)
{
  unsigned count;
  const ElfW(Phdr) *phdrs = segments_of(module, &count);
  for (unsigned i = 0; i < count; i++) {
    if (phdrs[i].p_type == PT_LOAD && address - (module->bias + phdrs[i].p_vaddr) < phdrs[i].p_memsz)
      return phdrs[i].p_flags & PF_X;
  }
  return count == 0;
}

bool hwi_os_loader_range(uintptr_t *start, uintptr_t *end)
{
  struct hwi_os_module module;
  uintptr_t base = getauxval(AT_BASE);
  if (!base || hwi_os_libc_is_musl() || !hwi_os_find_module(base, &module))
    return false;
  *start = module.start;
  *end = module.end;
  return true;
}

enum hwi_os_loader_work hwi_os_loader_work(void)
{
  if (!&_r_debug || _r_debug.r_state == RT_CONSISTENT)
    return HWI_OS_LOADER_IDLE;
  return _r_debug.r_state == RT_ADD ? HWI_OS_LOADER_LOADS : HWI_OS_LOADER_UNLOADS;
}

static int unloads(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  *(uint64_t *)context = info->dlpi_subs;
  return 1; /* every module reports the same */
}

uint64_t hwi_os_unload_count(void)
{
  uint64_t count = 0;
  dl_iterate_phdr(unloads, &count);
  return count;
}
