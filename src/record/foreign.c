/* foreign.c - finds allocators whose calls the recorder cannot see, or not all of them
 *
 * A program that is linked with jemalloc, tcmalloc or mimalloc statically calls them by a direct jump, which no preloaded
 * library is asked about. What can be told is that their names are there. A library of theirs behind us is no such case:
 * its malloc is the real one.
 */
#include "record/foreign.h"

#include <stddef.h>
#include <string.h>

#include "platform/os.h"
#include "record/real.h"

static const char *module_path(const void *address)
{
  struct hwi_os_module module;
  return hwi_os_find_module((uintptr_t)address, &module) ? module.path : "";
}

static bool is_real_allocator(const void *address)
{
  struct hwi_os_module module, real;
  return hwi_os_find_module((uintptr_t)address, &module) &&
         hwi_os_find_module((uintptr_t)hwi_real_function[HW_ENTRY_MALLOC], &real) && module.start == real.start;
}

void hwi_foreign_find(void (*found)(enum hw_note note, const char *module))
{
  static const char static_names[][16] = {"je_malloc", "tc_malloc", "mi_malloc", "rpmalloc", "scalable_malloc"};
  void *address;
  if (hwi_real_is_ahead(HW_SYMBOL_MALLOC, &address))
    found(HW_NOTE_OWN_MALLOC, module_path(address));
  if (hwi_real_is_ahead(HW_SYMBOL_NEW, &address))
    found(HW_NOTE_OWN_NEW, module_path(address));
  for (size_t i = 0; i < sizeof static_names / sizeof *static_names; i++)
    if (hwi_real_is_ahead(static_names[i], &address) && !is_real_allocator(address))
      found(HW_NOTE_STATIC_ALLOCATOR, module_path(address));
}
