/* test_machine.c - breaks if a crash is explained by what another CPU does: by addresses that its pointers cannot have, or by its way to
 * abort */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>

#include "platform/machine.h"

static const struct hwi_machine *machine(unsigned elf_machine, unsigned word_bytes)
{
  const struct hwi_machine *found = hwi_machine_of(elf_machine, word_bytes);
  assert_non_null(found);
  return found;
}

static void text_is_no_pointer(void **state)
{
  (void)state;
  const uint64_t text = 0x4847464544434241;
  const uint64_t most[] = {0x00ffffffffffffff, 0x000fffffffffffff, 0x00ffffffffffffff};
  const unsigned cpus[] = {EM_X86_64, EM_AARCH64, EM_RISCV};
  for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
    assert_true(hwi_machine_can_point(machine(cpus[i], 8), 0));
    assert_true(hwi_machine_can_point(machine(cpus[i], 8), most[i]));
    assert_false(hwi_machine_can_point(machine(cpus[i], 8), most[i] + 1));
    assert_false(hwi_machine_can_point(machine(cpus[i], 8), text));
  }
  assert_true(hwi_machine_can_point(machine(EM_386, 4), UINT32_MAX));
}

static void the_uppermost_byte_is_the_programs_on_64_bit_arm_alone(void **state)
{
  (void)state;
  const uint64_t tagged = 0xb400007fdeadbee0;
  assert_true(hwi_machine_can_point(machine(EM_AARCH64, 8), tagged));
  assert_false(hwi_machine_can_point(machine(EM_X86_64, 8), tagged));
  assert_false(hwi_machine_can_point(machine(EM_RISCV, 8), tagged));
}

static void only_x86_halts(void **state)
{
  (void)state;
  assert_int_equal(machine(EM_X86_64, 8)->halt, 0xf4);
  assert_int_equal(machine(EM_386, 4)->halt, 0xf4);
  assert_int_equal(machine(EM_AARCH64, 8)->halt, 0);
  assert_int_equal(machine(EM_RISCV, 8)->halt, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_no_pointer),
      cmocka_unit_test(the_uppermost_byte_is_the_programs_on_64_bit_arm_alone),
      cmocka_unit_test(only_x86_halts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
