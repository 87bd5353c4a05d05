/* test_summary.c - the summary that a report writes next to a trace: when it is used, and that it never does harm
 *
 * Breaks if a summary is used although the trace, or the list of the run's files, has changed; if one is accepted that
 * is damaged, cut short, or of another version; if one lacks what the program noted; if others may read one; if a user's file of that name is touched; if a
 * profile of a part of the run, or for a sink, uses it for the whole; or if files are left. test_random.c checks that
 * the restored profile equals that of a replay.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "../trace/encoder.c"
#include "profile/summary/summary.h"
#include "same_restored.c"
#include "words_of_program.c"

static const uint64_t T = 1000000;
enum { EPOCH_EVENTS = 40 };

/* Sanitizers make each profile several times slower: then every fifth place is tried. */
#ifdef HW_SANITIZED
enum { STEP = 5 };
#else
enum { STEP = 1 };
#endif

static struct enc enc;
static char dir[] = "/tmp/hw-test-summary-XXXXXX";
static char trace[64], summary[80], children[80], child[96];

static void write_trace(const char *to, uint8_t image, uint64_t size)
{
  enc_release(&enc);
  enc_init(&enc, image);
  enc_chunk(&enc, 0, 0, 0, T);
  enc_main(&enc, 0);
  for (uint64_t i = 0; i < 100; i++)
    enc_alloc(&enc, 0, T + i, 2, size + i % 3, 0x10000 + 64 * i);
  for (uint64_t i = 0; i < 90; i++)
    enc_free(&enc, 0, T + 200 + i, 0x10000 + 64 * i);
  enc_write(&enc, to);
}

/* The same with what the program noted; only such a trace has no epochs. */
static void write_trace_with_words(void)
{
  write_trace(trace, 1, 100);
  enc_words(&enc, 0, T + 300);
  enc_write(&enc, trace);
}

static struct hwi_profile *make(struct hwi_profile_options options)
{
  struct hwi_profile *profile;
  struct hwi_error error;
  options.summaries = true;
  assert_int_equal(hwi_profile_create(&profile, trace, &options, &error), 0);
  return profile;
}

/* Returns whether a report of the whole run is restored. */
static bool restores(void)
{
  struct hwi_profile *profile = make((struct hwi_profile_options){0});
  bool restored = is_restored(profile);
  hwi_profile_destroy(profile);
  return restored;
}

static int files_in_dir(void)
{
  char command[256];
  snprintf(command, sizeof command, "find '%s' -type f | wc -l", dir);
  FILE *out = popen(command, "r");
  int count = -1;
  assert_int_equal(fscanf(out, "%d", &count), 1);
  pclose(out);
  return count;
}

static int begin_test(void **state)
{
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'/*", dir);
  if (system(command) != 0)
    return -1;
  write_trace(trace, 1, 100);
  return 0;
}

static uint8_t *read_summary(size_t *bytes)
{
  struct stat about;
  int fd = open(summary, O_RDONLY);
  assert_true(fd >= 0);
  assert_int_equal(fstat(fd, &about), 0);
  *bytes = (size_t)about.st_size;
  uint8_t *read_bytes = malloc(*bytes + 1);
  assert_int_equal(read(fd, read_bytes, *bytes), (ssize_t)*bytes);
  close(fd);
  return read_bytes;
}

static void write_summary(const uint8_t *bytes, size_t count)
{
  int fd = open(summary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, count), (ssize_t)count);
  close(fd);
}

static void set_time(const char *path, time_t seconds)
{
  const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* --- when there is a summary --- */

static void test_second_report_is_restored(void **state)
{
  (void)state;
  struct stat about;
  assert_false(restores());
  assert_int_equal(stat(summary, &about), 0);
  assert_int_equal(about.st_mode & 0777, 0600);
  assert_true(restores());
  assert_int_equal(files_in_dir(), 2);
}

/* Before, such a recording had no summary. */
static void test_words_of_the_program_are_restored(void **state)
{
  (void)state;
  struct hwi_error error;
  struct hwi_profile *profile;
  write_trace_with_words();
  assert_int_equal(hwi_profile_create(&profile, trace, &(struct hwi_profile_options){0}, &error), 0);
  assert_true(profile->scope_count == 5 && profile->breach_count == 2 && profile->mark_count == 2);
  assert_true(profile->counter_count == 1 && profile->counters[0].point_count > 1 && profile->heap_count == 1);
  assert_same_restored(profile, trace, (struct hwi_profile_options){0});
  hwi_profile_destroy(profile);
}

/* They replay the run, because the summary does not have what they need. */
static void test_details_and_parts_of_words_are_replayed(void **state)
{
  (void)state;
  const struct hwi_span span = {.kind = HWI_SPAN_INTERVAL, .from_ns = 320, .to_ns = 500};
  const struct hwi_profile_options asked[] = {{.instance_details = true}, {.span = span}, {.heap = "arena"}};
  write_trace_with_words();
  hwi_profile_destroy(make((struct hwi_profile_options){.epoch_events = EPOCH_EVENTS}));
  assert_true(restores());
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    struct hwi_profile *profile = make(asked[i]);
    assert_false(is_restored(profile));
    assert_true(i > 0 || profile->scopes[1].worst[HWI_INSTANCE_DURATION].items[0].detail);
    hwi_profile_destroy(profile);
  }
  assert_true(restores());
}

static void test_quick_replay_keeps_none(void **state)
{
  (void)state;
  hwi_profile_destroy(make((struct hwi_profile_options){.summary_least_ns = UINT64_MAX}));
  assert_int_equal(files_in_dir(), 1);
}

static bool take_all(void *context, const struct hwi_block_event *event)
{
  (void)event;
  ++*(int *)context;
  return true;
}

static void tell_events(const struct hwi_block_sink *sink)
{
  struct hwi_error error = {0};
  assert_int_equal(hwi_profile_events(trace, &(struct hwi_profile_options){.summaries = true}, sink, &error), 0);
}

static void test_events_and_parts_are_replayed(void **state)
{
  (void)state;
  int events = 0;
  const struct hwi_block_sink sink = {.take = take_all, .context = &events};
  const struct hwi_span span = {.kind = HWI_SPAN_INTERVAL, .from_ns = 50, .to_ns = 210};
  struct hwi_profile *profile = make((struct hwi_profile_options){.span = span});
  assert_int_equal(profile->totals.allocation_calls, 50);
  hwi_profile_destroy(profile);
  tell_events(&sink);
  assert_int_equal(events, 190);
  assert_int_equal(files_in_dir(), 1);
  assert_false(restores());
  profile = make((struct hwi_profile_options){.span = span});
  assert_int_equal(profile->totals.allocation_calls, 50);
  hwi_profile_destroy(profile);
  tell_events(&sink);
  assert_int_equal(events, 380);
}

/* Its frames take next to no bytes. */
static void test_deep_recursion(void **state)
{
  (void)state;
  enum { FRAMES = 200000 };
  for (uint32_t node = 3; node <= FRAMES; node++)
    enc_node(&enc, 0, node, node - 1, 1, HW_ENTRY_NONE, 0x400300);
  enc_alloc(&enc, 0, T + 300, FRAMES, 16, 0x20000);
  enc_write(&enc, trace);
  assert_false(restores());
  struct hwi_profile *profile = make((struct hwi_profile_options){0});
  assert_true(is_restored(profile));
  assert_true(profile->frame_count >= FRAMES);
  hwi_profile_destroy(profile);
}

static void test_folder_that_cannot_be_written(void **state)
{
  (void)state;
  if (geteuid() == 0) /* no mode stops root, so a folder is in the file's place instead */
    assert_int_equal(mkdir(summary, 0700), 0);
  else
    assert_int_equal(chmod(dir, 0500), 0);
  assert_false(restores());
  assert_false(restores());
  rmdir(summary);
  assert_int_equal(chmod(dir, 0700), 0);
  assert_int_equal(files_in_dir(), 1);
}

/* --- when it is stale --- */

static void test_changed_trace(void **state)
{
  (void)state;
  assert_false(restores());
  write_trace(trace, 1, 200);
  struct hwi_profile *profile = make((struct hwi_profile_options){0});
  assert_false(is_restored(profile));
  assert_true(profile->totals.allocated_bytes >= 200 * 100);
  hwi_profile_destroy(profile);
  assert_true(restores());
}

static void test_other_time_or_length(void **state)
{
  (void)state;
  set_time(trace, 1000);
  assert_false(restores());
  assert_true(restores());
  set_time(trace, 1001);
  assert_false(restores());
  assert_true(restores());
  struct stat about;
  assert_int_equal(stat(trace, &about), 0);
  assert_int_equal(truncate(trace, about.st_size + 1), 0);
  set_time(trace, 1001);
  assert_false(restores());
}

/* The target writes through a mapping, which does not change the file's time at once. */
static void test_chunk_that_grew_unseen(void **state)
{
  (void)state;
  set_time(trace, 1000);
  assert_false(restores());
  assert_true(restores());
  enc_free(&enc, 0, T + 300, 0x10000 + 64 * 95);
  struct stat before, after;
  assert_int_equal(stat(trace, &before), 0);
  enc_write(&enc, trace);
  assert_int_equal(truncate(trace, before.st_size), 0);
  set_time(trace, 1000);
  assert_int_equal(stat(trace, &after), 0);
  assert_int_equal(before.st_size, after.st_size);
  assert_false(restores());
}

static void test_other_children(void **state)
{
  (void)state;
  assert_false(restores());
  assert_int_equal(mkdir(children, 0700), 0);
  assert_true(restores());
  write_trace(child, 2, 1000); /* now the larger one */
  struct hwi_profile *profile = make((struct hwi_profile_options){0});
  assert_false(is_restored(profile));
  assert_true(profile->images[1].counted);
  hwi_profile_destroy(profile);
  assert_true(restores());
  unlink(child);
  assert_false(restores());
}

/* Each selection of images has its own summary. */
static void test_all_images(void **state)
{
  (void)state;
  assert_int_equal(mkdir(children, 0700), 0);
  write_trace(child, 2, 1000);
  assert_false(restores());
  struct hwi_profile *profile = make((struct hwi_profile_options){.images = HWI_IMAGES_ALL});
  assert_false(is_restored(profile));
  hwi_profile_destroy(profile);
  profile = make((struct hwi_profile_options){.images = HWI_IMAGES_ALL});
  assert_true(is_restored(profile));
  assert_int_equal(profile->totals.allocation_calls, 200);
  hwi_profile_destroy(profile);
  profile = make((struct hwi_profile_options){.images = HWI_IMAGES_PID, .pid = enc.header.pid});
  assert_false(is_restored(profile));
  hwi_profile_destroy(profile);
  assert_true(restores());
  assert_int_equal(files_in_dir(), 4);
}

/* --- when its contents have changed --- */

/* With a damaged summary; or, since zstd has bits without a meaning, with an equivalent one. */
static void assert_same_text(const char *expected, struct hwi_span span, size_t damaged_off)
{
  struct hwi_profile *profile = make((struct hwi_profile_options){.span = span, .summary_least_ns = UINT64_MAX});
  char *text = report_of(profile, true);
  if (strcmp(text, expected) != 0)
    fail_msg("byte %zu", damaged_off);
  free(text);
  hwi_profile_destroy(profile);
}

/* The data from which the report of such a span is made. */
static void check_every_byte(struct hwi_span span)
{
  size_t bytes;
  struct hwi_profile *profile = make((struct hwi_profile_options){.span = span});
  char *expected = report_of(profile, true);
  hwi_profile_destroy(profile);
  hwi_profile_destroy(make((struct hwi_profile_options){.epoch_events = EPOCH_EVENTS}));
  profile = make((struct hwi_profile_options){.span = span});
  assert_true(is_restored(profile));
  hwi_profile_destroy(profile);
  uint8_t *good = read_summary(&bytes), *bad = malloc(bytes + 1);
  for (size_t i = 0; i < bytes; i += STEP) {
    memcpy(bad, good, bytes);
    bad[i] ^= 1u << i % 8;
    write_summary(bad, bytes);
    assert_same_text(expected, span, i);
  }
  free(expected);
  free(good);
  free(bad);
}

static void test_every_byte(void **state)
{
  (void)state;
  check_every_byte((struct hwi_span){0});
  write_trace_with_words();
  check_every_byte((struct hwi_span){0});
}

static void test_every_byte_of_epochs(void **state)
{
  (void)state;
  check_every_byte((struct hwi_span){.kind = HWI_SPAN_INTERVAL, .from_ns = 30, .to_ns = 250});
}

/* A part of another trace is not made from them, and a part that is replayed keeps none. */
enum { RESULT_OFF = 48, PLAIN_MAX_BYTES = 1 << 16 }; /* in the header; after it: its size, and more */

/* Replaces the summary by its copy in which one byte of the uncompressed result differs. Returns 0 if there is no such
 * byte. */
static size_t write_forged(const uint8_t *own, size_t own_bytes, size_t at, uint8_t value)
{
  static uint8_t plain[PLAIN_MAX_BYTES], packed[PLAIN_MAX_BYTES];
  uint64_t result[2]; /* offset, bytes */
  memcpy(result, own + RESULT_OFF, sizeof result);
  const uint8_t *behind = own + result[0] + result[1], *end = own + own_bytes;
  size_t bytes = ZSTD_decompress(plain, sizeof plain, own + result[0], result[1]);
  assert_false(ZSTD_isError(bytes));
  if (at >= bytes)
    return 0;
  plain[at] = value;
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  result[1] = ZSTD_compress2(context, packed + result[0], sizeof packed - result[0], plain, bytes);
  ZSTD_freeCCtx(context);
  memcpy(packed, own, result[0]);
  memcpy(packed + RESULT_OFF, result, sizeof result);
  memcpy(packed + result[0] + result[1], behind, (size_t)(end - behind));
  write_summary(packed, result[0] + result[1] + (size_t)(end - behind));
  return bytes;
}

/* Whatever a byte says, a report does not leave the lists. */
static void test_forged_words_of_the_program(void **state)
{
  (void)state;
  static const uint8_t values[] = {1, 0xff};
  size_t own_bytes, refused = 0;
  write_trace_with_words();
  hwi_profile_destroy(make((struct hwi_profile_options){0}));
  uint8_t *own = read_summary(&own_bytes);
  for (size_t v = 0; v < sizeof values; v++)
    for (size_t at = 0; write_forged(own, own_bytes, at, values[v]) > 0; at += STEP) {
      struct hwi_profile *profile = make((struct hwi_profile_options){.summary_least_ns = UINT64_MAX});
      refused += !is_restored(profile);
      free(report_of(profile, true));
      free(report_of(profile, false));
      hwi_profile_destroy(profile);
    }
  assert_true(refused > 0);
  free(own);
}

/* An export of marks uses their kinds as indices. */
static void test_forged_kinds_of_marks(void **state)
{
  (void)state;
  enum { NO_KIND = 9 };
  size_t own_bytes, restored = 0, refused = 0;
  enc_tool(&enc, HW_TOOL_MARK, 0, "m", 1);
  enc_write(&enc, trace);
  hwi_profile_destroy(make((struct hwi_profile_options){0}));
  uint8_t *own = read_summary(&own_bytes);
  for (size_t at = 0; write_forged(own, own_bytes, at, NO_KIND) > 0; at++) {
    struct hwi_profile *profile = make((struct hwi_profile_options){0});
    restored += is_restored(profile);
    refused += !is_restored(profile);
    assert_int_equal(profile->images[0].info->mark_count, 1);
    assert_int_equal(profile->images[0].info->marks[0].type, HW_TOOL_MARK);
    hwi_profile_destroy(profile);
  }
  assert_true(restored > 0 && refused > 0);
  free(own);
}

static void test_stale_epochs(void **state)
{
  (void)state;
  const struct hwi_profile_options part = {.span = {.kind = HWI_SPAN_MOMENT, .from_ns = 60}};
  hwi_profile_destroy(make((struct hwi_profile_options){.epoch_events = EPOCH_EVENTS}));
  struct hwi_profile *profile = make(part);
  assert_true(is_restored(profile));
  assert_int_equal(profile->totals.peak_blocks, 61);
  hwi_profile_destroy(profile);
  write_trace(trace, 1, 200);
  profile = make(part);
  assert_false(is_restored(profile));
  assert_true(profile->totals.peak_bytes >= 61 * 200);
  hwi_profile_destroy(profile);
  unlink(summary);
  hwi_profile_destroy(make(part));
  assert_int_equal(files_in_dir(), 1);
}

static void test_every_length(void **state)
{
  (void)state;
  size_t bytes;
  assert_false(restores());
  uint8_t *good = read_summary(&bytes);
  for (size_t count = 0; count < bytes; count += STEP) {
    write_summary(good, count);
    assert_false(restores());
  }
  good[bytes] = 0;
  write_summary(good, bytes + 1);
  assert_false(restores());
  free(good);
}

/* Any other file of that name, such as a list of checksums, must be neither used nor replaced. */
static void test_other_files_stay(void **state)
{
  (void)state;
  struct stat about;
  char other[80], text[8];
  snprintf(other, sizeof other, "%s/other", dir);
  write_summary((const uint8_t *)"d41d8cd", 8);
  assert_false(restores());
  assert_false(restores());
  hwi_summary_remove(trace);
  int fd = open(summary, O_RDONLY);
  assert_int_equal(read(fd, text, sizeof text), 8);
  assert_memory_equal(text, "d41d8cd", 8);
  close(fd);
  unlink(summary);
  assert_false(restores());
  assert_int_equal(rename(summary, other), 0);
  assert_int_equal(symlink(other, summary), 0);
  assert_false(restores());
  hwi_summary_remove(trace);
  assert_int_equal(lstat(summary, &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  unlink(summary);
  assert_int_equal(mkfifo(summary, 0600), 0);
  assert_false(restores());
  assert_false(restores());
}

/* The part of a summary that a full disk or a crash left. */
static void test_empty_file_is_replaced(void **state)
{
  (void)state;
  write_summary((const uint8_t *)"", 0);
  assert_false(restores());
  assert_true(restores());
  write_summary((const uint8_t *)"", 0);
  hwi_summary_remove(trace);
  assert_int_equal(files_in_dir(), 1);
}

static void limit_files(rlim_t bytes)
{
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void restore_from_disk_with(rlim_t room)
{
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit_files(room);
  bool restored = restores();
  limit_files(limit.rlim_cur);
  assert_false(restored);
  assert_int_equal(files_in_dir(), 1);
}

/* Wherever writing fails, also at the last byte, the report is complete, and no file is left. */
static void test_full_disk(void **state)
{
  (void)state;
  size_t bytes;
  assert_false(restores());
  free(read_summary(&bytes));
  unlink(summary);
  signal(SIGXFSZ, SIG_IGN);
  for (size_t room = 0; room < bytes; room += 50)
    restore_from_disk_with(room);
  restore_from_disk_with(bytes - 1);
  signal(SIGXFSZ, SIG_DFL);
}

static void test_remove(void **state)
{
  (void)state;
  assert_false(restores());
  hwi_profile_destroy(make((struct hwi_profile_options){.images = HWI_IMAGES_ALL}));
  hwi_summary_remove(trace);
  assert_int_equal(files_in_dir(), 1);
  hwi_summary_remove(trace);
  assert_int_equal(files_in_dir(), 1);
}

int main(void)
{
  assert_non_null(mkdtemp(dir));
  snprintf(trace, sizeof trace, "%s/a.hwt", dir);
  snprintf(summary, sizeof summary, "%s.sum", trace);
  snprintf(children, sizeof children, "%s.children", trace);
  snprintf(child, sizeof child, "%s/b.hwt", children);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_second_report_is_restored, begin_test),
      cmocka_unit_test_setup(test_words_of_the_program_are_restored, begin_test),
      cmocka_unit_test_setup(test_details_and_parts_of_words_are_replayed, begin_test),
      cmocka_unit_test_setup(test_quick_replay_keeps_none, begin_test),
      cmocka_unit_test_setup(test_events_and_parts_are_replayed, begin_test),
      cmocka_unit_test_setup(test_deep_recursion, begin_test),
      cmocka_unit_test_setup(test_folder_that_cannot_be_written, begin_test),
      cmocka_unit_test_setup(test_changed_trace, begin_test),
      cmocka_unit_test_setup(test_other_time_or_length, begin_test),
      cmocka_unit_test_setup(test_chunk_that_grew_unseen, begin_test),
      cmocka_unit_test_setup(test_other_children, begin_test),
      cmocka_unit_test_setup(test_all_images, begin_test),
      cmocka_unit_test_setup(test_every_byte, begin_test),
      cmocka_unit_test_setup(test_every_byte_of_epochs, begin_test),
      cmocka_unit_test_setup(test_forged_kinds_of_marks, begin_test),
      cmocka_unit_test_setup(test_forged_words_of_the_program, begin_test),
      cmocka_unit_test_setup(test_stale_epochs, begin_test),
      cmocka_unit_test_setup(test_every_length, begin_test),
      cmocka_unit_test_setup(test_other_files_stay, begin_test),
      cmocka_unit_test_setup(test_empty_file_is_replaced, begin_test),
      cmocka_unit_test_setup(test_full_disk, begin_test),
      cmocka_unit_test_setup(test_remove, begin_test),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  enc_release(&enc);
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return failed | system(command);
}
