/* test_damage.c - traces cut at every length and with flipped bits give an error or the part that could be read
 *
 * Breaks if a reader trusts a length, an offset or a number. The random part here is short; fuzz_reader runs as long as
 * requested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "encoder.c"
#include "fuzz_reader.c"
#include "samples.h"

static struct enc enc;

/* Sanitizers make each reading several times slower: then every fifth place is tried. */
#ifdef HW_SANITIZED
enum { STEP = 5 };
#else
enum { STEP = 1 };
#endif
enum { FLIP_STEP = 3 * STEP, PAGES_SHORT = 2 * FUZZ_PAGE };

/* A sample in the form of the fuzz target: without most of the tool area. */
static uint8_t *compact_sample(int which, size_t *count)
{
  sample_make(&enc, which);
  uint8_t *file = enc_file(&enc, count);
  if (enc.header.kind == HW_TRACE_RAW) {
    size_t rest = *count - HW_CHUNKS_OFF;
    memmove(file + PAGES_SHORT, file + HW_CHUNKS_OFF, rest);
    *count = PAGES_SHORT + rest;
  }
  enc_release(&enc);
  return file;
}

static void test_cut_at_every_length(void **state)
{
  (void)state;
  for (int which = 0; which < SAMPLE_COUNT; which++) {
    size_t count;
    uint8_t *file = compact_sample(which, &count);
    for (size_t cut = 0; cut < count; cut += cut % FUZZ_PAGE < 600 ? STEP : 97)
      LLVMFuzzerTestOneInput(file, cut);
    free(file);
  }
}

static void test_flipped_bits(void **state)
{
  (void)state;
  for (int which = 0; which < SAMPLE_COUNT; which++) {
    size_t count;
    uint8_t *file = compact_sample(which, &count);
    for (size_t at = 0; at < count; at += at % FUZZ_PAGE < 600 ? FLIP_STEP : 211) {
      uint8_t good = file[at];
      file[at] ^= (uint8_t)(1 << at % 8);
      LLVMFuzzerTestOneInput(file, count);
      file[at] = (uint8_t)~good;
      LLVMFuzzerTestOneInput(file, count);
      file[at] = good;
    }
    free(file);
  }
}

/* Counts the remaining events of a packed sample whose middle is damaged: all outside the damaged section. */
static void test_damage_stays_where_it_is(void **state)
{
  (void)state;
  char path[] = "/tmp/hw-test-damage-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  size_t count;
  uint8_t *file = compact_sample(2, &count);
  size_t off = HW_TRACE_HEADER_BYTES; /* the TOOL section, then one EVENTS section per stream */
  struct hw_section_header section;
  memcpy(&section, file + off, sizeof section);
  off += (sizeof section + section.packed_bytes + 7) / 8 * 8;
  memcpy(&section, file + off, sizeof section);
  assert_int_equal(section.type, HW_SECTION_EVENTS);
  memset(file + off, 0xee, sizeof section); /* the first stream's, with its header */
  fuzz_write_at(fd, file, count, 0);
  struct hwi_trace *trace;
  struct hwi_error error;
  assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
  struct hwi_event events[HWI_TRACE_MIN_BATCH];
  int got = 0, n;
  while ((n = hwi_trace_next(trace, events, HWI_TRACE_MIN_BATCH, &error)) > 0)
    got += n;
  assert_int_equal(n, 0);
  assert_int_equal(got, 22); /* of three streams' 11 each, and one more in the first */
  assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 1);
  assert_int_equal(hwi_trace_info(trace)->first_damage_off, off);
  hwi_trace_close(trace);
  free(file);
  close(fd);
  unlink(path);
}

/* Any number in a base may be invalid, also if it decompresses. */
static void test_forged_bases(void **state)
{
  static const uint32_t values[] = {0, 1, 2, 3, 255, 1 << 18, (1 << 18) + 1, INT32_MAX, UINT32_MAX, 0x00ffffff};
  enum { VALUES = sizeof values / sizeof *values, ROUNDS = 4 };
  (void)state;
  sample_make(&enc, SAMPLE_OF_BASE);
  for (size_t at = 0; at + sizeof *values <= enc.base_bytes; at += sizeof *values)
    for (size_t round = 0; round < ROUNDS; round++) {
      size_t count;
      uint32_t good;
      memcpy(&good, enc.base + at, sizeof good);
      memcpy(enc.base + at, &values[(at / sizeof *values * ROUNDS + round) % VALUES], sizeof good);
      uint8_t *file = enc_file(&enc, &count);
      LLVMFuzzerTestOneInput(file, count);
      free(file);
      memcpy(enc.base + at, &good, sizeof good);
    }
  const uint64_t ticks[] = {0, 1, 990000, 1000500, 2000000, INT64_MAX, UINT64_MAX};
  for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
    size_t count;
    enc.base_tick = ticks[i];
    uint8_t *file = enc_file(&enc, &count);
    LLVMFuzzerTestOneInput(file, count);
    free(file);
  }
  enc_release(&enc);
}

static void check_error(const uint8_t *bytes, size_t count, int status, const char *word)
{
  char path[] = "/tmp/hw-test-damage-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  fuzz_write_at(fd, bytes, count, 0);
  struct hwi_trace *trace;
  struct hwi_error error = {.text = ""};
  assert_int_equal(hwi_trace_open(&trace, path, &error), status);
  assert_null(trace);
  assert_non_null(strstr(error.text, path));
  assert_non_null(strstr(error.text, word));
  close(fd);
  unlink(path);
}

static void test_errors_say_what_is_wrong(void **state)
{
  (void)state;
  size_t count;
  uint8_t *file = compact_sample(2, &count);
  check_error((const uint8_t *)"#!/bin/sh\n", 10, HW_ERR_NOT_A_TRACE, "not a heapwright trace");
  check_error(file, 100, HW_ERR_DAMAGED, "100 bytes");
  struct hw_trace_header *header = (struct hw_trace_header *)file;
  header->version = 9;
  check_error(file, count, HW_ERR_VERSION, "version 9");
  header->version = HW_TRACE_VERSION;
  header->tick_shift = 200;
  check_error(file, count, HW_ERR_DAMAGED, "offset 19");
  free(file);
  struct hwi_trace *trace;
  struct hwi_error error;
  assert_int_equal(hwi_trace_open(&trace, "/tmp/hw-no-such-trace", &error), HW_ERR_IO);
  assert_int_equal(error.os_error, ENOENT);
  assert_int_equal(hwi_trace_open(&trace, "/dev/null", &error), HW_ERR_NOT_A_TRACE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cut_at_every_length),
      cmocka_unit_test(test_flipped_bits),
      cmocka_unit_test(test_forged_bases),
      cmocka_unit_test(test_damage_stays_where_it_is),
      cmocka_unit_test(test_errors_say_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
