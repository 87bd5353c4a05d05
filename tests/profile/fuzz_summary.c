/* fuzz_summary.c - arbitrary bytes as the contents of a summary: no crash, no hang, no more memory than their size
 * justifies, and a report
 *
 * An input is a list of edits of the summary of a small recording: its epochs, its result and its parts, one after the
 * other, before compression. Each edit has two bytes of position and one byte to write. So the fuzzer begins with valid
 * data, and zstd's checksum, which would reject nearly all other data, is corrected.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "../report/nameless.h"
#include "export/compression.h"
#include "export/import_foreign.h"
#include "profile/result/result.h"
#include "report/report.h"
#include "report/words/style.h"

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum {
  HEADER_BYTES = 72,
  RESULT_OFF = 48, /* in the header; after it: its size, and the size of what follows it */
  MOST_FRAMES = 16,
  EPOCH_EVENTS = 2,
  FROM_NS = 1,
  TO_NS = 11500000,
  FILE_MAX_BYTES = 1 << 16,
  EDIT_BYTES = 3,
  COLUMNS = 100
};

static const char recording[] =
    "v 10400 3\nx 8 /no/such\nX /no/such a b\nI 1000 100\nm 1 -\nm 1 x 400000 0 1000\n"
    "t 400100 0\nt 400200 1\nt 400300 1\n+ 10 1 1000\n+ 20 2 2000\nc a\n- 1000\n+ 30 3 3000\n"
    "c b\n+ 10 2 4000\n- 2000\nc c\n+ 10 2 5000\n+ 18 2 6000\n- 5000\nR 5\nA\n";

static char dir[] = "/tmp/hw-fuzz-summary-XXXXXX", trace[64], summary[80];
static uint8_t file[FILE_MAX_BYTES], plain[FILE_MAX_BYTES], edited[FILE_MAX_BYTES];
static size_t ends[MOST_FRAMES], frame_count; /* uncompressed; the last ones are the result and everything after it */

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

static struct hwi_profile *make_profile(uint64_t least_ns, struct hwi_span span)
{
  struct hwi_profile *profile;
  const struct hwi_profile_options options = {
      .span = span, .summaries = true, .summary_least_ns = least_ns, .epoch_events = EPOCH_EVENTS};
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

static uint64_t number_at(size_t off)
{
  uint64_t number;
  memcpy(&number, file + off, sizeof number);
  return number;
}

static void add_frame(size_t off, size_t bytes)
{
  size_t at = frame_count ? ends[frame_count - 1] : 0;
  size_t count = ZSTD_decompress(plain + at, sizeof plain - at, file + off, bytes);
  if (ZSTD_isError(count) || frame_count == MOST_FRAMES)
    abort();
  ends[frame_count++] = at + count;
}

static void read_summary(void)
{
  int fd = open(summary, O_RDONLY);
  ssize_t bytes = fd < 0 ? -1 : read(fd, file, sizeof file);
  if (bytes < HEADER_BYTES)
    abort();
  close(fd);
  size_t off = HEADER_BYTES, result_off = (size_t)number_at(RESULT_OFF);
  for (size_t count; off < result_off; off += count) {
    count = (size_t)number_at(off);
    off += sizeof(uint64_t);
    add_frame(off, count);
  }
  size_t result_bytes = (size_t)number_at(RESULT_OFF + sizeof(uint64_t));
  add_frame(off, result_bytes);
  add_frame(off + result_bytes, (size_t)bytes - off - result_bytes);
  if (frame_count < 4)
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
  hwi_profile_destroy(make_profile(0, (struct hwi_span){0}));
  read_summary();
  return 0;
}

static void report_on(const struct hwi_profile *profile)
{
  FILE *out = fopen("/dev/null", "w");
  const struct hwi_report report = {.profile = profile,
                                    .names = nameless_names,
                                    .options = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_calls = 1}};
  const struct hwi_style style = {.out = out, .columns = COLUMNS};
  if (!out || hwi_report_text(&report, &style, NULL) < 0 || hwi_report_json(&report, out, NULL) < 0)
    abort();
  fclose(out);
}

/* Writes a frame of the edited data at offset `off` of the file. Returns the offset of its end. */
static size_t write_frame(size_t number, size_t off)
{
  size_t start = number ? ends[number - 1] : 0;
  size_t bytes = ZSTD_compress(file + off, sizeof file - off, edited + start, ends[number] - start, 1);
  if (ZSTD_isError(bytes))
    abort();
  return off + bytes;
}

static size_t make_file(void)
{
  size_t off = HEADER_BYTES;
  for (size_t i = 0; i + 2 < frame_count; i++) {
    size_t end = write_frame(i, off + sizeof(uint64_t));
    const uint64_t bytes = end - off - sizeof bytes;
    memcpy(file + off, &bytes, sizeof bytes);
    off = end;
  }
  size_t result_end = write_frame(frame_count - 2, off), end = write_frame(frame_count - 1, result_end);
  const uint64_t places[] = {off, result_end - off, end - result_end};
  memcpy(file + RESULT_OFF, places, sizeof places);
  return end;
}

static void report_on_span(struct hwi_span span)
{
  struct hwi_profile *profile = make_profile(UINT64_MAX, span);
  report_on(profile);
  hwi_profile_destroy(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  const size_t plain_bytes = ends[frame_count - 1];
  memcpy(edited, plain, plain_bytes);
  for (; count >= EDIT_BYTES; bytes += EDIT_BYTES, count -= EDIT_BYTES)
    edited[(bytes[0] | (size_t)bytes[1] << 8) % plain_bytes] = bytes[2];
  write_file(summary, file, make_file(), "", 0);
  report_on_span((struct hwi_span){0});
  report_on_span((struct hwi_span){.kind = HWI_SPAN_INTERVAL, .from_ns = FROM_NS, .to_ns = TO_NS});
  report_on_span((struct hwi_span){.kind = HWI_SPAN_MOMENT, .from_ns = TO_NS});
  return 0;
}
