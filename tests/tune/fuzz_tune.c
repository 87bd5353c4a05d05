/* fuzz_tune.c - arbitrary bytes as a recording for which a pool is sized: the named size was tried, and its parts add
 * up
 *
 * An input is a trace as in tests/trace/fuzz_reader.c.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../fuzz_file.h"
#include "../fuzz_trace.h"
#include "tune/tune.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST};

static int replay(void *path, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  return hwi_profile_events(path, &options, sink, error);
}

static void check(const struct hwi_tuned *tuned)
{
  const struct hwi_pool_figures *figures = &tuned->figures;
  if (figures->refused_count || figures->used_bytes < figures->asked_bytes ||
      figures->extent_bytes < figures->tables_bytes || tuned->pool_bytes < figures->extent_bytes ||
      figures->extent_bytes - figures->tables_bytes < figures->used_bytes)
    abort();
}

static void size_pool(char *path, const struct hwi_profile *profile)
{
  const struct hwi_tune_question question = {
      .profile = profile, .margin_percent = HWI_TUNE_MARGIN_DEFAULT, .replayer = {replay, path}};
  struct hwi_error error = {.text = ""};
  struct hwi_tune tune;
  int status = hwi_tune_init(&tune, &question, &error);
  if (status < 0 && !error.text[0])
    abort(); /* an error without a text */
  if (status < 0)
    return;
  for (size_t i = 0; i < tune.count; i++)
    check(&tune.processes[i]);
  hwi_tune_release(&tune);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  struct fuzz_file file = fuzz_file_open();
  fuzz_write_trace(file.fd, bytes, count);
  struct hwi_profile *profile;
  struct hwi_error error = {.text = ""};
  if (hwi_profile_create(&profile, file.path, &options, &error) == 0) {
    size_pool(file.path, profile);
    hwi_profile_destroy(profile);
  }
  close(file.fd);
  return 0;
}
