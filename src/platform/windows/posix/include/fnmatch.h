/* fnmatch.h - shell patterns (platform/windows/posix/texts.c) */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_FNMATCH_H
#define HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_FNMATCH_H

enum { FNM_NOMATCH = 1 };

/* Patterns of *, ?, [...] and \; `flags` is 0. */
int fnmatch(const char *pattern, const char *text, int flags);

#endif
