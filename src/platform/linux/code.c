/* code.c - memory with code on Linux, and what changes it
 *
 * Pages with code become writable and stay executable meanwhile: where that is not allowed (SELinux's execmem, a seccomp filter of
 * W^X), the first call fails, and nothing has changed. If they became writable alone, the way back might be what is not allowed,
 * and the program could not go on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/allocator_texts.h"
#include "platform/arch.h"
#include "platform/linux/call.h"
#include "platform/os.h"
#include "platform/os_code.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

uintptr_t hwi_os_chosen_function(uintptr_t resolver)
{
  return ((uintptr_t(*)(unsigned long))resolver)(getauxval(AT_HWCAP));
}

/* A folder has a link from itself, one from its parent, and one from each folder in it. */
uint32_t hwi_os_thread_count(void)
{
  enum { OTHER_LINKS = 2 };
  struct hwi_call_file about;
  if (hwi_call_about_file(AT_FDCWD, "/proc/self/task", 0, &about) != 0 || about.links <= OTHER_LINKS)
    return 0;
  return (uint32_t)(about.links - OTHER_LINKS);
}

/* --- memory near code --- */

static void *map_at(uintptr_t address, size_t bytes)
{
  const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE; /* only a hint for Linux before 4.17 */
  const long at = hwi_call_map((void *)address, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (hwi_call_failed(at))
    return NULL;
  if ((uintptr_t)at == address)
    return (void *)at;
  hwi_os_unmap((void *)at, bytes);
  return NULL;
}

/* Above a program is its heap: brk begins at its end, or up to 32 MiB higher, and fails where anything is mapped. So addresses
 * below the module come first, farther and farther away, and then those above, nearer and nearer. */
void *hwi_os_map_near(uintptr_t address, size_t bytes, size_t farthest)
{
  enum { NEAREST = 1 << 20, NEAREST_ABOVE = 256 << 20 };
  const uintptr_t mask = ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1), page = address & mask;
  struct hwi_os_module module;
  const uintptr_t start = hwi_os_find_module(address, &module) ? module.start & mask : page;
  void *found = NULL;
  for (uintptr_t distance = NEAREST; !found && distance + NEAREST < start && page - (start - distance) < farthest;
       distance += distance / 4 & mask)
    found = map_at(start - distance, bytes);
  for (uintptr_t distance = farthest - bytes; !found && distance > NEAREST_ABOVE; distance -= distance / 8 & mask)
    found = map_at(page + distance, bytes);
  return found;
}

int hwi_os_make_code(void *start, size_t bytes)
{
  return (int)CALL3(SYS_mprotect, start, bytes, PROT_READ | PROT_EXEC);
}

/* --- guarded code --- */

struct property {
  uint32_t type, bytes;
  uint32_t flags; /* the first of these bytes */
};

/* Returns whether the properties in [at, end) have it. Each is padded to 8 bytes. */
static bool has_guard(const uint8_t *at, const uint8_t *end)
{
  enum { ALIGN = 8, HEAD_BYTES = offsetof(struct property, flags) };
  struct property one;
  for (size_t bytes; (size_t)(end - at) >= sizeof one; at += bytes) {
    memcpy(&one, at, sizeof one);
    if (one.type == HWI_ARCH_GUARD_PROPERTY && one.bytes == sizeof one.flags)
      return one.flags & 1;
    bytes = HEAD_BYTES + ((one.bytes + (size_t)(ALIGN - 1)) & ~(size_t)(ALIGN - 1));
    if (bytes > (size_t)(end - at))
      return false;
  }
  return false;
}

/* Returns whether the note has it: a header, "GNU", properties. */
static bool is_guarding(const uint8_t *at, size_t bytes)
{
  ElfW(Nhdr) note;
  static const char name[] = "GNU";
  if (bytes < sizeof note + sizeof name)
    return false;
  memcpy(&note, at, sizeof note);
  const uint8_t *properties = at + sizeof note + sizeof name;
  return note.n_type == NT_GNU_PROPERTY_TYPE_0 && note.n_namesz == sizeof name &&
         memcmp(at + sizeof note, name, sizeof name) == 0 && note.n_descsz <= bytes - sizeof note - sizeof name &&
         has_guard(properties, properties + note.n_descsz);
}

/* glibc's loader alone gives the right, and reads the note for that. */
static bool has_guards(void)
{
  return getauxval(AT_HWCAP2) & HWI_ARCH_GUARD_CAPABILITY && hwi_os_libc_is_glibc();
}

/* --- code that is there --- */

struct range {
  const struct hwi_os_image *image;
  uintptr_t at;
  size_t bytes;
  uint32_t flags;  /* result: of its segment (PF_X); 0: it is in none */
  bool is_guarded; /* result: the module has guarded code */
};

static bool is_of(const struct dl_phdr_info *info, const struct hwi_os_image *image)
{
  const struct link_map *map = image->loaded;
  for (size_t i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == (uintptr_t)map->l_ld;
  return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  struct range *range = context;
  if (!is_of(info, range->image))
    return 0;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uintptr_t off = range->at - (info->dlpi_addr + segment->p_vaddr);
    if (segment->p_type == PT_LOAD && off < segment->p_filesz && range->bytes <= segment->p_filesz - off)
      range->flags = segment->p_flags;
    if (segment->p_type == PT_GNU_PROPERTY && has_guards())
      range->is_guarded = is_guarding((const uint8_t *)(info->dlpi_addr + segment->p_vaddr), segment->p_filesz);
  }
  return 1;
}

static struct range range_of(const struct hwi_os_image *image, uintptr_t at, size_t bytes)
{
  struct range range = {.image = image, .at = at, .bytes = bytes};
  dl_iterate_phdr(look, &range);
  return range;
}

bool hwi_os_image_has_code(const struct hwi_os_image *image, uintptr_t at, size_t bytes)
{
  return (range_of(image, at, bytes).flags & (PF_R | PF_X)) == (PF_R | PF_X);
}

struct string_search {
  const struct hwi_os_image *image;
  const char *text;
  bool is_found;
};

/* With most linkers, constants are in a segment that is only read; otherwise they are in that of the code. */
static uint32_t flags_of_constants(const struct dl_phdr_info *info)
{
  for (size_t i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags == PF_R)
      return PF_R;
  return PF_R | PF_X;
}

static int look_for_string(struct dl_phdr_info *info, size_t size, void *context)
{
  enum { MOST_BYTES = 32 << 20 }; /* more of them would delay the program's start by tens of milliseconds */
  (void)size;
  struct string_search *search = context;
  if (!is_of(info, search->image))
    return 0;
  const uint32_t flags = flags_of_constants(info);
  for (size_t i = 0; i < info->dlpi_phnum && !search->is_found; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && segment->p_flags == flags && segment->p_filesz <= MOST_BYTES)
      search->is_found =
          hwi_has_string((const char *)(info->dlpi_addr + segment->p_vaddr), segment->p_filesz, search->text);
  }
  return 1;
}

bool hwi_os_image_has_string(const struct hwi_os_image *image, const char *text)
{
  struct string_search search = {image, text, false};
  dl_iterate_phdr(look_for_string, &search);
  return search.is_found;
}

/* A segment with code may be one with data, too. */
static long access_of(const struct hwi_os_image *image, uintptr_t at, size_t bytes)
{
  const struct range range = range_of(image, at, bytes);
  long access = PROT_READ | PROT_EXEC;
  if (range.flags & PF_W)
    access |= PROT_WRITE;
  if (range.is_guarded)
    access |= HWI_ARCH_GUARD_RIGHT;
  return access;
}

static int protect(uintptr_t at, size_t bytes, long access)
{
  const uintptr_t mask = HWI_OS_PAGE_BYTES - 1, first = at & ~mask, end = (at + bytes + mask) & ~mask;
  return (int)CALL3(SYS_mprotect, first, end - first, access);
}

int hwi_os_open_code(const struct hwi_os_image *image, uintptr_t at, size_t bytes)
{
  return protect(at, bytes, access_of(image, at, bytes) | PROT_WRITE);
}

int hwi_os_close_code(const struct hwi_os_image *image, uintptr_t at, size_t bytes)
{
  return protect(at, bytes, access_of(image, at, bytes));
}
