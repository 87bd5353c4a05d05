/* test_cfi_exidx_arm.c - the unwind tables of 32-bit Arm, in a module made by hand
 *
 * Breaks if an instruction moves vsp or loads registers otherwise than "Exception Handling ABI for the Arm Architecture" states, if an
 * entry is not found or its end not seen, if code without tables is taken for the end of a stack or the reverse, or if damaged tables are
 * read beyond the module.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/unwind/cfi.h"

/* Words of the module: its header, code, entries of .ARM.extab, the table. */
enum {
  WORDS = 1024,
  ENTRY = 64,
  CODE = 128,
  FUNCTION_WORDS = 64,
  EXTAB = 700,
  TABLE = 900,
  PAIRS = 4,
  INLINE = 0x80,
  CANNOT_UNWIND = 1
};

static struct {
  _Alignas(4096) uint32_t words[WORDS];
} image;
static struct hwi_cfi_module module;

static uint32_t prel31(unsigned from, unsigned to)
{
  return (uint32_t)((int32_t)(to - from) * 4) & 0x7fffffff;
}

/* Pair `which` of the table is of the function with that number. */
static void set_pair(unsigned which, uint32_t word)
{
  const unsigned at = TABLE + 2 * which;
  image.words[at] = prel31(at, CODE + which * FUNCTION_WORDS);
  image.words[at + 1] = word;
}

static int set_up(void **state)
{
  (void)state;
  memset(&image, 0, sizeof image);
  Elf32_Ehdr *elf = (Elf32_Ehdr *)image.words;
  memcpy(elf->e_ident, ELFMAG, SELFMAG);
  elf->e_phoff = sizeof *elf;
  elf->e_phentsize = sizeof(Elf32_Phdr);
  elf->e_phnum = 2;
  elf->e_entry = ENTRY * 4;
  Elf32_Phdr *segments = (Elf32_Phdr *)(elf + 1);
  segments[0] = (Elf32_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = WORDS * 4, .p_memsz = WORDS * 4};
  segments[1] = (Elf32_Phdr){.p_type = PT_ARM_EXIDX, .p_vaddr = TABLE * 4, .p_memsz = PAIRS * 8};
  module = (struct hwi_cfi_module){(uintptr_t)image.words, (uintptr_t)(image.words + WORDS),
                                   (uintptr_t)(image.words + TABLE)};
  for (unsigned i = 0; i < PAIRS; i++)
    set_pair(i, CANNOT_UNWIND);
  return 0;
}

/* The row in the second function. */
static struct hwi_frame_row row(void)
{
  return hwi_cfi_row(&module, (uintptr_t)(image.words + CODE + FUNCTION_WORDS) + 9, NULL);
}

/* Puts the bytes into an entry of the second compact model, and returns the row. */
static struct hwi_frame_row row_of(const uint8_t *bytes, unsigned count)
{
  const unsigned more = count > 2 ? (count - 2 + 3) / 4 : 0;
  uint8_t code[64];
  memset(code, 0xb0, sizeof code); /* finish */
  memcpy(code, bytes, count);
  image.words[EXTAB] = 0x81000000 | more << 16 | (uint32_t)code[0] << 8 | code[1];
  for (unsigned i = 0; i < more; i++)
    image.words[EXTAB + 1 + i] = (uint32_t)code[2 + 4 * i] << 24 | (uint32_t)code[3 + 4 * i] << 16 |
                                 (uint32_t)code[4 + 4 * i] << 8 | code[5 + 4 * i];
  set_pair(1, prel31(TABLE + 3, EXTAB));
  return row();
}

#define ROW(...) row_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void assert_row(struct hwi_frame_row found, int kind, int offset, int return_words, int bp_words)
{
  assert_int_equal(found.kind, kind);
  assert_int_equal(found.offset, offset);
  assert_int_equal(found.return_slot.words, return_words);
  assert_int_equal(found.bp_words, bp_words);
}

static void test_registers(void **state)
{
  (void)state;
  assert_row(ROW(0xb0), HWI_ROW_LINK, 0, 1, 0);                     /* a leaf */
  assert_row(ROW(0x01), HWI_ROW_LINK, 8, 1, 0);                     /* a leaf with a frame */
  assert_row(ROW(0xa8), HWI_ROW_SP, 8, 0, 0);                       /* r4, lr */
  assert_row(ROW(0xab), HWI_ROW_SP, 20, 0, -2);                     /* r4 to r7, lr */
  assert_row(ROW(0xaf), HWI_ROW_SP, 36, 0, -6);                     /* r4 to r11, lr */
  assert_row(ROW(0x84, 0x08), HWI_ROW_SP, 8, 0, -2);                /* r7, lr */
  assert_row(ROW(0x84, 0x00, 0x03), HWI_ROW_SP, 20, -4, 0);         /* lr, and arguments above it */
  assert_row(ROW(0x3f, 0xa9), HWI_ROW_SP, 256 + 12, 0, 0);          /* after 256 bytes */
  assert_row(ROW(0xb1, 0x0f, 0xa8), HWI_ROW_SP, 24, 0, 0);          /* r0 to r3, r4, lr */
  assert_row(ROW(0x97, 0x84, 0x08), HWI_ROW_BP, 8, 0, -2);          /* r7 is the frame pointer */
  assert_row(ROW(0x97, 0x41, 0x84, 0x08), HWI_ROW_BP, 0, 0, -2);    /* and 8 bytes above */
  assert_int_equal(ROW(0x9b, 0x40, 0x84, 0x80).kind, HWI_ROW_FULL); /* r11 is it */
  assert_int_equal(ROW(0xa0, 0xb0, 0xff, 0xff).kind, HWI_ROW_LINK); /* nothing counts after the end */
}

static void test_other_moves(void **state)
{
  (void)state;
  assert_row(ROW(0xb2, 0x00, 0xa8), HWI_ROW_SP, 0x204 + 8, 0, 0);
  assert_row(ROW(0xb2, 0x81, 0x01, 0xa8), HWI_ROW_SP, 0x204 + 4 * 129 + 8, 0, 0);
  assert_row(ROW(0xb3, 0x83, 0xa8), HWI_ROW_SP, 36 + 8, 0, 0); /* d8 to d11 and a word */
  assert_row(ROW(0xb9, 0xa8), HWI_ROW_SP, 20 + 8, 0, 0);
  assert_row(ROW(0xc2, 0xa8), HWI_ROW_SP, 24 + 8, 0, 0);
  assert_row(ROW(0xc6, 0xa1, 0xa8), HWI_ROW_SP, 16 + 8, 0, 0);
  assert_row(ROW(0xc7, 0x05, 0xa8), HWI_ROW_SP, 8 + 8, 0, 0);
  assert_row(ROW(0xc8, 0x02, 0xa8), HWI_ROW_SP, 24 + 8, 0, 0);
  assert_row(ROW(0xc9, 0x83, 0xa8), HWI_ROW_SP, 32 + 8, 0, 0);
  assert_row(ROW(0xd1, 0xa8), HWI_ROW_SP, 16 + 8, 0, 0);
}

/* Reserved instructions, and those that no frame needs. */
static void test_refused(void **state)
{
  (void)state;
  static const uint8_t wrong[][2] = {{0x80, 0x00}, {0x9d, 0xb0}, {0x9f, 0xb0}, {0xb1, 0x00},
                                     {0xb1, 0x10}, {0xb4, 0xb0}, {0xb5, 0xb0}, {0xc7, 0x00},
                                     {0xc7, 0x10}, {0xca, 0xb0}, {0xd8, 0xb0}, {0xff, 0xb0}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(row_of(wrong[i], 2).kind, HWI_ROW_NONE);
  assert_int_equal(ROW(0xa8, 0x97).kind, HWI_ROW_NONE); /* another base after a load */
  assert_int_equal(ROW(0x88, 0x01).kind, HWI_ROW_NONE); /* pc alone */
  assert_int_equal(ROW(0x01, 0xb1).kind, HWI_ROW_NONE); /* no operand */
  assert_int_equal(ROW(0xb2, 0xff, 0xff, 0xff, 0xff, 0xff).kind, HWI_ROW_NONE);
}

static void test_forms_of_entries(void **state)
{
  (void)state;
  set_pair(1, 0x80a8b0b0); /* in the table */
  assert_row(row(), HWI_ROW_SP, 8, 0, 0);
  set_pair(1, 0x81a8b0b0); /* only the first model may be there */
  assert_int_equal(row().kind, HWI_ROW_NONE);
  set_pair(1, prel31(TABLE + 3, EXTAB));
  image.words[EXTAB] = 0x8001abb0; /* the first model */
  assert_row(row(), HWI_ROW_SP, 28, 0, -2);
  image.words[EXTAB] = 0x820101ab; /* the third one: 1 word more */
  image.words[EXTAB + 1] = 0xb0b0b0b0;
  assert_row(row(), HWI_ROW_SP, 28, 0, -2);
  image.words[EXTAB] = 0x83000000; /* there is no other */
  assert_int_equal(row().kind, HWI_ROW_NONE);
  image.words[EXTAB] = prel31(EXTAB, CODE); /* a personality routine, and 1 word more after three instructions */
  image.words[EXTAB + 1] = 0x01010101;
  image.words[EXTAB + 2] = 0xa8b00000;
  assert_row(row(), HWI_ROW_SP, 32, 0, 0);
}

static void test_the_right_function_is_found(void **state)
{
  (void)state;
  for (unsigned i = 0; i < PAIRS; i++)
    set_pair(i, 0x8000b0b0 | i << 16);
  const uintptr_t code = (uintptr_t)(image.words + CODE);
  assert_int_equal(hwi_cfi_row(&module, code - 1, NULL).kind, HWI_ROW_NONE);
  for (unsigned i = 0; i < PAIRS; i++) {
    const uintptr_t start = code + i * FUNCTION_WORDS * 4;
    assert_row(hwi_cfi_row(&module, start, NULL), HWI_ROW_LINK, 4 + 4 * (int)i, 1, 0);
    assert_row(hwi_cfi_row(&module, start + FUNCTION_WORDS * 4 - 1, NULL), HWI_ROW_LINK, 4 + 4 * (int)i, 1, 0);
  }
}

static void test_ends_of_stacks(void **state)
{
  (void)state;
  uint16_t *const after = (uint16_t *)(image.words + CODE + FUNCTION_WORDS) + 5; /* the call; see row */
  assert_int_equal(row().kind, HWI_ROW_NONE);                                    /* code without tables */
  memcpy(after, (const uint16_t[]){0xf04f, 0x0701, 0xdf00}, 6);
  assert_int_equal(row().kind, HWI_ROW_OUTERMOST); /* mov.w r7, #1; svc 0 */
  memcpy(after, (const uint16_t[]){0x2701, 0xdf00, 0}, 6);
  assert_int_equal(row().kind, HWI_ROW_OUTERMOST);
  memcpy(after, (const uint32_t[]){0xe3a07001, 0xef000000}, 8);
  assert_int_equal(row().kind, HWI_ROW_OUTERMOST);
  memcpy(after, (const uint32_t[]){0xe3a07002, 0xef000000}, 8);
  assert_int_equal(row().kind, HWI_ROW_NONE); /* another system call */
  image.words[TABLE] = prel31(TABLE, ENTRY);
  assert_int_equal(hwi_cfi_row(&module, (uintptr_t)(image.words + ENTRY) + 39, NULL).kind, HWI_ROW_OUTERMOST);
  assert_int_equal(hwi_cfi_row(&module, (uintptr_t)(image.words + ENTRY) + 139, NULL).kind, HWI_ROW_NONE);
}

static bool load(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context;
  memcpy(word, (const void *)address, sizeof *word);
  return true;
}

/* As the tables of glibc's code to which handlers return. */
static void test_signal_frames(void **state)
{
  (void)state;
  enum { OFF_WORDS = 40 };
  assert_row(ROW(0x27, 0xb1, 0x0f, 0x8f, 0xff), HWI_ROW_SIGNAL, OFF_WORDS * 4, 0, 0);
  uintptr_t stack[OFF_WORDS + 16];
  for (unsigned i = 0; i < 16; i++)
    stack[OFF_WORDS + i] = 0x1000 + i;
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_SP)};
  registers.value[HWI_REG_SP] = (uintptr_t)stack;
  bool is_signal_frame = false;
  const uintptr_t pc = (uintptr_t)(image.words + CODE + FUNCTION_WORDS) + 9;
  assert_int_equal(hwi_cfi_step(&module, pc, &registers, &(struct hwi_cfi_memory){load, NULL}, &is_signal_frame),
                   HWI_STEP_OK);
  assert_true(is_signal_frame);
  for (unsigned i = 0; i < 16; i++)
    assert_int_equal(registers.value[i], 0x1000 + i);
}

static void test_a_step_restores_registers(void **state)
{
  (void)state;
  uintptr_t stack[] = {0, 0, 4, 5, 6, 7, 0x2001, 8};
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_SP) | hwi_register_bit(11)};
  registers.value[HWI_REG_SP] = (uintptr_t)stack;
  registers.value[11] = 11;
  bool is_signal_frame = true;
  ROW(0x01, 0xab, 0x00);
  const uintptr_t pc = (uintptr_t)(image.words + CODE + FUNCTION_WORDS) + 9;
  assert_int_equal(hwi_cfi_step(&module, pc, &registers, &(struct hwi_cfi_memory){load, NULL}, &is_signal_frame),
                   HWI_STEP_OK);
  assert_false(is_signal_frame);
  for (unsigned i = 4; i <= 7; i++)
    assert_int_equal(registers.value[i], i);
  assert_int_equal(registers.value[11], 11);
  assert_int_equal(registers.value[HWI_REG_RA], 0x2000); /* without the bit that says Thumb */
  assert_int_equal(registers.value[HWI_REG_SP], (uintptr_t)(stack + 8));
}

static void test_damage_never_faults(void **state)
{
  (void)state;
  enum { ROUNDS = 200000 };
  unsigned seed = 1;
  for (int round = 0; round < ROUNDS; round++) {
    seed = seed * 1103515245 + 12345;
    const unsigned at = seed >> 16;
    seed = seed * 1103515245 + 12345;
    const uint32_t word = (seed >> 8 ^ seed << 20) | (seed & 1 ? 0x80000000u : 0);
    image.words[at % 2 ? TABLE + at / 2 % (2 * PAIRS) : EXTAB + at / 2 % 8] = word;
    row();
    if (round % 1000 == 0)
      set_up(NULL);
  }
  module.eh_frame_hdr = (uintptr_t)(image.words + WORDS - 1); /* a table that goes on beyond the segment */
  assert_int_equal(row().kind, HWI_ROW_NONE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_registers, set_up),
      cmocka_unit_test_setup(test_other_moves, set_up),
      cmocka_unit_test_setup(test_refused, set_up),
      cmocka_unit_test_setup(test_forms_of_entries, set_up),
      cmocka_unit_test_setup(test_the_right_function_is_found, set_up),
      cmocka_unit_test_setup(test_ends_of_stacks, set_up),
      cmocka_unit_test_setup(test_signal_frames, set_up),
      cmocka_unit_test_setup(test_a_step_restores_registers, set_up),
      cmocka_unit_test_setup(test_damage_never_faults, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
