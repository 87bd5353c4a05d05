/* trace_file.c - opens a trace file and checks its header */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/read/trace.h"

enum { POINTER_BYTES = 8, TICK_SHIFT_MAX = 31 };

static int check_header(const char *path, const struct hw_trace_header *header, uint64_t bytes, struct hwi_error *error)
{
  if (bytes == 0)
    return hwi_error_set_at(error, HW_ERR_NOT_A_TRACE, 0,
                            "%s is empty, so it is not a heapwright trace; record the program again", path);
  if (bytes < HW_TRACE_MAGIC_BYTES || memcmp(header->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES))
    return hwi_error_set_at(error, HW_ERR_NOT_A_TRACE, 0,
                            "%s is not a heapwright trace; make one with: heapwright record COMMAND", path);
  if (bytes < sizeof *header)
    return hwi_error_set_at(error, HW_ERR_DAMAGED, bytes,
                            "%s ends after %llu bytes, inside its header; record the program again", path,
                            (unsigned long long)bytes);
  if (header->version > HW_TRACE_VERSION)
    return hwi_error_set_at(error, HW_ERR_VERSION, offsetof(struct hw_trace_header, version),
                            "%s has version %u of the trace format, this heapwright reads up to %d; use a newer one",
                            path, header->version, HW_TRACE_VERSION);
  if (header->pointer_bytes != POINTER_BYTES)
    return hwi_error_set_at(error, HW_ERR_DAMAGED, offsetof(struct hw_trace_header, pointer_bytes),
                            "%s comes from a program with %u-byte pointers, which this version cannot read", path,
                            header->pointer_bytes);
  uint64_t wrong = UINT64_MAX;
  if (header->version == 0)
    wrong = offsetof(struct hw_trace_header, version);
  else if (header->kind != HW_TRACE_RAW && header->kind != HW_TRACE_PACKED)
    wrong = offsetof(struct hw_trace_header, kind);
  else if (header->header_bytes != HW_TRACE_HEADER_BYTES)
    wrong = offsetof(struct hw_trace_header, header_bytes);
  else if (header->tick_shift > TICK_SHIFT_MAX)
    wrong = offsetof(struct hw_trace_header, tick_shift);
  else if (header->clock != HW_CLOCK_TSC && header->clock != HW_CLOCK_MONOTONIC_NS)
    wrong = offsetof(struct hw_trace_header, clock);
  else if (header->kind == HW_TRACE_RAW && (header->window_bytes < HW_CHUNKS_OFF || header->window_bytes > INT64_MAX))
    wrong = offsetof(struct hw_trace_header, window_bytes);
  if (wrong != UINT64_MAX)
    return hwi_error_set_at(error, HW_ERR_DAMAGED, wrong,
                            "%s is damaged: the header field at offset %llu has an invalid value", path,
                            (unsigned long long)wrong);
  return 0;
}

bool hwi_trace_file_is_missing(const char *path, char why[HW_NO_TRACE_BYTES])
{
  static const char start[] = HW_NO_TRACE_LINK;
  char text[HW_NO_TRACE_BYTES] = "";
  ssize_t bytes = readlink(path, text, sizeof text - 1);
  if (bytes < 0 || strncmp(text, start, sizeof start - 1) != 0)
    return false;
  memcpy(why, text + sizeof start - 1, sizeof text - (sizeof start - 1));
  for (char *at = why; *at; at++)
    *at = *at >= ' ' && *at <= '~' ? *at : '?'; /* the link may be forged */
  return true;
}

static int fail_to_open(const char *path, struct hwi_error *error)
{
  char why[HW_NO_TRACE_BYTES];
  int os_error = errno;
  if (os_error == ENOENT && hwi_trace_file_is_missing(path, why))
    return hwi_error_set(error, HW_ERR_NOT_A_TRACE, "the trace %s could not be begun, so nothing was recorded: %s",
                         path, why);
  return hwi_error_set(error, HW_ERR_IO, "cannot open the trace %s: %s", path, strerror(os_error));
}

int hwi_trace_file_open(const char *path, struct hw_trace_header *header, struct hwi_error *error)
{
  memset(header, 0, sizeof *header);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* opening a FIFO must not block */
  struct stat about;
  if (fd < 0 || fstat(fd, &about) < 0) {
    int status = fail_to_open(path, error);
    if (fd >= 0)
      close(fd);
    return status;
  }
  int status = 0;
  ssize_t got = 0;
  if (!S_ISREG(about.st_mode))
    status =
        hwi_error_set(error, HW_ERR_NOT_A_TRACE, "%s is not a regular file, so it is not a heapwright trace", path);
  else if ((got = pread(fd, header, sizeof *header, 0)) < 0)
    status = hwi_error_set(error, HW_ERR_IO, "cannot read the trace %s: %s", path, strerror(errno));
  else
    status = check_header(path, header, (uint64_t)got, error);
  if (status < 0) {
    close(fd);
    return status;
  }
  return fd;
}
