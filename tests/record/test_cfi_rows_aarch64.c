/* test_cfi_rows_aarch64.c - rows of 64-bit Arm, from instructions written by hand
 *
 * Breaks if a frame whose return address is in a register, far from the CFA or signed is not unwound, or if damaged CFI is believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "forged_rows.h"

/* DWARF's numbers in instructions: offset of x29 and x30 is 0x80 | number. */
enum { X29 = 0x80 | 29, X30 = 0x80 | 30, DEF_CFA = 0x0c, DEF_CFA_OFFSET = 0x0e, NEGATE_RA_STATE = 0x2d };

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
  assert_row(ROW(0), HWI_ROW_LINK, 0, 1, 0);                                   /* at the entry */
  assert_row(ROW(DEF_CFA_OFFSET, 48), HWI_ROW_LINK, 48, 1, 0);                 /* a leaf with a frame */
  assert_row(ROW(DEF_CFA_OFFSET, 48, X29, 6), HWI_ROW_LINK, 48, 1, -7);        /* before x30 is stored */
  assert_row(ROW(DEF_CFA, 29, 16, X29, 2), HWI_ROW_LINK_BP, 16, 1, -3);        /* a leaf with a frame pointer */
  assert_row(ROW(DEF_CFA_OFFSET, 48, X29, 6, X30, 5), HWI_ROW_SP, 48, -4, -2); /* stp x29, x30, [sp, #-48]! */
  assert_row(ROW(DEF_CFA, 29, 16, X29, 2, X30, 1), HWI_ROW_BP, 16, 0, -2);     /* clang's */
  assert_row(ROW(DEF_CFA_OFFSET, 16, X30, 2), HWI_ROW_SP, 16, -1, 0);          /* x30 alone */
  assert_row(ROW(DEF_CFA_OFFSET, 0x90, 0x80, 2, X29, 0x82, 0x20, X30, 0x81, 0x20), HWI_ROW_SP, 32784, -4096, -2);
  assert_row(ROW(DEF_CFA_OFFSET, 32, X29, 1, X30, 4), HWI_ROW_SP, 32, -3,
             2);                                         /* x29 above: for the interpreter, later */
  assert_row(ROW(0x07, 30), HWI_ROW_OUTERMOST, 0, 0, 0); /* undefined x30 */
}

/* The return address is signed from the first instruction on; CIEs of code that is signed with the other key have a letter. */
static void test_signed(void **state)
{
  struct forged *forged = *state;
  static const uint8_t code[] = {NEGATE_RA_STATE, DEF_CFA_OFFSET, 32, X29, 4, X30, 3};
  assert_row(row_of(forged, "zR", code, sizeof code), HWI_ROW_SP, 32, -2, -2);
  assert_row(row_of(forged, "zRB", code, sizeof code), HWI_ROW_SP, 32, -2, -2);
  assert_int_equal(hwi_arch_code_address(UINT64_C(0x12340000deadbeef)), UINT64_C(0x0000deadbeef));
}

static uintptr_t frame[4] = {0x1111, UINT64_C(0x5a7f000000401234), 0x3333, 0x4444};

static bool load_frame(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context;
  if (address - (uintptr_t)frame >= sizeof frame)
    return false;
  *word = *(const uintptr_t *)address;
  return true;
}

/* The interpreter finds the same caller, without the signature; a second step from a function that cannot have returned fails. */
static void test_step(void **state)
{
  struct forged *forged = *state;
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_SP) | hwi_register_bit(HWI_REG_BP)};
  registers.value[HWI_REG_SP] = (uintptr_t)frame;
  bool is_signal = true;
  ROW(NEGATE_RA_STATE, DEF_CFA_OFFSET, 32, X29, 4, X30, 3);
  uintptr_t pc = forged_start(forged);
  const struct hwi_cfi_memory memory = {load_frame, NULL};
  assert_int_equal(hwi_cfi_step(&forged->module, pc, &registers, &memory, &is_signal), HWI_STEP_OK);
  assert_false(is_signal);
  assert_int_equal(registers.value[HWI_REG_RA], 0x401234);
  assert_int_equal(registers.value[HWI_REG_SP], (uintptr_t)(frame + 4));
  assert_int_equal(registers.value[HWI_REG_BP], 0x1111);
  assert_false(registers.known >> HWI_REG_LINK & 1);
  ROW(0);
  assert_int_equal(hwi_cfi_step(&forged->module, pc, &registers, &memory, &is_signal), HWI_STEP_BAD);
}

static struct {
  uintptr_t before[HWI_ARCH_SIGNAL_REGISTERS_OFF / sizeof(uintptr_t)], registers[HWI_REG_COUNT];
} signal_frame;

static bool load_signal(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context;
  if (address - (uintptr_t)&signal_frame >= sizeof signal_frame)
    return false;
  *word = *(const uintptr_t *)address;
  return true;
}

/* All registers of a signal frame come from its context, the link register among them. */
static void test_signal(void **state)
{
  struct forged *forged = *state;
  bool is_signal = false;
  for (uintptr_t i = 0; i < HWI_REG_COUNT; i++)
    signal_frame.registers[i] = 0x100 + i;
  assert_row(row_of(forged, "zRS", (const uint8_t[]){0}, 1), HWI_ROW_SIGNAL, HWI_ARCH_SIGNAL_REGISTERS_OFF, 0, 0);
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_SP)};
  registers.value[HWI_REG_SP] = (uintptr_t)&signal_frame;
  const struct hwi_cfi_memory memory = {load_signal, NULL};
  assert_int_equal(hwi_cfi_step(&forged->module, forged_start(forged), &registers, &memory, &is_signal), HWI_STEP_OK);
  assert_true(is_signal);
  for (uintptr_t i = 0; i < HWI_REG_COUNT; i++)
    assert_int_equal(registers.value[i], 0x100 + i);
  assert_int_equal(registers.known, hwi_register_bit(HWI_REG_COUNT) - 1);
}

static void test_damaged(void **state)
{
  struct forged *forged = *state;
  assert_row(ROW(DEF_CFA, 19, 16, X29, 2, X30, 1), HWI_ROW_FULL, 0, 0, 0);      /* CFA = x19 + 16 */
  assert_int_equal(ROW(DEF_CFA_OFFSET, 32, 0x14, 30, 1).kind, HWI_ROW_FULL);    /* x30 is a value, not a place */
  assert_int_equal(ROW(DEF_CFA_OFFSET, 32, 0x11, 30, 0x7f).kind, HWI_ROW_FULL); /* above the CFA */
  assert_int_equal(ROW(0x2f).kind, HWI_ROW_NONE);                               /* cut off */
  assert_int_equal(ROW(0x3f).kind, HWI_ROW_NONE);                               /* unknown */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),  cmocka_unit_test(test_signed),  cmocka_unit_test(test_step),
      cmocka_unit_test(test_signal), cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
