/* names.h - a set of file names */
#ifndef HWI_LAUNCH_NAMES_H
#define HWI_LAUNCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Open addressing; never more than half full. */
struct hwi_names {
  char **slots;
  size_t count, slot_count; /* a power of two, or 0 */
};

bool hwi_names_has(const struct hwi_names *names, const char *name);
bool hwi_names_add(struct hwi_names *names, const char *name); /* false: no memory */
void hwi_names_release(struct hwi_names *names);

#endif
