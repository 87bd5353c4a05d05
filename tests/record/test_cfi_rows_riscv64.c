/* test_cfi_rows_riscv64.c - rows of 64-bit RISC-V, from instructions written by hand
 *
 * Breaks if a frame whose return address or frame pointer is not stored yet, or not stored at all, is not unwound, or if the registers
 * of a signal frame are read from the wrong places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "forged_rows.h"

/* DWARF's numbers in instructions: offset of ra and s0 is 0x80 | number. */
enum { RA = 0x80 | 1, S0 = 0x80 | 8, DEF_CFA = 0x0c, DEF_CFA_OFFSET = 0x0e };

static void assert_row(struct hwi_frame_row row, int kind, int offset, int return_words, int bp_words)
{
  assert_int_equal(row.kind, kind);
  assert_int_equal(row.offset, offset);
  assert_int_equal(row.return_slot.words, return_words);
  assert_int_equal(row.bp_words, bp_words);
}

static void test_kinds(void **state)
{
  struct forged *forged = *state;
  assert_row(ROW(0), HWI_ROW_LINK, 0, 1, 0);                                /* at the entry */
  assert_row(ROW(DEF_CFA_OFFSET, 16, S0, 2), HWI_ROW_LINK, 16, 1, -3);      /* before ra is stored */
  assert_row(ROW(DEF_CFA_OFFSET, 16, S0, 2, RA, 1), HWI_ROW_SP, 16, 0, -2); /* stored */
  assert_row(ROW(DEF_CFA, 8, 0, S0, 2, RA, 1), HWI_ROW_BP, 0, 0, -2);       /* with a frame pointer */
  assert_row(ROW(DEF_CFA, 8, 0, S0, 1), HWI_ROW_LINK_BP, 0, 1, -2);         /* a leaf with a frame pointer */
  assert_row(ROW(DEF_CFA_OFFSET, 16, RA, 1), HWI_ROW_SP, 16, 0, 0);         /* ra alone */
  assert_row(ROW(0x07, 1), HWI_ROW_OUTERMOST, 0, 0, 0);                     /* undefined ra */
  assert_int_equal(ROW(DEF_CFA, 9, 16, S0, 2, RA, 1).kind, HWI_ROW_FULL);   /* CFA = s1 + 16 */
}

static struct {
  uintptr_t before[HWI_ARCH_SIGNAL_REGISTERS_OFF / sizeof(uintptr_t)], registers[32];
} signal_frame;

static bool load_signal(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context;
  if (address - (uintptr_t)&signal_frame >= sizeof signal_frame)
    return false;
  *word = *(const uintptr_t *)address;
  return true;
}

/* The kernel stores the pc where x0 would be. */
static void test_signal(void **state)
{
  struct forged *forged = *state;
  bool is_signal = false;
  for (uintptr_t i = 0; i < 32; i++)
    signal_frame.registers[i] = 0x100 + i;
  assert_row(row_of(forged, "zRS", (const uint8_t[]){0}, 1), HWI_ROW_SIGNAL, HWI_ARCH_SIGNAL_REGISTERS_OFF, 0, 0);
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_SP)};
  registers.value[HWI_REG_SP] = (uintptr_t)&signal_frame;
  const struct hwi_cfi_memory memory = {load_signal, NULL};
  assert_int_equal(hwi_cfi_step(&forged->module, forged_start(forged), &registers, &memory, &is_signal), HWI_STEP_OK);
  assert_true(is_signal);
  assert_int_equal(registers.value[HWI_REG_RA], 0x100);
  for (uintptr_t i = 1; i < 32; i++)
    assert_int_equal(registers.value[i], 0x100 + i);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_signal)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
