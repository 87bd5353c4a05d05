/* os_linux_processors.c - the number of processors on Linux */
#define _GNU_SOURCE
#include "platform/os_processors.h"

#include <sched.h>

unsigned hwi_os_processors(void)
{
  cpu_set_t allowed; /* the call fails if the kernel has more processors than fit: then there are enough */
  if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
    return CPU_SETSIZE;
  return (unsigned)CPU_COUNT(&allowed);
}
