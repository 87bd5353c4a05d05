/* fuzz_summary.c - arbitrary bytes as the contents of a summary: no crash, no hang, no more memory than their size
 * justifies, and a report
 *
 * An input begins with a byte that chooses one of two small recordings: an odd one is that of a program that noted
 * scopes, marks, counters and heaps, whose summary has no epochs. The rest is a list of edits of its summary: its epochs,
 * its result and its parts, one after the other, before compression. Each edit has two bytes of position and one byte to
 * write. So the fuzzer begins with valid
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
#include "../trace/encoder.c"
#include "export/compression.h"
#include "export/import/foreign.h"
#include "profile/result/result.h"
#include "report/report.h"
#include "report/words/style.h"
#include "words_of_program.c"

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

/* A recording and its summary, uncompressed. */
struct sample {
  char trace[64], summary[80];
  uint8_t header[HEADER_BYTES];
  uint8_t plain[FILE_MAX_BYTES];
  size_t ends[MOST_FRAMES], frame_count;
  size_t result; /* the frame after the epochs; the parts may follow */
};

static char dir[] = "/tmp/hw-fuzz-summary-XXXXXX";
static struct sample samples[2]; /* without and with what the program noted */
static uint8_t file[FILE_MAX_BYTES], edited[FILE_MAX_BYTES];

static void remove_files(void)
{
  for (int i = 0; i < 2; i++) {
    unlink(samples[i].trace);
    unlink(samples[i].summary);
  }
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

static struct hwi_profile *make_profile(const struct sample *sample, uint64_t least_ns, struct hwi_span span)
{
  struct hwi_profile *profile;
  const struct hwi_profile_options options = {
      .span = span, .summaries = true, .summary_least_ns = least_ns, .epoch_events = EPOCH_EVENTS};
  struct hwi_error error;
  if (hwi_profile_create(&profile, sample->trace, &options, &error) < 0)
    abort();
  return profile;
}

static void make_trace(const char *trace)
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

static void make_trace_with_words(const char *trace)
{
  enum { FIRST_TICK = 1000000 };
  struct enc enc;
  enc_init(&enc, 1);
  enc_main(&enc, enc_chunk(&enc, 0, 0, 0, FIRST_TICK));
  enc_words(&enc, 0, FIRST_TICK);
  enc_write(&enc, trace);
  enc_release(&enc);
}

static uint64_t number_at(size_t off)
{
  uint64_t number;
  memcpy(&number, file + off, sizeof number);
  return number;
}

static void add_frame(struct sample *sample, size_t off, size_t bytes)
{
  size_t at = sample->frame_count ? sample->ends[sample->frame_count - 1] : 0;
  size_t count = ZSTD_decompress(sample->plain + at, sizeof sample->plain - at, file + off, bytes);
  if (ZSTD_isError(count) || sample->frame_count == MOST_FRAMES)
    abort();
  sample->ends[sample->frame_count++] = at + count;
}

static void read_summary(struct sample *sample)
{
  int fd = open(sample->summary, O_RDONLY);
  ssize_t bytes = fd < 0 ? -1 : read(fd, file, sizeof file);
  if (bytes < HEADER_BYTES)
    abort();
  close(fd);
  memcpy(sample->header, file, HEADER_BYTES);
  size_t off = HEADER_BYTES, result_off = (size_t)number_at(RESULT_OFF);
  for (size_t count; off < result_off; off += count) {
    count = (size_t)number_at(off);
    off += sizeof(uint64_t);
    add_frame(sample, off, count);
  }
  size_t result_bytes = (size_t)number_at(RESULT_OFF + sizeof(uint64_t));
  sample->result = sample->frame_count;
  add_frame(sample, off, result_bytes);
  if (off + result_bytes < (size_t)bytes)
    add_frame(sample, off + result_bytes, (size_t)bytes - off - result_bytes);
}

static void make_sample(struct sample *sample, const char *name, void (*write)(const char *trace))
{
  snprintf(sample->trace, sizeof sample->trace, "%s/%s", dir, name);
  snprintf(sample->summary, sizeof sample->summary, "%s.sum", sample->trace);
  write(sample->trace);
  hwi_profile_destroy(make_profile(sample, 0, (struct hwi_span){0}));
  read_summary(sample);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
  (void)count, (void)words;
  if (!mkdtemp(dir))
    abort();
  atexit(remove_files);
  make_sample(&samples[0], "a.hwt", make_trace);
  make_sample(&samples[1], "b.hwt", make_trace_with_words);
  if (samples[0].frame_count < 4 || samples[1].frame_count != 1)
    abort();
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
static size_t write_frame(const struct sample *sample, size_t number, size_t off)
{
  size_t start = number ? sample->ends[number - 1] : 0;
  size_t bytes = ZSTD_compress(file + off, sizeof file - off, edited + start, sample->ends[number] - start, 1);
  if (ZSTD_isError(bytes))
    abort();
  return off + bytes;
}

static size_t make_file(const struct sample *sample)
{
  size_t off = HEADER_BYTES;
  memcpy(file, sample->header, HEADER_BYTES);
  for (size_t i = 0; i < sample->result; i++) {
    size_t end = write_frame(sample, i, off + sizeof(uint64_t));
    const uint64_t bytes = end - off - sizeof bytes;
    memcpy(file + off, &bytes, sizeof bytes);
    off = end;
  }
  size_t result_end = write_frame(sample, sample->result, off), end = result_end;
  if (sample->result + 1 < sample->frame_count)
    end = write_frame(sample, sample->result + 1, result_end);
  const uint64_t places[] = {off, result_end - off, end - result_end};
  memcpy(file + RESULT_OFF, places, sizeof places);
  return end;
}

static void report_on_span(const struct sample *sample, struct hwi_span span)
{
  struct hwi_profile *profile = make_profile(sample, UINT64_MAX, span);
  report_on(profile);
  hwi_profile_destroy(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  if (count == 0)
    return 0;
  const struct sample *sample = &samples[bytes[0] % 2];
  const size_t plain_bytes = sample->ends[sample->frame_count - 1];
  memcpy(edited, sample->plain, plain_bytes);
  for (bytes++, count--; count >= EDIT_BYTES; bytes += EDIT_BYTES, count -= EDIT_BYTES)
    edited[(bytes[0] | (size_t)bytes[1] << 8) % plain_bytes] = bytes[2];
  write_file(sample->summary, file, make_file(sample), "", 0);
  report_on_span(sample, (struct hwi_span){0});
  report_on_span(sample, (struct hwi_span){.kind = HWI_SPAN_INTERVAL, .from_ns = FROM_NS, .to_ns = TO_NS});
  report_on_span(sample, (struct hwi_span){.kind = HWI_SPAN_MOMENT, .from_ns = TO_NS});
  return 0;
}
