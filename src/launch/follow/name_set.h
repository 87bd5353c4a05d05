/* name_set.h - a set of file names */
#ifndef HWI_LAUNCH_FOLLOW_NAME_SET_H
#define HWI_LAUNCH_FOLLOW_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>

/* Open addressing; never more than half full. */
struct hwi_name_set {
  char **slots;
  size_t count, slot_count; /* a power of two, or 0 */
};

bool hwi_name_set_has(const struct hwi_name_set *names, const char *name);
bool hwi_name_set_add(struct hwi_name_set *names, const char *name); /* false: no memory */
void hwi_name_set_release(struct hwi_name_set *names);

#endif
