/* import_foreign.c - recordings of other tools become packed traces */
#include "export/import_foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/decompressed.h"
#include "launch/output.h"

static const struct hwi_foreign_format *const formats[] = {&hwi_foreign_heaptrack, &hwi_foreign_heaphook,
                                                           &hwi_foreign_heaphook_old};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct hwi_foreign_format *hwi_foreign_format_of(const char *path)
{
  const struct hwi_foreign_format *found = NULL;
  char line[HWI_FOREIGN_LINE_BYTES];
  FILE *file = hwi_decompressed_open(path);
  if (file == NULL)
    return NULL;
  if (fgets(line, sizeof line, file) != NULL)
    for (int i = 0; i < FORMATS && found == NULL; i++)
      found = formats[i]->recognizes(line) ? formats[i] : NULL;
  fclose(file);
  return found;
}

/* Reads the file to its end. */
static int read_lines(const struct hwi_foreign_format *format, FILE *file, struct hwi_synthetic *trace,
                      struct hwi_foreign *result)
{
  char line[HWI_FOREIGN_LINE_BYTES];
  void *reader = format->create();
  if (reader == NULL)
    return HW_ERR_MEMORY;
  hwi_synthetic_note(trace, HW_NOTE_IMPORTED, format->missing);
  uint64_t number = 0;
  bool in_line = false; /* one that is too long */
  while (trace->status == 0 && fgets(line, sizeof line, file) != NULL) {
    size_t bytes = strcspn(line, "\n");
    bool whole = line[bytes] == '\n' || feof(file), continued = in_line;
    in_line = !whole;
    number += !continued;
    line[bytes] = '\0';
    if (continued || (whole && (bytes == 0 || format->take(reader, trace, line))))
      continue;
    if (result->bad_lines++ == 0)
      result->first_bad_line = number;
  }
  format->destroy(reader);
  return ferror(file) ? HW_ERR_IO : trace->status;
}

int hwi_foreign_write(const struct hwi_foreign_format *format, FILE *file, int fd, struct hwi_foreign *result)
{
  struct hwi_synthetic trace;
  hwi_synthetic_begin(&trace, fd);
  int status = trace.status == 0 ? read_lines(format, file, &trace, result) : trace.status;
  if (trace.status == 0)
    trace.status = status;
  status = hwi_synthetic_end(&trace);
  result->event_count = trace.file.event_count;
  result->packed_bytes = trace.file.off;
  return status;
}

/* Under a temporary name beside `to`, which becomes its own when all is there. */
static int write_file(const struct hwi_foreign_format *format, FILE *file, const char *to, struct hwi_foreign *result)
{
  char *temporary = NULL;
  if (asprintf(&temporary, "%s.XXXXXX", to) < 0)
    return HW_ERR_MEMORY;
  int fd = mkostemp(temporary, O_CLOEXEC), status = HW_ERR_IO;
  if (fd >= 0) {
    status = hwi_foreign_write(format, file, fd, result);
    if (close(fd) != 0 && status == 0)
      status = HW_ERR_IO;
    if (status == 0 && rename(temporary, to) != 0)
      status = HW_ERR_IO;
    int os_error = errno;
    if (status < 0)
      unlink(temporary);
    errno = os_error;
  }
  free(temporary);
  return status;
}

int hwi_foreign_import(const struct hwi_foreign_format *format, const char *from, const char *to,
                       struct hwi_foreign *result, struct hwi_error *error)
{
  *result = (struct hwi_foreign){.tool = format->tool, .missing = format->missing};
  struct hwi_output output = {0};
  FILE *file = hwi_decompressed_open(from);
  if (file == NULL)
    return hwi_error_set(error, HW_ERR_IO, "%s cannot be read: %s", from, strerror(errno));
  int status = hwi_output_place(&output, to, error);
  if (status == 0)
    status = hwi_output_set_aside(&output, error);
  if (status == 0) {
    status = write_file(format, file, to, result);
    if (status == HW_ERR_USAGE)
      hwi_error_set(error, status, "%s %s", from, format->refusal);
    else if (status < 0)
      hwi_error_set(error, status, "%s cannot be imported into %s: %s", from, to,
                    status == HW_ERR_IO ? strerror(errno) : hwi_status_text(status));
    else
      hwi_output_discard_earlier(&output);
  }
  hwi_output_restore_earlier(&output);
  hwi_output_release(&output);
  fclose(file);
  return status;
}
