/* os_linux_dynamic.c - for libraries, and for archives that ask the same of the loader in static programs (see os_linux_static.c) */
#include "platform/os.h"

bool hwi_os_is_static(void)
{
  return false;
}

bool hwi_os_is_linked_in(void)
{
  return false;
}
