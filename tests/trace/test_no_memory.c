/* test_no_memory.c - a reader that runs out of memory reports it, whichever call of malloc fails
 *
 * Breaks if a result of malloc is not checked; if a part is left out without a message, because it is taken for damage
 * or for a part that the trace does not have; or if memory is not freed after an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "encoder.c"
#include "failing_malloc.h"
#include "launch/import.h"
#include "samples.h"
#include "trace/read/run.h"
#include "trace/reader.h"

enum { LONG_ROUNDS = 400, CALLS_MOST = 2000, LOOKING_CALLS = 100 };

static struct enc enc;
static char folder[] = "/tmp/hw-test-no-memory-XXXXXX";
static const char trace_path[] = "a.hwt", children[] = "a.hwt.children", child_path[] = "a.hwt.children/b.hwt";

/* --- the output of a reader --- */

static void tell(uint64_t *told, const void *bytes, size_t count)
{
  const uint64_t prime = 1099511628211u;
  for (size_t i = 0; i < count; i++)
    *told = (*told ^ ((const uint8_t *)bytes)[i]) * prime;
}

static void tell_text(uint64_t *told, const char *text)
{
  tell(told, text, strlen(text) + 1);
}

static void tell_number(uint64_t *told, uint64_t number)
{
  tell(told, &number, sizeof number);
}

static void tell_info(uint64_t *told, const struct hwi_trace_info *info)
{
  tell_text(told, info->command);
  tell_text(told, info->exe);
  tell_text(told, info->cwd);
  for (const char *const *e = info->environment; *e; e++)
    tell_text(told, *e);
  for (uint32_t i = 0; i < info->mark_count; i++)
    tell_text(told, info->marks[i].text);
  for (uint32_t i = 0; i < info->note_count; i++)
    tell_text(told, info->notes[i].text);
  tell_number(told, info->rss_count);
  tell_number(told, info->exit ? (uint64_t)info->exit->code : UINT64_MAX);
  tell_number(told, info->parent_missing);
  tell_number(told, info->damaged_chunks);
  tell_number(told, info->missing_chunks);
  tell_number(told, info->node_count);
}

static void tell_definitions(uint64_t *told, const struct hwi_trace *trace)
{
  const struct hwi_trace_info *info = hwi_trace_info(trace);
  for (uint32_t i = 0; i < info->node_count; i++) {
    struct hwi_node node = hwi_trace_node(trace, i);
    tell_number(told, node.known ? node.address : 0);
  }
  for (uint32_t i = 0; i < info->module_count; i++)
    tell_text(told, hwi_trace_module(trace, i)->path);
  for (uint32_t i = 0; i < info->thread_count; i++)
    tell_text(told, hwi_trace_thread(trace, i).name);
}

/* Events, and the known facts at their end. */
static int tell_trace(uint64_t *told, struct hwi_trace *trace, struct hwi_error *error)
{
  struct hwi_event events[HWI_TRACE_MIN_BATCH];
  int got;
  tell_info(told, hwi_trace_info(trace));
  while ((got = hwi_trace_next(trace, events, HWI_TRACE_MIN_BATCH, error)) > 0)
    tell(told, events, (size_t)got * sizeof *events);
  if (got == 0)
    got = hwi_trace_complete(trace, error);
  if (got == 0) {
    tell_info(told, hwi_trace_info(trace));
    tell_definitions(told, trace);
  }
  return got;
}

/* --- ways to read --- */

static int read_one(uint64_t *told, const char *path, struct hwi_error *error)
{
  struct hwi_trace *trace;
  int status = hwi_trace_open(&trace, path, error);
  if (status == 0)
    status = tell_trace(told, trace, error);
  hwi_trace_close(trace);
  return status;
}

static int read_definitions(uint64_t *told, const char *path, struct hwi_error *error)
{
  struct hwi_trace *trace;
  int status = hwi_trace_open(&trace, path, error);
  if (status == 0)
    status = hwi_trace_complete(trace, error);
  if (status == 0)
    tell_definitions(told, trace);
  hwi_trace_close(trace);
  return status;
}

static int read_run(uint64_t *told, const char *path, struct hwi_error *error)
{
  struct hwi_run run;
  int status = hwi_run_find(&run, path, false, error);
  if (status < 0)
    return status;
  tell_number(told, run.count);
  tell_number(told, run.unreadable);
  for (size_t i = 0; i < run.count && status == 0; i++) {
    struct hwi_trace *trace;
    status = hwi_run_open(&run, i, &trace, error);
    if (status == 0)
      status = tell_trace(told, trace, error);
    hwi_trace_close(trace);
  }
  hwi_run_release(&run);
  return status;
}

typedef int read_way(uint64_t *told, const char *path, struct hwi_error *error);

/* `way` must report everything that `expected` stands for, or an error. Returns false if no call failed. */
static bool check_failing(read_way *way, const char *path, uint64_t expected, uint64_t calls, uint64_t failures)
{
  struct hwi_error error = {.text = ""};
  uint64_t told = 0;
  failing_malloc_arm(calls, failures);
  int status = way(&told, path, &error);
  bool has_failed = failing_malloc_disarm();
  if (failing_malloc_leaks())
    fail_msg("%s, call %llu: %ld blocks are left", path, (unsigned long long)calls, failing_malloc_leaks());
  if (status == 0 && told != expected)
    fail_msg("%s, call %llu: a part is missing, and no error was reported", path, (unsigned long long)calls);
  if (status < 0 && (!has_failed || !error.text[0] || (status != HW_ERR_MEMORY && error.os_error != ENOMEM)))
    fail_msg("%s, call %llu: status %d, %s", path, (unsigned long long)calls, status, error.text);
  return has_failed;
}

/* Lets each of the first `most` calls fail in turn: alone, and with all later ones. Returns how many have failed. */
static uint64_t check_first_calls(read_way *way, const char *path, uint64_t most)
{
  struct hwi_error error;
  uint64_t expected = 0, calls = 0;
  assert_int_equal(way(&expected, path, &error), 0);
  for (; calls < most && check_failing(way, path, expected, calls, 1); calls++)
    check_failing(way, path, expected, calls, UINT64_MAX);
  return calls;
}

static void check_way(read_way *way, const char *path)
{
  uint64_t calls = check_first_calls(way, path, CALLS_MOST);
  assert_true(calls > 0 && calls < CALLS_MOST);
}

/* --- traces --- */

/* Enough data in each column to be compressed. */
static void make_long(void)
{
  enc_init(&enc, 9);
  int chunk = enc_chunk(&enc, 0, 0, 0, 1000000);
  enc_thread(&enc, chunk, 0, 500, "long");
  enc_module(&enc, chunk, 1, 0x400000, 0x100000, 0x400000, "0123456789", "/bin/long");
  for (uint32_t i = 0; i < LONG_ROUNDS; i++) {
    enc_node(&enc, chunk, i + 1, i / 2, 1, i % 3 ? HW_ENTRY_NONE : HW_ENTRY_MALLOC, 0x400100 + i * 16);
    enc_alloc(&enc, chunk, 1000000 + i * 1000, i + 1, 16 + i % 100, 0x10000 + i * 0x100);
    if (i % 3)
      enc_free(&enc, chunk, 1000500 + i * 1000, 0x10000 + i * 0x100);
  }
}

static void pack(const char *path)
{
  struct hwi_imported imported;
  struct hwi_error error;
  if (hwi_import(path, path, &imported, &error) < 0)
    fail_msg("%s", error.text);
}

static void check_all_ways(void)
{
  check_way(read_one, trace_path);
  check_way(read_definitions, trace_path);
  check_way(read_run, trace_path);
}

static void test_samples(void **state)
{
  (void)state;
  for (int which = 0; which < SAMPLE_COUNT - 1; which++) {
    sample_make(&enc, which);
    enc_write(&enc, trace_path);
    check_all_ways();
    enc_release(&enc);
  }
}

static void test_packed(void **state)
{
  (void)state;
  make_long();
  enc_write(&enc, trace_path);
  check_all_ways();
  pack(trace_path);
  check_all_ways();
  enc_release(&enc);
}

/* The process of unknown start is searched for among all running processes. The number of calls depends on the
 * machine. */
static void test_a_process_that_is_looked_for(void **state)
{
  (void)state;
  sample_make(&enc, 0);
  assert_int_equal(enc.header.kind, HW_TRACE_RAW);
  enc.header.process_start = 0;
  enc_write(&enc, trace_path);
  assert_true(check_first_calls(read_one, trace_path, LOOKING_CALLS) > 0);
  enc_release(&enc);
}

/* The parent of the second image is searched for in the run. */
static void test_forked(void **state)
{
  (void)state;
  make_long();
  enc_write(&enc, trace_path);
  uint8_t parent[HW_ID_BYTES];
  memcpy(parent, enc.header.image_id, sizeof parent);
  enc_release(&enc);
  sample_make(&enc, SAMPLE_COUNT - 1);
  memcpy(enc.header.parent_image_id, parent, sizeof parent);
  enc.header.inherited_nodes = LONG_ROUNDS + 1;
  enc.header.inherited_modules = 2;
  enc_write(&enc, child_path);
  enc_release(&enc);
  check_way(read_one, child_path);
  check_way(read_run, child_path);
  check_way(read_run, trace_path);
  pack(trace_path);
  check_way(read_run, child_path);
  unlink(child_path);
}

static int make_folder(void **state)
{
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 && mkdir(children, 0700) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
  (void)state;
  unlink(trace_path);
  unlink(child_path);
  rmdir(children);
  return rmdir(folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_packed),
      cmocka_unit_test(test_a_process_that_is_looked_for),
      cmocka_unit_test(test_forked),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
