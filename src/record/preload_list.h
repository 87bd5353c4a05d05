/* preload_list.h - this library in the value of LD_PRELOAD */
#ifndef HWI_RECORD_PRELOAD_LIST_H
#define HWI_RECORD_PRELOAD_LIST_H

#include <stdbool.h>

/* Returns whether the list has an entry that is this library. */
bool hwi_preload_has_own(const char *list);

/* Removes this library from the list, in place. Returns false if it is not in the list. */
bool hwi_preload_take_out(char *list);

#endif
