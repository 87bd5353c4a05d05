/* langinfo.h - how texts are encoded */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_LANGINFO_H
#define HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_LANGINFO_H

enum { CODESET };

/* What is written is UTF-8: the console is told so (start.c). */
static inline const char *nl_langinfo(int item)
{
  (void)item;
  return "UTF-8";
}

#endif
