/* test_cfi_signal_x86_64.c - unwinds a live signal frame, by rows and in full, and checks it against the kernel's ucontext
 *
 * A trap in the middle of a function raises a signal whose handler runs on another stack. Both ways must find the exact
 * place that was interrupted; the full one must also find all the registers there. From that place the walk goes on to
 * the test's own frame. Breaks if the stacks of everything that allocates in a signal handler, or below one, are wrong.
 */
#define _GNU_SOURCE
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/arch.h"
#include "record/unwind/cfi.h"

enum { MOST_FRAMES = 64, ALT_STACK = 64 * 1024, WORD = 8, TRAP_BYTES = 2 };

struct search {
  uintptr_t address;
  struct hwi_cfi_module module;
};

static int covers(struct dl_phdr_info *info, size_t size, void *context)
{
  struct search *search = context;
  struct hwi_cfi_module module = {.start = UINTPTR_MAX};
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
      module.eh_frame_hdr = start;
    if (info->dlpi_phdr[i].p_type != PT_LOAD)
      continue;
    module.start = start < module.start ? start & ~(uintptr_t)4095 : module.start;
    module.end = end > module.end ? end : module.end;
  }
  if (search->address < module.start || search->address >= module.end)
    return 0;
  search->module = module;
  return 1;
}

static struct hwi_cfi_module module_of(uintptr_t address)
{
  struct search search = {.address = address};
  dl_iterate_phdr(covers, &search);
  return search.module;
}

static bool load(void *context, uintptr_t address, uintptr_t *word)
{
  struct iovec to = {word, sizeof *word}, from = {(void *)address, sizeof *word};
  (void)context;
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof *word;
}

static uintptr_t word_at(uintptr_t address)
{
  uintptr_t word = 0;
  load(NULL, address, &word);
  return word;
}

/* --- the handler's results; checked outside of it --- */

static struct {
  struct hwi_registers interrupted; /* as the full walk found them */
  uintptr_t row_pc, row_sp, row_bp; /* as the walk by rows found them */
  greg_t truth[NGREG];
  int row_signals, full_signals;
  bool reached_by_rows, reached_in_full;
} seen;
static uintptr_t goal_pc; /* a return address in the test itself */

static void walk_in_full(struct hwi_registers registers)
{
  bool exact = true, is_signal_frame;
  for (int i = 0; i < MOST_FRAMES; i++) {
    uintptr_t pc = registers.value[HWI_REG_RA] - !exact;
    struct hwi_cfi_module module = module_of(pc);
    if (hwi_cfi_step(&module, pc, &registers, &(struct hwi_cfi_memory){load, NULL}, &is_signal_frame) != HWI_STEP_OK)
      return;
    if (is_signal_frame && seen.full_signals++ == 0)
      seen.interrupted = registers;
    seen.reached_in_full |= registers.value[HWI_REG_RA] == goal_pc;
    exact = is_signal_frame;
  }
}

static bool step_by_row(struct hwi_frame_row row, uintptr_t *pc, uintptr_t *sp, uintptr_t *bp)
{
  bool on_sp = row.kind == HWI_ROW_SP || row.kind == HWI_ROW_SP_DEREF || row.kind == HWI_ROW_SIGNAL;
  uintptr_t at = (on_sp ? *sp : *bp) + (uintptr_t)(intptr_t)row.offset;
  switch (row.kind) {
  case HWI_ROW_SIGNAL:
    *pc = word_at(at + HWI_ARCH_SIGNAL_PC);
    *sp = word_at(at + HWI_ARCH_SIGNAL_SP);
    *bp = word_at(at + HWI_ARCH_SIGNAL_BP);
    return true;
  case HWI_ROW_SP_DEREF:
  case HWI_ROW_BP_DEREF:
    at = word_at(at);
    break;
  case HWI_ROW_SP:
  case HWI_ROW_BP:
    break;
  default:
    return false;
  }
  *pc = word_at(at - WORD);
  *sp = at;
  if (row.kind == HWI_ROW_BP_DEREF)
    *bp = word_at(*bp + (uintptr_t)(intptr_t)(WORD * row.bp_words));
  else if (row.bp_words)
    *bp = word_at(at + (uintptr_t)(intptr_t)(WORD * row.bp_words));
  return true;
}

static void walk_by_rows(uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  bool exact = true;
  for (int i = 0; i < MOST_FRAMES; i++) {
    struct hwi_cfi_module module = module_of(pc - !exact);
    struct hwi_frame_row row = hwi_cfi_row(&module, pc - !exact, NULL);
    if (!step_by_row(row, &pc, &sp, &bp))
      return;
    exact = row.kind == HWI_ROW_SIGNAL;
    if (exact && seen.row_signals++ == 0) {
      seen.row_pc = pc;
      seen.row_sp = sp;
      seen.row_bp = bp;
    }
    seen.reached_by_rows |= pc == goal_pc;
  }
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
  ucontext_t *there = context;
  struct hwi_registers registers = {.known = 0};
  (void)signal, (void)info;
  memcpy(seen.truth, there->uc_mcontext.gregs, sizeof seen.truth);
  hwi_arch_capture(registers.value, &registers.known);
  walk_in_full(registers);
  walk_by_rows(registers.value[HWI_REG_RA], registers.value[HWI_REG_SP], registers.value[HWI_REG_BP]);
  there->uc_mcontext.gregs[REG_RIP] += TRAP_BYTES;
}

/* Traps with marks in registers, bp among them. When the handler runs, only the ucontext still holds them. */
void trap_with_marks(void);
__asm__(".text\n.type trap_with_marks, @function\ntrap_with_marks:\n\t.cfi_startproc\n\t"
        "pushq %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbp, 0\n\t"
        "pushq %r12\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset r12, 0\n\t"
        "movq $0x5b5b, %rbp\n\tmovq $0x1212, %r12\n\tmovq $0x1010, %r10\n\tud2\n\t"
        "popq %r12\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore r12\n\t"
        "popq %rbp\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore rbp\n\t"
        "ret\n\t.cfi_endproc\n.size trap_with_marks, . - trap_with_marks\n");

static __attribute__((noinline)) int call_trap(void)
{
  goal_pc = (uintptr_t)__builtin_return_address(0);
  trap_with_marks();
  return getpid(); /* so that the trap is called, not jumped to */
}

static void raise_on_other_stack(int signal)
{
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
  stack_t other = {.ss_sp = malloc(ALT_STACK), .ss_size = ALT_STACK}, old;
  memset(&seen, 0, sizeof seen);
  assert_int_equal(sigaltstack(&other, &old), 0);
  assert_int_equal(sigaction(signal, &action, &before), 0);
  call_trap();
  sigaction(signal, &before, NULL);
  sigaltstack(&old, NULL);
  free(other.ss_sp);
}

static void test_trap(void **state)
{
  static const int places[HWI_REG_COUNT] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                            REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  (void)state;
  raise_on_other_stack(SIGILL);
  assert_int_equal(seen.full_signals, 1);
  assert_int_equal(seen.interrupted.known, hwi_register_bit(HWI_REG_COUNT) - 1);
  for (int i = 0; i < HWI_REG_COUNT; i++)
    assert_int_equal(seen.interrupted.value[i], seen.truth[places[i]]);
  assert_int_equal(seen.interrupted.value[HWI_REG_BP], 0x5b5b);
  assert_int_equal(seen.row_signals, 1);
  assert_int_equal(seen.row_pc, seen.truth[REG_RIP]);
  assert_int_equal(seen.row_sp, seen.truth[REG_RSP]);
  assert_int_equal(seen.row_bp, seen.truth[REG_RBP]);
  assert_true(seen.reached_in_full);
  assert_true(seen.reached_by_rows);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_trap)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
