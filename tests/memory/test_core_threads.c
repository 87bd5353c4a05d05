/* test_core_threads.c - the vector registers of a thread, from the notes that Linux and gdb write for 64-bit Arm
 *
 * Breaks if a block that only a vector register holds counts as leaked, or if what earlier work left there in a system call holds one.
 */
#include "memory/image/core_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
  AARCH64 = 183,
  WORD_BYTES = 8,
  STATUS_BYTES = 392,
  SHORT_NOTE = 2,       /* NT_FPREGSET */
  LONG_NOTE = 0x405,    /* NT_ARM_SVE */
  CALL_NOTE = 0x404,    /* NT_ARM_SYSTEM_CALL */
  SHORT_BYTES = 528,    /* 32 registers of 16 bytes, and two words of 32 bits */
  LONG_BYTES = 2208,    /* a header, 32 registers of 64 bytes, and predicates */
  LAST_SHORT = 31 * 16, /* a word of the last register */
  LAST_LONG = 16 + 32 * 64 - 8,
};

static const uint64_t pointer = 0x123456789a0, other = 0x123456789b0;
static struct hwi_memory memory;

static int begin(void **state)
{
  static const unsigned char status[STATUS_BYTES];
  (void)state;
  memset(&memory, 0, sizeof memory);
  return hwi_core_take_thread(&memory, hwi_machine_of(AARCH64, WORD_BYTES), status, sizeof status) ? 0 : 1;
}

static int end(void **state)
{
  (void)state;
  free(memory.threads);
  return 0;
}

static void take_vectors(uint32_t kind, size_t bytes, size_t off, uint64_t word)
{
  unsigned char note[LONG_BYTES] = {0};
  if (kind == LONG_NOTE)
    note[0] = 0xa0; /* of its size: no register */
  memcpy(note + off, &word, sizeof word);
  hwi_core_take_more_of_thread(&memory, kind, note, bytes);
}

/* In its order. `call` is the number of the system call, or -1. */
static void take_notes_of_linux(int32_t call)
{
  take_vectors(SHORT_NOTE, SHORT_BYTES, LAST_SHORT, pointer);
  hwi_core_take_more_of_thread(&memory, CALL_NOTE, (const unsigned char *)&call, sizeof call);
  take_vectors(LONG_NOTE, LONG_BYTES, LAST_LONG, other);
}

static void gdb_writes_long_vectors_alone(void **state)
{
  (void)state;
  take_vectors(LONG_NOTE, LONG_BYTES, LAST_LONG, pointer);
  assert_int_equal(memory.threads[0].vector_count, 1);
  assert_int_equal(memory.threads[0].vectors[0], pointer);
}

static void linux_writes_both(void **state)
{
  (void)state;
  take_notes_of_linux(-1);
  assert_int_equal(memory.threads[0].vector_count, 1);
  assert_int_equal(memory.threads[0].vectors[0], pointer);
}

static void a_system_call_keeps_none(void **state)
{
  (void)state;
  take_notes_of_linux(63);
  assert_int_equal(memory.threads[0].vector_count, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(gdb_writes_long_vectors_alone, begin, end),
      cmocka_unit_test_setup_teardown(linux_writes_both, begin, end),
      cmocka_unit_test_setup_teardown(a_system_call_keeps_none, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
