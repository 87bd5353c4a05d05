/* fuzz_saved.c - arbitrary bytes as a saved report: no crash, no hang, no more memory than their size justifies, and a
 * comparison
 *
 * An input is a list of edits of a small report. Each edit has two bytes of position and one byte to write. An input
 * that begins with a brace is the report itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fuzz_file.h"
#include "compare/compare.h"
#include "report/json/saved.h"
#include "report/words/style.h"
#include "saved_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { EDIT_BYTES = 3 };

static void write_edited(int fd, const uint8_t *bytes, size_t count)
{
  char edited[sizeof saved_sample];
  const void *from = bytes;
  size_t from_bytes = count;
  if (count == 0 || bytes[0] != '{') {
    memcpy(edited, saved_sample, sizeof edited);
    for (; count >= EDIT_BYTES; bytes += EDIT_BYTES, count -= EDIT_BYTES)
      edited[(bytes[0] | bytes[1] << 8) % (sizeof edited - 1)] = (char)bytes[2];
    from = edited;
    from_bytes = sizeof edited - 1;
  }
  if (write(fd, from, from_bytes) != (ssize_t)from_bytes)
    abort();
}

/* Compared with itself: whatever it contains, nothing has changed. */
static void compare(const struct hwi_saved *saved)
{
  const struct hwi_compare_options options = {.report = {.cost = HWI_COST_CALLS, .top = HWI_TOP_DEFAULT}};
  const struct hwi_profile *const profiles[HWI_SIDES] = {&saved->profile, &saved->profile};
  const struct hwi_names names[HWI_SIDES] = {saved->names, saved->names};
  struct hwi_comparison comparison;
  struct hwi_error error = {.text = ""};
  if (hwi_compare(&comparison, profiles, names, &options, &error) < 0 || comparison.changed_count > 0)
    abort();
  char *text = NULL;
  size_t bytes = 0;
  struct hwi_style style = {.out = open_memstream(&text, &bytes), .columns = 80};
  if (style.out == NULL || hwi_compare_text(&comparison, &style, &error) < 0 ||
      hwi_compare_json(&comparison, style.out, &error) < 0)
    abort();
  fclose(style.out);
  free(text);
  hwi_comparison_release(&comparison);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  struct fuzz_file file = fuzz_file_open();
  write_edited(file.fd, bytes, count);
  struct hwi_saved *saved;
  struct hwi_error error = {.text = ""};
  if (hwi_saved_create(&saved, file.path, NULL, &error) == 0)
    compare(saved);
  else if (error.text[0] == '\0' || error.status == HW_ERR_MEMORY)
    abort(); /* an error without a text, or memory for more than the bytes can hold */
  hwi_saved_destroy(saved);
  close(file.fd);
  return 0;
}
