/* settings.h - the settings of the heap of a process: from the config that is linked in, a file, and the environment */
#ifndef HWI_ALLOCATORS_PROCESS_HEAP_SETTINGS_H
#define HWI_ALLOCATORS_PROCESS_HEAP_SETTINGS_H

#include <stdbool.h>

#include "allocators/heap/config.h"
#include "allocators/setting.h"

struct hwi_process_settings {
  struct hwi_heap_settings heap; /* right; HEAPWRIGHT_CHECK is its check_all_frees */
  bool uses_libc;                /* HEAPWRIGHT_HEAP_LIBC */
  const char *stats;             /* HEAPWRIGHT_STATS: the file, or "stderr"; NULL: no statistics */
};

/* Begins with `config`, unless it is NULL, and changes the fields that are in the file HEAPWRIGHT_HEAP_CONFIG, then
 * those whose variables are set. `variables` are all variables of the process, ended by NULL. A wrong value is
 * reported on stderr, and the default is used; a variable of this kind that no field has is reported, too. */
void hwi_process_settings_read(struct hwi_process_settings *settings, const struct hw_heap_config *config,
                               hwi_value_fn *value_of, char *const *variables);

#endif
