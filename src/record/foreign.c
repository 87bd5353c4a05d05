/* foreign.c - finds allocators whose calls the recorder cannot see, or not all of them
 *
 * Only names that this library defines, too, are looked up: a look-up that fails would allocate an error text in the
 * program's name. Allocators that are linked in statically are found in the file, by the tools.
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

void hwi_foreign_find(void (*found)(enum hw_note note, const char *module))
{
  void *address;
  if (hwi_real_is_ahead(HW_SYMBOL_MALLOC, &address))
    found(HW_NOTE_OWN_MALLOC, module_path(address));
  if (hwi_real_is_ahead(HW_SYMBOL_NEW, &address))
    found(HW_NOTE_OWN_NEW, module_path(address));
}
