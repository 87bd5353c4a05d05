/* os_linux_processors.c - how many processors there are on Linux */
#define _GNU_SOURCE
#include "platform/os_processors.h"

#include <sched.h>

unsigned hwi_os_processors(void)
{
  cpu_set_t allowed; /* a kernel with more processors than it holds refuses: then there are enough of them */
  if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
    return CPU_SETSIZE;
  return (unsigned)CPU_COUNT(&allowed);
}
