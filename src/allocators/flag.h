/* flag.h - a setting of the heap of a process that is 1 or 0, from the environment */
#ifndef HWI_ALLOCATORS_FLAG_H
#define HWI_ALLOCATORS_FLAG_H

/* Returns 1 or 0 according to the variable, or `otherwise` if it is not set, or has another value, which is reported on
 * stderr. `value_of` returns NULL for a variable that is not set. */
int hwi_flag_read(const char *(*value_of)(const char *name), const char *name, int otherwise);

#endif
