/* error.c - the texts of errors */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* errno is not changed: the caller may still need it. */
static void fill(struct hwi_error *error, int status, uint64_t offset, const char *format, va_list arguments)
{
  int os_error = errno;
  if (!error) {
    return;
  }
  error->status = status;
  error->os_error = status == HW_ERR_IO ? os_error : 0;
  error->offset = offset;
  if (vsnprintf(error->text, sizeof error->text, format, arguments) < 0) {
    snprintf(error->text, sizeof error->text, "%s", hwi_status_text(status));
  }
  errno = os_error;
}

int hwi_error_set(struct hwi_error *error, int status, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  fill(error, status, 0, format, arguments);
  va_end(arguments);
  return status;
}

int hwi_error_set_at(struct hwi_error *error, int status, uint64_t offset, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  fill(error, status, offset, format, arguments);
  va_end(arguments);
  return status;
}

const char *hwi_status_text(int status)
{
  switch ((enum hw_status)status) {
  case HW_OK:
    return "success";
  case HW_ERR_IO:
    return "a system call failed";
  case HW_ERR_MEMORY:
    return "no memory left";
  case HW_ERR_NOT_A_TRACE:
    return "not a heapwright trace";
  case HW_ERR_VERSION:
    return "made by a newer heapwright";
  case HW_ERR_DAMAGED:
    return "damaged";
  case HW_ERR_USAGE:
    return "invalid request";
  case HW_ERR_LIMIT:
    return "a limit was reached";
  case HW_ERR_EXISTS:
    return "would overwrite an existing file";
  case HW_ERR_BUSY:
    return "the trace is still being written";
  }
  return "unknown error";
}
