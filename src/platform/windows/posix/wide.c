/* wide.c - texts in UTF-8 and in UTF-16; and Windows' errors as errno */
#include "platform/windows/posix/wide.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

wchar_t *hwi_wide_of(const char *text)
{
  int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *wide = malloc(((size_t)count + 1) * sizeof *wide);
  errno = wide ? EILSEQ : ENOMEM;
  if (wide && count > 0 && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, count) == count)
    return wide;
  free(wide);
  return NULL;
}

char *hwi_wide_to_utf8(const wchar_t *wide)
{
  int count = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
  char *text = malloc((size_t)count + 1);
  errno = text ? EILSEQ : ENOMEM;
  if (text && count > 0 && WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, count, NULL, NULL) == count)
    return text;
  free(text);
  return NULL;
}

static int errno_of(DWORD error)
{
  switch (error) {
  case ERROR_FILE_NOT_FOUND:
  case ERROR_PATH_NOT_FOUND:
  case ERROR_INVALID_NAME:
  case ERROR_INVALID_DRIVE:
  case ERROR_BAD_NETPATH:
    return ENOENT;
  case ERROR_DIRECTORY:
    return ENOTDIR;
  case ERROR_ACCESS_DENIED:
  case ERROR_SHARING_VIOLATION:
  case ERROR_LOCK_VIOLATION:
  case ERROR_WRITE_PROTECT:
    return EACCES;
  case ERROR_FILE_EXISTS:
  case ERROR_ALREADY_EXISTS:
    return EEXIST;
  case ERROR_DISK_FULL:
  case ERROR_HANDLE_DISK_FULL:
    return ENOSPC;
  case ERROR_NOT_ENOUGH_MEMORY:
  case ERROR_OUTOFMEMORY:
    return ENOMEM;
  case ERROR_FILENAME_EXCED_RANGE:
    return ENAMETOOLONG;
  case ERROR_BROKEN_PIPE:
  case ERROR_NO_DATA:
    return EPIPE;
  case ERROR_INVALID_HANDLE:
    return EBADF;
  default:
    return EIO;
  }
}

int hwi_windows_fail(void)
{
  errno = errno_of(GetLastError());
  return -1;
}
