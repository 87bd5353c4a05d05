/* dynamic.c - for libraries, and for archives that ask the same of the loader in static programs (see static.c) */
#include <sys/auxv.h>

#include "platform/os.h"

bool hwi_os_is_static(void)
{
  return false;
}

bool hwi_os_is_linked_in(void)
{
  return false;
}

bool hwi_os_is_libcs_malloc(uintptr_t function)
{
  return hwi_os_is_of_libc(function);
}

bool hwi_os_may_be_libcs_usable_size(uintptr_t function)
{
  return hwi_os_is_of_libc(function);
}

/* On 64-bit Arm, libgcc asks by this name which atomic instructions the CPU has. musl has no such function, so that its programs could
 * not load the library. Archives of libc have it: there this one is not taken. */
unsigned long own_getauxval(unsigned long type) __asm__("__getauxval")
    __attribute__((weak, used, visibility("hidden")));

unsigned long own_getauxval(unsigned long type)
{
  return getauxval(type);
}
