/* find_object.h - glibc's _dl_find_object; internal to this folder
 *
 * glibc has it from 2.35 on. Nothing refers to it by its name: for a weak reference, too, the linker notes that the library needs
 * glibc 2.35, and the loader of an older one would not start the program.
 */
#ifndef HWI_PLATFORM_LINUX_FIND_OBJECT_H
#define HWI_PLATFORM_LINUX_FIND_OBJECT_H

struct dl_find_object;
typedef int hwi_find_object_fn(void *address, struct dl_find_object *found);

/* Returns NULL if there is none. Valid in signal handlers, and in all threads; it takes no lock. */
hwi_find_object_fn *hwi_find_object(void);

#endif
