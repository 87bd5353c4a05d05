/* foreign.c - converts recordings of other tools into packed traces */
#include "export/import/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/compression.h"
#include "launch/new_trace.h"
#include "symbols/symbol_files.h"

static const struct hwi_foreign_format *const formats[] = {&hwi_foreign_heaptrack, &hwi_foreign_interpreted,
                                                           &hwi_foreign_heaphook, &hwi_foreign_heaphook_old};
enum { FORMATS = sizeof formats / sizeof *formats, KINDS_MAX = 16 };

const struct hwi_foreign_format *hwi_foreign_format_of(const char *path)
{
  const struct hwi_foreign_format *found = NULL;
  char line[HWI_FOREIGN_LINE_BYTES];
  struct stat about;
  if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
    return NULL; /* opening a pipe would block, and a pipe cannot be read twice */
  FILE *file = hwi_decompressed_open(path);
  if (!file)
    return NULL;
  char kinds[KINDS_MAX + 1] = "", next[HWI_FOREIGN_LINE_BYTES];
  bool begun = fgets(line, sizeof line, file);
  for (int i = 0; i < KINDS_MAX && begun && fgets(next, sizeof next, file); i++)
    kinds[i] = next[0] != '\0' ? next[0] : ' ';
  for (int i = 0; i < FORMATS && begun && !found; i++)
    found = formats[i]->recognizes(line, kinds) ? formats[i] : NULL;
  fclose(file);
  return found;
}

/* Reads the file to its end. */
static int read_lines(const struct hwi_foreign_format *format, FILE *file, struct hwi_synthetic *trace,
                      struct hwi_foreign *result)
{
  char line[HWI_FOREIGN_LINE_BYTES];
  void *reader = format->create();
  if (!reader)
    return HW_ERR_MEMORY;
  hwi_synthetic_note(trace, HW_NOTE_IMPORTED, format->missing);
  uint64_t number = 0;
  bool in_line = false; /* inside a line that is too long */
  while (trace->status == 0 && fgets(line, sizeof line, file)) {
    size_t bytes = strcspn(line, "\n");
    bool whole = line[bytes] == '\n' || feof(file), continued = in_line;
    in_line = !whole;
    number += !continued;
    line[bytes] = '\0';
    bool taken = !continued && (whole || format->takes_cut_lines);
    if (continued || (taken && (bytes == 0 || format->take(reader, trace, line))))
      continue;
    if (result->bad_lines++ == 0)
      result->first_bad_line = number;
  }
  if (trace->status == 0 && !ferror(file) && format->finish && result->files_folder)
    trace->status = format->finish(reader, result->files_folder);
  int os_error = errno;
  format->destroy(reader);
  errno = os_error;
  return ferror(file) ? HW_ERR_IO : trace->status;
}

int hwi_foreign_write(const struct hwi_foreign_format *format, FILE *file, int fd, struct hwi_foreign *result)
{
  struct hwi_synthetic trace;
  hwi_synthetic_begin(&trace, fd, format->is_timed);
  int status = trace.status == 0 ? read_lines(format, file, &trace, result) : trace.status;
  if (trace.status == 0)
    trace.status = status;
  status = hwi_synthetic_end(&trace);
  result->event_count = trace.file.event_count;
  result->packed_bytes = trace.file.off;
  return status;
}

/* What is made into a trace. */
struct source {
  const struct hwi_foreign_format *format;
  FILE *file;
  struct hwi_foreign *result;
};

static int write_source(void *context, int fd)
{
  const struct source *source = context;
  return hwi_foreign_write(source->format, source->file, fd, source->result);
}

int hwi_foreign_import(const struct hwi_foreign_format *format, const char *from, const char *to,
                       struct hwi_foreign *result, struct hwi_error *error)
{
  char *folder = hwi_symbol_files_folder(to);
  *result = (struct hwi_foreign){.tool = format->tool, .missing = format->missing, .files_folder = folder};
  FILE *file = hwi_decompressed_open(from);
  if (!file) {
    free(folder);
    return hwi_error_set(error, HW_ERR_IO, "%s cannot be read: %s", from, strerror(errno));
  }
  struct hwi_error reason = {0};
  struct source source = {format, file, result};
  int status = folder ? hwi_new_trace_make(to, write_source, &source, &reason) : HW_ERR_MEMORY, os_error = errno;
  fclose(file);
  free(folder);
  result->files_folder = NULL;
  if (reason.status < 0) {
    *error = reason;
    return status;
  }
  errno = os_error;
  if (status == HW_ERR_IO && os_error == EBADMSG)
    return hwi_error_set(error, status, "%s is damaged or cut short: it cannot be decompressed to its end", from);
  return status == 0 ? 0
                     : hwi_error_set(error, status, "%s cannot be imported into %s: %s", from, to,
                                     status == HW_ERR_IO ? strerror(os_error) : hwi_status_text(status));
}
