/* wide.h - texts in UTF-8, which the project uses, and in UTF-16, which Windows uses; and Windows' errors as errno */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_WIDE_H
#define HWI_PLATFORM_WINDOWS_POSIX_WIDE_H

#include <stddef.h>
#include <wchar.h>

/* Return a copy that the caller frees, or NULL with errno set: ENOMEM, or EILSEQ if the text is not valid. */
wchar_t *hwi_wide_of(const char *text);
char *hwi_wide_to_utf8(const wchar_t *wide);

/* Sets errno to what GetLastError() means. Returns -1. */
int hwi_windows_fail(void);

#endif
