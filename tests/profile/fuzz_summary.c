/* fuzz_summary.c - any bytes as what a summary holds: no crash, no hang, no memory beyond what they are worth, and a report
 *
 * An input is a list of edits of the summary of a small recording, as it is before compression: each two bytes of where and one of
 * what. So the fuzzer begins with what makes sense, and zstd's checksum, which would refuse nearly all else, is put right.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "export/decompressed.h"
#include "export/import_foreign.h"
#include "profile/result.h"
#include "report/report.h"

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { HEADER_BYTES = 56, PACKED_BYTES_OFF = 48, PLAIN_MAX_BYTES = 1 << 16, EDIT_BYTES = 3, COLUMNS = 100 };

static const char recording[] =
    "v 10400 3\nx 8 /no/such\nX /no/such a b\nI 1000 100\nm 1 -\nm 1 x 400000 0 1000\n"
    "t 400100 0\nt 400200 1\nt 400300 1\n+ 10 1 1000\n+ 20 2 2000\nc a\n- 1000\n+ 30 3 3000\n"
    "c b\n+ 10 2 4000\n- 2000\nc c\n+ 10 2 5000\n+ 18 2 6000\n- 5000\nR 5\nA\n";

static char dir[] = "/tmp/hw-fuzz-summary-XXXXXX", trace[64], summary[80];
static uint8_t header[HEADER_BYTES], plain[PLAIN_MAX_BYTES], edited[PLAIN_MAX_BYTES];
static size_t plain_bytes;

static void remove_files(void)
{
  unlink(trace);
  unlink(summary);
  rmdir(dir);
}

static void write_file(const char *path, const void *head, size_t head_bytes, const void *rest, size_t rest_bytes)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || write(fd, head, head_bytes) != (ssize_t)head_bytes ||
      write(fd, rest, rest_bytes) != (ssize_t)rest_bytes)
    abort();
  close(fd);
}

static struct hwi_profile *make_profile(uint64_t least_ns)
{
  struct hwi_profile *profile;
  const struct hwi_profile_options options = {.summaries = true, .summary_least_ns = least_ns};
  struct hwi_error error;
  if (hwi_profile_create(&profile, trace, &options, &error) < 0)
    abort();
  return profile;
}

static void make_trace(void)
{
  char source[80];
  struct hwi_foreign made = {0};
  snprintf(source, sizeof source, "%s.txt", trace);
  write_file(source, recording, sizeof recording - 1, "", 0);
  int fd = open(trace, O_RDWR | O_CREAT, 0600);
  FILE *from = hwi_decompressed_open(source);
  const struct hwi_foreign_format *format = hwi_foreign_format_of(source);
  if (fd < 0 || !from || !format || hwi_foreign_write(format, from, fd, &made) != HW_OK)
    abort();
  fclose(from);
  close(fd);
  unlink(source);
}

static void read_summary(void)
{
  uint8_t file[PLAIN_MAX_BYTES];
  int fd = open(summary, O_RDONLY);
  ssize_t bytes = fd < 0 ? -1 : read(fd, file, sizeof file);
  if (bytes < HEADER_BYTES)
    abort();
  close(fd);
  memcpy(header, file, HEADER_BYTES);
  ZSTD_DCtx *context = ZSTD_createDCtx();
  plain_bytes = ZSTD_decompressDCtx(context, plain, sizeof plain, file + HEADER_BYTES, (size_t)bytes - HEADER_BYTES);
  ZSTD_freeDCtx(context);
  if (ZSTD_isError(plain_bytes))
    abort();
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
  (void)count, (void)words;
  if (!mkdtemp(dir))
    abort();
  snprintf(trace, sizeof trace, "%s/a.hwt", dir);
  snprintf(summary, sizeof summary, "%s.sum", trace);
  atexit(remove_files);
  make_trace();
  hwi_profile_destroy(make_profile(0));
  read_summary();
  return 0;
}

static uint32_t find_nothing(void *context, const struct hwi_symbol_module *module, uint64_t address,
                             bool is_return_address, const struct hwi_symbol **frames)
{
  static const struct hwi_symbol unknown = {.reason = HWI_SYMBOL_NO_MODULE};
  (void)context, (void)module, (void)address, (void)is_return_address;
  *frames = &unknown;
  return 1;
}

static const char *no_allocator(const struct hwi_symbol_module *program)
{
  (void)program;
  return NULL;
}

static void report_on(const struct hwi_profile *profile)
{
  FILE *out = fopen("/dev/null", "w");
  const struct hwi_report report = {.profile = profile,
                                    .names = {find_nothing, NULL, no_allocator},
                                    .options = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_calls = 1}};
  const struct hwi_style style = {.out = out, .columns = COLUMNS};
  if (!out || hwi_report_text(&report, &style, NULL) < 0 || hwi_report_json(&report, out, NULL) < 0)
    abort();
  fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  uint8_t packed[ZSTD_COMPRESSBOUND(PLAIN_MAX_BYTES)];
  memcpy(edited, plain, plain_bytes);
  for (; count >= EDIT_BYTES; bytes += EDIT_BYTES, count -= EDIT_BYTES)
    edited[(bytes[0] | (size_t)bytes[1] << 8) % plain_bytes] = bytes[2];
  size_t packed_bytes = ZSTD_compress(packed, sizeof packed, edited, plain_bytes, 1);
  if (ZSTD_isError(packed_bytes))
    abort();
  const uint64_t said = packed_bytes;
  memcpy(header + PACKED_BYTES_OFF, &said, sizeof said);
  write_file(summary, header, sizeof header, packed, packed_bytes);
  struct hwi_profile *profile = make_profile(UINT64_MAX);
  report_on(profile);
  hwi_profile_destroy(profile);
  return 0;
}
