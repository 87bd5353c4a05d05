/* formats.c - the table of formats */
#include <string.h>

#include "base/suffix.h"
#include "export/compressed.h"
#include "export/export.h"

const struct hwi_export_format *const hwi_export_formats[] = {
    &hwi_export_pprof,  &hwi_export_folded,  &hwi_export_speedscope, &hwi_export_heaptrack,
    &hwi_export_massif, &hwi_export_sqlite,  &hwi_export_csv,        &hwi_export_chrome,
    &hwi_export_dhat,   &hwi_export_heaplog, &hwi_export_callgrind,  NULL,
};

const struct hwi_export_format *hwi_export_format_named(const char *name)
{
  for (const struct hwi_export_format *const *format = hwi_export_formats; *format; format++) {
    if (strcmp((*format)->name, name) == 0)
      return *format;
  }
  return NULL;
}

static const struct hwi_export_format *format_ending(const char *path, size_t bytes)
{
  for (const struct hwi_export_format *const *format = hwi_export_formats; *format; format++) {
    for (const char *const *suffix = (*format)->suffixes; *suffix; suffix++) {
      if (hwi_has_suffix(path, bytes, *suffix))
        return *format;
    }
  }
  return NULL;
}

const struct hwi_export_format *hwi_export_format_of(const char *path)
{
  const struct hwi_export_format *format = format_ending(path, strlen(path));
  return format ? format : format_ending(path, hwi_compression_stem(path));
}
