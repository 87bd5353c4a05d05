/* heap_variables.c - variables that only look like the heap's are not passed to a process on it */
#include "launch/start/heap_variables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/heap/config.h"
#include "base/own_allocators.h"
#include "base/preload_list.h"

extern char **environ;

/* Returns false if there is no memory. */
static bool drop(const char *variable)
{
  char *name = strndup(variable, strcspn(variable, "="));
  bool is_dropped = name && unsetenv(name) == 0;
  free(name);
  return is_dropped;
}

void hwi_heap_variables_drop_unknown(void)
{
  const char *preload = getenv("LD_PRELOAD");
  if (!preload || !hwi_preload_has(preload, HWI_HEAP_LIBRARY))
    return;
  for (char **at = environ; *at;)
    if (!hwi_heap_variable_is_unknown(*at) || !drop(*at))
      at++;
}
