/* new_trace.c - makes a trace that is complete or not there */
#include "launch/new_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/ending_signals.h"
#include "launch/output.h"

/* Makes the whole trace in a new file and stores its name in `part`. If it fails, there is no file. */
static int write_part(char *part, int (*write)(void *context, int fd), void *context)
{
  int fd = hwi_unfinished_make(part);
  if (fd < 0)
    return HW_ERR_IO;
  int status = write(context, fd);
  if (close(fd) != 0 && status == 0)
    status = HW_ERR_IO;
  int os_error = errno;
  if (status < 0)
    unlink(part);
  errno = os_error;
  return status;
}

/* Replaces the file at `to`, now that the new one is complete. */
static int put_in_place(const char *part, const char *to, struct hwi_output *output, struct hwi_error *error)
{
  int status = hwi_output_set_aside(output, error);
  if (status == 0 && rename(part, to) != 0)
    status = hwi_error_set(error, HW_ERR_IO, "%s cannot be made: %s", to, strerror(errno));
  if (status < 0)
    unlink(part);
  else
    hwi_output_discard_earlier(output);
  hwi_output_restore_earlier(output);
  return status;
}

int hwi_new_trace_make(const char *to, int (*write)(void *context, int fd), void *context, struct hwi_error *error)
{
  struct hwi_output output = {0};
  char *part = NULL;
  int status = hwi_output_place(&output, to, error);
  if (status == 0 && asprintf(&part, "%s.XXXXXX", to) < 0)
    status = HW_ERR_MEMORY;
  if (status == 0) {
    status = write_part(part, write, context);
    hwi_deferred_begin();
    status = status == 0 ? put_in_place(part, to, &output, error) : status;
    hwi_deferred_end();
    hwi_unfinished_end();
  }
  const int os_error = errno;
  free(part);
  hwi_output_release(&output);
  errno = os_error;
  return status;
}
