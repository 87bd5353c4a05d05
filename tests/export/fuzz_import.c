/* fuzz_import.c - arbitrary bytes as another tool's recording: no crash, no hang, and a trace that can be read without
 * an error
 *
 * An input is the file itself, compressed or not.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../fuzz_file.h"
#include "export/compression.h"
#include "export/import/foreign.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Whatever the lines became, the result is a trace in which each event has its place. */
static void read_trace(const char *path, const struct hwi_foreign *made)
{
  struct hwi_profile *profile;
  struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST};
  struct hwi_error error = {.text = ""};
  if (hwi_profile_create(&profile, path, &options, &error) < 0)
    abort();
  const struct hwi_trace_info *info = profile->images[0].info;
  const struct hwi_totals *totals = &profile->totals;
  if (info->damaged_chunks > 0 || info->missing_chunks > 0 || totals->failed_calls > 0 ||
      totals->allocation_calls > made->event_count)
    abort();
  hwi_profile_destroy(profile);
}

static void import(const struct hwi_foreign_format *format, const char *path)
{
  struct fuzz_file to = fuzz_file_open();
  struct hwi_foreign made = {0};
  FILE *from = hwi_decompressed_open(path);
  if (from == NULL)
    abort();
  int status = hwi_foreign_write(format, from, to.fd, &made);
  fclose(from);
  if (status == HW_OK)
    read_trace(to.path, &made);
  else if (status != HW_ERR_IO)
    abort(); /* only a file that is cut short has no trace */
  close(to.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  struct fuzz_file file = fuzz_file_open();
  if (write(file.fd, bytes, count) != (ssize_t)count)
    abort();
  const struct hwi_foreign_format *format = hwi_foreign_format_of(file.path);
  if (format != NULL)
    import(format, file.path);
  close(file.fd);
  return 0;
}
