/* dlfcn.h - libraries that are loaded when they are needed (platform/windows/posix/libraries.c) */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_DLFCN_H
#define HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_DLFCN_H

enum { RTLD_NOW = 0, RTLD_LOCAL = 0 };

void *dlopen(const char *file, int flags);
void *dlsym(void *handle, const char *name);
char *dlerror(void); /* what the last dlopen of this thread failed with */

#endif
