/* test_cfi_files.c - rows and steps are compared with libdw, over the CFI of real programs and libraries
 *
 * At each place where the rules change, and in the middle and at the end of each such piece of code, registers and
 * memory are made up and the caller's registers are computed from libdw's rules. Both the row and hwi_cfi_step must
 * give the same registers. A row that leaves the work to the interpreter must have a reason. Breaks if stacks are
 * wrong.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cfi_image.h"
#include "platform/arch.h"

enum { FUNCTIONS_A_FILE = 2500, MOST_WORDS = 16, WORD = 8 };

/* Made-up memory: every word is a mix of its address. */
static uintptr_t word_at(uintptr_t address)
{
  uintptr_t word = (address ^ address >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  return word ^ word >> 32;
}

static bool load_made_up(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context;
  *word = word_at(address);
  return true;
}

/* --- libdw's rules, computed --- */

struct oracle {
  Dwarf_Frame *frame;
  struct hwi_registers registers;
  uintptr_t cfa;
};

enum found { FOUND_VALUE, FOUND_UNDEFINED };

static bool is_pair(uint8_t atom)
{
  return atom == DW_OP_plus || atom == DW_OP_and || atom == DW_OP_ge || atom == DW_OP_shl || atom == DW_OP_minus ||
         atom == DW_OP_mul;
}

static uintptr_t compute_pair(uint8_t atom, uintptr_t left, uintptr_t right)
{
  switch (atom) {
  case DW_OP_plus:
    return left + right;
  case DW_OP_minus:
    return left - right;
  case DW_OP_mul:
    return left * right;
  case DW_OP_and:
    return left & right;
  case DW_OP_shl:
    return left << right;
  default:
    return (intptr_t)left >= (intptr_t)right;
  }
}

static uintptr_t compute(const struct oracle *oracle, const Dwarf_Op *ops, size_t count, bool *is_value)
{
  uintptr_t stack[MOST_WORDS];
  int top = -1;
  *is_value = false;
  for (size_t i = 0; i < count; i++) {
    uint8_t atom = ops[i].atom;
    assert_in_range(top + 1, 0, MOST_WORDS - 2);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
      stack[++top] = oracle->registers.value[atom - DW_OP_breg0] + ops[i].number;
    } else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
      stack[++top] = atom - DW_OP_lit0;
    } else if (atom == DW_OP_regx) {
      assert_in_range(ops[i].number, 0, HWI_REG_COUNT - 1);
      stack[++top] = oracle->registers.value[ops[i].number];
      *is_value = true;
    } else if (atom == DW_OP_bregx) {
      stack[++top] = oracle->registers.value[ops[i].number] + ops[i].number2;
    } else if (atom == DW_OP_call_frame_cfa) {
      stack[++top] = oracle->cfa;
    } else if (atom == DW_OP_stack_value) {
      *is_value = true;
    } else if (atom == DW_OP_deref) {
      stack[top] = word_at(stack[top]);
    } else if (atom == DW_OP_plus_uconst) {
      stack[top] += ops[i].number;
    } else if (atom == DW_OP_const1u || atom == DW_OP_constu) {
      stack[++top] = ops[i].number;
    } else if (is_pair(atom)) {
      uintptr_t right = stack[top--];
      stack[top] = compute_pair(atom, stack[top], right);
    } else {
      fail_msg("an operation that this test does not know: 0x%x", atom);
    }
  }
  assert_in_range(top, 0, 1); /* the value with which a register's expression began may be left below */
  return stack[top];
}

static enum found oracle_register(const struct oracle *oracle, int which, uintptr_t *value)
{
  Dwarf_Op memory[3], *ops;
  size_t count;
  bool is_value;
  assert_int_equal(dwarf_frame_register(oracle->frame, which, memory, &ops, &count), 0);
  if (count == 0 && ops == memory)
    return FOUND_UNDEFINED;
  *value = oracle->registers.value[which];
  if (count != 0) {
    *value = compute(oracle, ops, count, &is_value);
    if (!is_value)
      *value = word_at(*value);
  }
  return FOUND_VALUE;
}

/* The caller's pc, which may be signed where it is stored. */
static enum found oracle_pc(const struct oracle *oracle, uintptr_t *value)
{
  enum found found = oracle_register(oracle, HWI_REG_LINK, value);
  if (found == FOUND_VALUE)
    *value = hwi_arch_code_address(*value);
  return found;
}

/* --- ours --- */

/* The caller's pc, sp and bp as a walker finds them with a row. */
static void apply_row(struct hwi_frame_row row, const struct hwi_registers *registers, uintptr_t *pc, uintptr_t *sp,
                      uintptr_t *bp)
{
  bool on_sp = row.kind == HWI_ROW_SP || row.kind == HWI_ROW_SP_DEREF || row.kind == HWI_ROW_LINK;
  bool is_linked = row.kind == HWI_ROW_LINK || row.kind == HWI_ROW_LINK_BP;
  uintptr_t base = registers->value[on_sp ? HWI_REG_SP : HWI_REG_BP] + (uintptr_t)(intptr_t)row.offset;
  *bp = registers->value[HWI_REG_BP];
  if (row.kind == HWI_ROW_SIGNAL) {
    uintptr_t gregs = registers->value[HWI_REG_SP] + (uintptr_t)(intptr_t)row.offset;
    *pc = word_at(gregs + HWI_ARCH_SIGNAL_PC);
    *sp = word_at(gregs + HWI_ARCH_SIGNAL_SP);
    *bp = word_at(gregs + HWI_ARCH_SIGNAL_BP);
    return;
  }
  *sp = row.kind == HWI_ROW_SP_DEREF || row.kind == HWI_ROW_BP_DEREF ? word_at(base) : base;
  uintptr_t return_end = hwi_arch_return_end(*sp, row.return_slot);
  *pc = hwi_arch_code_address(is_linked ? registers->value[HWI_REG_LINK] : word_at(return_end - WORD));
  uintptr_t words = (uintptr_t)(intptr_t)(WORD * row.bp_words);
  if (row.kind == HWI_ROW_BP_DEREF || row.bp_words)
    *bp = word_at((row.kind == HWI_ROW_BP_DEREF ? *bp : return_end) + words);
}

struct tally {
  unsigned places, signal, outermost, deref, none;
  unsigned full_register, full_expression, full_bp; /* why a row is FULL */
};

/* Rules that no row can hold. Fails if a row could hold them. */
static void count_full(const struct oracle *oracle, struct tally *tally)
{
  Dwarf_Op memory[3], *ops;
  size_t count;
  assert_int_equal(dwarf_frame_cfa(oracle->frame, &ops, &count), 0);
  uint8_t atom = ops[0].atom;
  bool other = atom == DW_OP_bregx || (atom >= DW_OP_breg0 && atom <= DW_OP_breg31 &&
                                       atom != DW_OP_breg0 + HWI_REG_BP && atom != DW_OP_breg0 + HWI_REG_SP);
  if (other) {
    tally->full_register++;
  } else if (count > 2 || (count == 2 && ops[1].atom != DW_OP_deref)) {
    tally->full_expression++;
  } else {
    assert_int_equal(dwarf_frame_register(oracle->frame, HWI_REG_BP, memory, &ops, &count), 0);
    bool same = count == 0 && ops == NULL;
    bool slot = count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst &&
                (intptr_t)ops[1].number >= INT8_MIN * WORD && (intptr_t)ops[1].number <= INT8_MAX * WORD;
    assert_false(same || slot);
    tally->full_bp++;
  }
}

static void check_step(const struct image *image, const struct oracle *oracle, uintptr_t pc, bool is_signal)
{
  struct hwi_registers registers = oracle->registers;
  bool signal_frame = !is_signal;
  uintptr_t value;
  if (oracle_pc(oracle, &value) == FOUND_UNDEFINED) {
    assert_int_equal(
        hwi_cfi_step(&image->module, pc, &registers, &(struct hwi_cfi_memory){load_made_up, NULL}, &signal_frame),
        HWI_STEP_OUTERMOST);
    return;
  }
  assert_int_equal(
      hwi_cfi_step(&image->module, pc, &registers, &(struct hwi_cfi_memory){load_made_up, NULL}, &signal_frame),
      HWI_STEP_OK);
  assert_int_equal(signal_frame, is_signal);
  assert_int_equal(registers.value[HWI_REG_RA], value);
  for (int i = 0; i < HWI_REG_COUNT; i++) {
    if (i == HWI_REG_RA || i == HWI_REG_LINK)
      continue;
    /* libdw gives up scratch registers that CFI does not mention; here they keep their values. */
    bool is_given_up = oracle_register(oracle, i, &value) != FOUND_VALUE;
    if (is_given_up && !(registers.known >> i & 1))
      continue;
    if (is_given_up)
      value = oracle->registers.value[i];
    if (!(registers.known >> i & 1) || registers.value[i] != value)
      fail_msg("register %d at 0x%zx: %zx, libdw has %zx", i, (size_t)(pc - image->bias), (size_t)registers.value[i],
               (size_t)value);
  }
}

static _Alignas(uint64_t) uint8_t cache[HWI_CFI_CACHE_BYTES];

/* The row without a cache must equal the row with the cache's earlier contents, and the row with what this look-up
 * added. */
static struct hwi_frame_row row_at(const struct image *image, uintptr_t pc)
{
  struct hwi_frame_row row = hwi_cfi_row(&image->module, pc, NULL);
  for (int i = 0; i < 2; i++) {
    struct hwi_frame_row again = hwi_cfi_row(&image->module, pc, (struct hwi_cfi_cache *)cache);
    assert_int_equal(again.kind, row.kind);
    assert_int_equal(again.bp_words, row.bp_words);
    assert_int_equal(again.offset, row.offset);
  }
  return row;
}

static void check_row(const struct image *image, const struct oracle *oracle, uintptr_t pc, bool is_signal,
                      struct tally *tally)
{
  struct hwi_frame_row row = row_at(image, pc);
  uintptr_t pc_out, sp_out, bp_out, expected;
  if (oracle_pc(oracle, &expected) == FOUND_UNDEFINED) {
    assert_int_equal(row.kind, HWI_ROW_OUTERMOST);
    tally->outermost++;
    return;
  }
  if (row.kind == HWI_ROW_FULL) {
    count_full(oracle, tally);
    return;
  }
  if (row.kind == HWI_ROW_NONE || row.kind == HWI_ROW_OUTERMOST || (row.kind == HWI_ROW_SIGNAL) != is_signal)
    fail_msg("row of kind %d at 0x%zx", row.kind, (size_t)(pc - image->bias));
  tally->signal += is_signal;
  tally->deref += row.kind == HWI_ROW_BP_DEREF || row.kind == HWI_ROW_SP_DEREF;
  apply_row(row, &oracle->registers, &pc_out, &sp_out, &bp_out);
  if (pc_out != expected)
    fail_msg("pc at 0x%zx: row of kind %d, offset %d", (size_t)(pc - image->bias), row.kind, row.offset);
  assert_int_equal(oracle_register(oracle, HWI_REG_SP, &expected), FOUND_VALUE);
  assert_int_equal(sp_out, expected);
  assert_int_equal(oracle_register(oracle, HWI_REG_BP, &expected), FOUND_VALUE);
  assert_int_equal(bp_out, expected);
}

static void check_place(const struct image *image, Dwarf_CFI *cfi, uintptr_t pc, struct tally *tally)
{
  struct oracle oracle = {.registers.known = hwi_register_bit(HWI_REG_COUNT) - 1};
  Dwarf_Op *ops;
  size_t count;
  bool is_signal, is_value;
  assert_int_equal(dwarf_cfi_addrframe(cfi, pc - image->bias, &oracle.frame), 0);
  if (dwarf_frame_info(oracle.frame, NULL, NULL, &is_signal) != HWI_REG_LINK) { /* a helper, called in another way */
    assert_int_equal(hwi_cfi_row(&image->module, pc, NULL).kind, HWI_ROW_NONE);
    tally->none++;
    free(oracle.frame);
    return;
  }
  for (uint32_t i = 0; i < HWI_REG_COUNT; i++)
    oracle.registers.value[i] = word_at(pc + i) & ~(uintptr_t)(WORD - 1);
  oracle.registers.value[HWI_REG_RA] = pc; /* PLT stubs use it in their expressions */
  assert_int_equal(dwarf_frame_cfa(oracle.frame, &ops, &count), 0);
  oracle.cfa = compute(&oracle, ops, count, &is_value);
  check_row(image, &oracle, pc, is_signal, tally);
  check_step(image, &oracle, pc, is_signal);
  tally->places++;
  free(oracle.frame);
}

/* Checks every piece of the function at `start` over which the rules stay the same. */
static void check_function(const struct image *image, Dwarf_CFI *cfi, uintptr_t start, uintptr_t next,
                           struct tally *tally)
{
  Dwarf_Addr from, to;
  for (uintptr_t pc = start; pc < next; pc = image->bias + to) {
    Dwarf_Frame *frame;
    if (dwarf_cfi_addrframe(cfi, pc - image->bias, &frame) != 0) { /* the gap after a function */
      assert_int_equal(hwi_cfi_row(&image->module, pc, NULL).kind, HWI_ROW_NONE);
      tally->none++;
      return;
    }
    dwarf_frame_info(frame, &from, &to, NULL);
    free(frame);
    check_place(image, cfi, pc, tally);
    check_place(image, cfi, pc + (image->bias + to - pc) / 2, tally);
    check_place(image, cfi, image->bias + to - 1, tally);
    row_at(image, start + (pc - start) / 2); /* and back */
  }
}

static bool check_file(const char *path, struct tally *tally)
{
  struct image image;
  if (!image_open(&image, path))
    return false;
  Elf *elf = elf_begin(image.descriptor, ELF_C_READ_MMAP, NULL);
  Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
  uint32_t count = image_function_count(&image), step = count / FUNCTIONS_A_FILE + 1;
  assert_non_null(cfi);
  assert_true(count > 0);
  hwi_cfi_cache_clear((struct hwi_cfi_cache *)cache);
  for (uint32_t i = 0; i < count; i += step)
    check_function(&image, cfi, image_function(&image, i),
                   i + 1 < count ? image_function(&image, i + 1) : image.module.end, tally);
  print_message("%s: %u of %u functions, %u places; %u realigned, %u signal, %u outermost, %u behind functions; "
                "full: %u other register, %u expression, %u bp elsewhere\n",
                path, (count + step - 1) / step, count, tally->places, tally->deref, tally->signal, tally->outermost,
                tally->none, tally->full_register, tally->full_expression, tally->full_bp);
  dwarf_cfi_end(cfi);
  elf_end(elf);
  image_close(&image);
  return true;
}

#define LIB HW_LIBRARIES
#define GCC "/usr/lib/gcc/x86_64-linux-gnu/12/"

static void test_libc(void **state)
{
  struct tally tally = {0};
  (void)state;
  assert_true(check_file(LIB "libc.so.6", &tally));
  assert_true(tally.places > 20000);
  assert_true(tally.full_register + tally.full_expression + tally.full_bp < tally.places / 100);
}

/* Each sample of functions of libc may miss the trampoline, so it is searched for by its code: mov $15, %rax;
 * syscall. */
static void test_signal_trampoline(void **state)
{
  static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  struct image image;
  struct tally tally = {0};
  (void)state;
  if (HWI_ARCH_SIGNAL_REGISTERS_OFF) /* then the kernel has it */
    skip();
  assert_true(image_open(&image, LIB "libc.so.6"));
  Elf *elf = elf_begin(image.descriptor, ELF_C_READ_MMAP, NULL);
  Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
  for (uint32_t i = 0; i + 1 < image_function_count(&image); i++) {
    uintptr_t start = image_function(&image, i);
    if (memcmp((const void *)(start + 1), code, sizeof code) == 0) /* its CFI begins a byte early */
      check_place(&image, cfi, start + 1, &tally);
  }
  assert_int_equal(tally.signal, 1);
  dwarf_cfi_end(cfi);
  elf_end(elf);
  image_close(&image);
}

/* A frame whose caller's sp is only in memory: over-aligned, of variable size, with arguments on the caller's stack. */
static __attribute__((noinline)) int realigned(int size, int a, int b, int c, int d, int e, int on_stack, int too)
{
  volatile int fixed[16] __attribute__((aligned(64)));
  volatile char *variable = __builtin_alloca((size_t)size);
  variable[0] = (char)a;
  fixed[size % 16] = b + c + d + e;
  return variable[0] + fixed[size % 16] + on_stack + too;
}

static void test_realigned(void **state)
{
  struct tally tally = {0};
  (void)state;
  assert_int_equal(realigned(64, 1, 2, 3, 4, 5, 6, 7), 28);
  assert_true(check_file("/proc/self/exe", &tally));
#ifndef __clang__ /* which computes it in another way; of its larger program, only a sample of functions is read */
  assert_true(tally.outermost > 0); /* _start */
  /* gcc saves bp at bp; a row cannot hold that. With a link register, it computes addresses, and leaves the stack as it is. */
  assert_true(tally.deref + tally.full_bp > 0 || HWI_ARCH_HAS_LINK);
#endif
}

static void test_others(void **state)
{
  static const char *const paths[] = {LIB "libstdc++.so.6",
                                      LIB "ld-linux-x86-64.so.2",
                                      LIB "ld-linux-aarch64.so.1",
                                      LIB "ld-linux-riscv64-lp64d.so.1",
                                      LIB "libsqlite3.so.0",
                                      LIB "libcurl.so.4",
                                      LIB "libcrypto.so.3",
                                      LIB "libm.so.6",
                                      LIB "libgcc_s.so.1",
                                      LIB "libLLVM-14.so.1",
                                      LIB "libpython3.11.so.1.0",
                                      LIB "libz.so.1",
                                      LIB "libgmp.so.10",
                                      "/usr/bin/python3",
                                      "/bin/bash",
                                      "/usr/bin/git",
                                      "/usr/bin/perl",
                                      "/usr/bin/gdb",
                                      "/usr/bin/node",
                                      GCC "cc1",
                                      GCC "cc1plus"};
  unsigned found = 0;
  (void)state;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    struct tally tally = {0};
    found += check_file(paths[i], &tally);
  }
  assert_true(found >= 4);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_libc),
      cmocka_unit_test(test_signal_trampoline),
      cmocka_unit_test(test_realigned),
      cmocka_unit_test(test_others),
  };
  elf_version(EV_CURRENT);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
