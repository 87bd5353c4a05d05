/* foreign.c - finds allocators whose calls the recorder cannot see completely
 *
 * Those that are linked into the program and are redirected (redirect.h) can be seen. The tools find others, in the executable
 * file.
 */
#include "record/runtime/foreign.h"

#include <stddef.h>
#include <string.h>

#include "base/base_name.h"
#include "base/own_allocators.h"
#include "platform/os.h"
#include "record/runtime/real.h"
#include "record/runtime/redirected.h"

static const char *module_path(const void *address)
{
  struct hwi_os_module module;
  return hwi_os_find_module((uintptr_t)address, &module) ? module.path : "";
}

/* Returns whether `path` is the module of a valgrind tool that has a malloc, which valgrind calls instead of ours.
 * Callgrind and others have none. */
static bool is_valgrind_malloc(const char *path)
{
  static const char any[] = "vgpreload_", common[] = "vgpreload_core";
  const char *name = hwi_base_name(path);
  return !strncmp(name, any, sizeof any - 1) && strncmp(name, common, sizeof common - 1) != 0;
}

static bool is_redirected(const void *function)
{
  return hwi_redirected_at((uintptr_t)function);
}

void hwi_foreign_find(void (*found)(enum hw_note note, const char *module))
{
  if (hwi_real_is_loaded_late) {
    found(HW_NOTE_LATE, "calls of malloc");
    return;
  }
  const void *own_malloc = hwi_os_symbol_before(HW_SYMBOL_MALLOC), *own_new = hwi_os_symbol_before(HW_SYMBOL_NEW);
  if (own_malloc && !is_redirected(own_malloc))
    found(HW_NOTE_OWN_MALLOC, module_path(own_malloc));
  if (own_new && !is_redirected(own_new))
    found(HW_NOTE_OWN_NEW, module_path(own_new));
  const char *path = hwi_os_module_path(is_valgrind_malloc);
  if (path)
    found(HW_NOTE_OWN_MALLOC, path);
  if (path || own_malloc)
    return; /* the next malloc is not the program's */
  const void *next = hwi_os_symbol_after(HW_SYMBOL_MALLOC);
  path = module_path(next);
  if (*path && !hwi_os_is_of_libc((uintptr_t)next) && (hwi_os_libc_is_glibc() || !hwi_serves_only_glibc(path)))
    found(HW_NOTE_ALLOCATOR, path);
}
