/* fuzz_name_cache.c - arbitrary bytes as a report's cached names: no crash, no hang, no more memory than their size
 * justifies
 *
 * An input is the counts of the header, two bytes each, and then the data that it packs. So zstd's checksum, which
 * would reject nearly all inputs, is correct.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "symbols/name_cache.h"

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum {
  HEADER_BYTES = HWI_NAMES_HEADER_BYTES,
  FILE_MAX_BYTES = 1 << 16,
  ADDRESSES = 64,
  COUNTS = 4,
  COUNT_BYTES = 2,
};
static const struct {
  size_t off, bytes;
} places[COUNTS] = {{HWI_NAMES_MODULE_COUNT_OFF, sizeof(uint32_t)},
                    {HWI_NAMES_ANSWER_COUNT_OFF, sizeof(uint32_t)},
                    {HWI_NAMES_FRAME_COUNT_OFF, sizeof(uint32_t)},
                    {HWI_NAMES_TEXT_BYTES_OFF, sizeof(uint64_t)}};

static char path[] = "/tmp/hw-fuzz-names-XXXXXX";
static uint8_t file[FILE_MAX_BYTES];

static void remove_file(void)
{
  unlink(path);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
  (void)count, (void)words;
  const struct hwi_symbol frames[] = {{.function = "here", .file = "/a.c", .line = 1, .inlined = true},
                                      {.function = "main", .file = "/a.c", .line = 2}};
  struct hwi_names_answers answers = {.list = malloc(sizeof *answers.list), .count = 1};
  int fd = mkstemp(path);
  if (fd < 0 || !answers.list)
    abort();
  atexit(remove_file);
  answers.list[0] = (struct hwi_names_answer){{1, 2}, 3, frames, 2};
  hwi_name_cache_write(path, &answers); /* replaces the empty file */
  free(answers.list);
  close(fd);
  fd = open(path, O_RDONLY);
  if (fd < 0 || read(fd, file, HEADER_BYTES) != HEADER_BYTES)
    abort();
  close(fd);
  return 0;
}

static void look_up_all(const struct hwi_name_cache *names)
{
  struct hwi_names_key key;
  struct hwi_names_answers answers = {0};
  const struct hwi_cached_module *module;
  for (size_t i = 0; (module = hwi_name_cache_at(names, i, &key)) != NULL; i++) {
    for (uint64_t address = 0; address < ADDRESSES; address++) {
      struct hwi_frame_list frames = {0};
      if (!hwi_name_cache_find(names, module, address, &frames) && frames.count)
        abort();
      free(frames.list);
    }
    hwi_name_cache_add_to(names, module, &answers);
  }
  hwi_name_cache_write(path, &answers);
  free(answers.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  struct hwi_name_cache names;
  struct hwi_store store = {0};
  for (size_t i = 0; i < COUNTS && count >= COUNT_BYTES; i++, bytes += COUNT_BYTES, count -= COUNT_BYTES) {
    memset(file + places[i].off, 0, places[i].bytes);
    memcpy(file + places[i].off, bytes, COUNT_BYTES);
  }
  size_t packed = ZSTD_compress(file + HEADER_BYTES, sizeof file - HEADER_BYTES, bytes, count, 1);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (ZSTD_isError(packed) || fd < 0 || write(fd, file, HEADER_BYTES + packed) != (ssize_t)(HEADER_BYTES + packed))
    abort();
  close(fd);
  hwi_name_cache_load(&names, path, &store);
  if (names.module_count)
    look_up_all(&names);
  hwi_name_cache_release(&names);
  hwi_store_release(&store);
  return 0;
}
