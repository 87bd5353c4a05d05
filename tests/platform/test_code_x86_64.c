/* test_code_x86_64.c - breaks if a detour changes what a function does, or if code that must stay as it is gets one
 *
 * The functions are machine code in memory that may be written and executed, and are called before and after the detour.
 */
#include "detours.h"

#include "platform/code/x86_64.h"

static size_t bytes_of(const char *hex, uint8_t *to)
{
  size_t count = 0;
  unsigned byte;
  for (int used; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
    to[count++] = (uint8_t)byte;
  return count;
}

/* --- lengths, and what can be moved --- */

static void test_instructions(void **state)
{
  static const struct {
    const char *hex;
    int bytes; /* 0: not known */
    bool is_movable;
  } cases[] = {
      {"55", 1, true},                         /* push %rbp */
      {"41 57", 2, true},                      /* push %r15 */
      {"48 89 e5", 3, true},                   /* mov %rsp, %rbp */
      {"48 83 ec 08", 4, true},                /* sub $8, %rsp */
      {"48 81 ec 98 01 00 00", 7, true},       /* sub $0x198, %rsp */
      {"48 81 ff 00 10 00 00", 7, true},       /* cmp $0x1000, %rdi */
      {"48 8d 05 28 5d 2c 00", 7, true},       /* lea 0x2c5d28(%rip), %rax */
      {"48 8d 44 24 08", 5, true},             /* lea 8(%rsp), %rax */
      {"64 48 8b 04 25 28 00 00 00", 9, true}, /* mov %fs:0x28, %rax */
      {"48 c7 c2 b8 f5 ff ff", 7, true},       /* mov $-0xa48, %rdx */
      {"48 b8 01 02 03 04 05 06 07 08", 10, true},
      {"66 b8 01 02", 4, true},
      {"b8 01 02 03 04", 5, true},
      {"80 3d 7a 8f 2b 00 00", 7, true}, /* cmpb $0, 0x2b8f7a(%rip) */
      {"f3 0f 1e fa", 4, true},          /* endbr64 */
      {"0f 1f 84 00 00 00 00 00", 8, true},
      {"66 2e 0f 1f 84 00 00 00 00 00", 10, true},
      {"90", 1, true},
      {"f3 90", 2, true},
      {"85 c0", 2, true},
      {"31 c0", 2, true},
      {"74 10", 2, true},
      {"0f 84 10 00 00 00", 6, true},
      {"eb 10", 2, true},
      {"e9 10 00 00 00", 5, true},
      {"e8 10 00 00 00", 5, true},
      {"c3", 1, true},
      {"ff 25 10 00 00 00", 6, true},  /* jmp *0x10(%rip) */
      {"ff 15 10 00 00 00", 6, false}, /* call *0x10(%rip) */
      {"ff d0", 2, false},
      {"f6 c3 01", 3, true}, /* test $1, %bl */
      {"f7 d8", 2, true},    /* neg %eax */
      {"f7 c7 ff 0f 00 00", 6, true},
      {"66 f7 c7 ff 0f", 5, true},
      {"48 f7 f1", 3, false}, /* div: it may trap */
      {"0f b6 34 02", 4, true},
      {"48 63 f6", 3, true},
      {"0f 28 c1", 3, true},
      {"66 0f ef c0", 4, true},
      {"0f 05", 2, false},             /* syscall */
      {"0f a2", 2, false},             /* cpuid */
      {"f0 48 0f b1 11", 5, false},    /* lock cmpxchg */
      {"e3 10", 2, false},             /* jrcxz: it has no longer form */
      {"e2 fe", 2, false},             /* loop */
      {"c5 f8 77", 3, false},          /* vzeroupper */
      {"c5 f1 73 d1 08", 5, false},    /* vpsrldq */
      {"c4 e2 71 00 c2", 5, false},    /* vpshufb */
      {"c4 e3 71 0f c2 08", 6, false}, /* vpalignr */
      {"62 f1 7c 48 28 c1", 6, false}, /* vmovaps of AVX-512 */
      {"62 f3 75 48 03 c2 01", 7, false},
      {"66 0f 3a 0f c1 08", 6, false},
      {"66 0f 38 00 c1", 5, false},
      {"66 66 48 e8 00 00 00 00", 8, false}, /* call __tls_get_addr */
      {"a1 01 02 03 04 05 06 07 08", 9, false},
      {"67 a1 01 02 03 04", 6, false},
      {"c8 10 00 00", 4, false},
      {"cc", 1, false},
      {"c2 08 00", 3, false},
      {"06", 0, false}, /* 32-bit code alone */
      {"60", 0, false},
      {"9a 01 02 03 04 05 06", 0, false},
      {"82 c0 01", 0, false},
      {"d6", 0, false},
      {"66 e9 01 02 03 04", 0, false}, /* Intel's and AMD's CPUs differ */
      {"40 40 55", 0, false},          /* two REX */
      {"48 66 89 c0", 0, false},       /* REX, and then another prefix */
      {"66 c5 f8 77", 0, false},
      {"c4 e9 71 00 c2", 0, false}, /* a map that there is not */
      {"0f 04", 0, false},
      {"0f ff c0", 0, false},
      {"8f c8 01", 0, false},                                        /* XOP */
      {"66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", 0, false}, /* 16 bytes */
      {"48 81 ec 98 01 00", 0, false},                               /* cut off */
      {"48", 0, false},
      {"0f", 0, false},
      {"", 0, false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t code[MOST_BYTES];
    struct hwi_instruction is;
    const size_t count = bytes_of(cases[i].hex, code);
    const bool is_known = hwi_x86_decode(&is, code, count);
    if ((is_known ? is.bytes : 0) != cases[i].bytes || (is_known && hwi_x86_is_movable(&is) != cases[i].is_movable))
      fail_msg("%s: %d bytes", cases[i].hex, is_known ? is.bytes : 0);
  }
}

/* No instruction is longer than what there is, and none reads more. */
static void test_cut_off(void **state)
{
  uint8_t code[16];
  uint32_t random = 1;
  (void)state;
  for (int i = 0; i < 2000000; i++) {
    struct hwi_instruction whole, cut;
    for (size_t k = 0; k < sizeof code; k++)
      code[k] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    if (!hwi_x86_decode(&whole, code, sizeof code))
      continue;
    assert_in_range(whole.bytes, 1, 15);
    assert_true(hwi_x86_decode(&cut, code, whole.bytes));
    assert_memory_equal(&whole, &cut, sizeof whole);
    assert_false(hwi_x86_decode(&cut, code, whole.bytes - 1u));
  }
}

/* --- detours --- */

static void test_functions_do_the_same(void **state)
{
  static const char number[] = "07 00 00 00 00 00 00 00",
                    other[] = "48 8d 44 77 05 c3"; /* lea 5(%rdi, %rsi, 2), %rax */
  static const struct detour_case cases[] = {
      {"55 48 89 e5 48 8d 04 37 5d c3", number},          /* push, mov; lea (%rdi, %rsi), %rax */
      {"f3 0f 1e fa 48 8d 04 37 48 83 c0 02 c3", number}, /* after an endbr64 */
      {"48 8b 05 f9 1f 00 00 48 01 f8 c3", number},       /* mov 0x1ff9(%rip), %rax */
      {"83 3d f9 1f 00 00 07 75 04 48 89 f0 c3 48 89 f8 c3",
       number},                                           /* cmpl $7, 0x1ff9(%rip): the constant comes last */
      {"48 85 ff 74 04 48 89 f8 c3 48 89 f0 c3", number}, /* test; je, which gets longer */
      {"48 85 ff 0f 84 04 00 00 00 48 89 f8 c3 48 89 f0 c3", number}, /* je, long by itself */
      {"48 89 f8 eb 05 cc cc cc cc cc 48 01 f0 c3", number},          /* jmp: the copy ends with it */
      {"e9 fb 1f 00 00", other},                                      /* jmp to another function, and nothing else */
      {"48 83 ec 08 e8 f7 1f 00 00 48 83 c4 08 48 ff c0 c3", other},  /* sub; call; add; inc */
      {"48 89 f8 c3", number},                                        /* shorter than the patch: padding follows */
  };
  (void)state;
  check_that_they_do_the_same(cases, sizeof cases / sizeof *cases);
}

static void test_refusals(void **state)
{
  static const struct refused_case cases[] = {
      {"31 c0 48 ff c0 48 39 f8 72 f8 c3", "jumps back"},             /* jb to its second instruction */
      {"f3 0f 1e fa 48 ff c0 48 39 f8 72 f8 c3", "jumps back"},       /* to the first one after endbr64 */
      {"31 c0 48 ff c0 48 39 f8 0f 82 f4 ff ff ff c3", "jumps back"}, /* far */
      {"0f 05 c3", "cannot be moved"},
      {"48 f7 f1 90 90 c3", "cannot be moved"},
      {"31 c0 0f 04 c3", "cannot be moved"},       /* an instruction that is not known */
      {"48 89 f8 48 89 f8 0f 04 c3", "not known"}, /* later */
      {"31 c0", "another function"},               /* falls through */
      {"31 c0 48 89", "cannot be moved"},          /* the end is within an instruction */
  };
  (void)state;
  check_that_they_are_refused(cases, sizeof cases / sizeof *cases);
  const size_t bytes = place(FUNCTION_OFF, "c3");
  pages[FUNCTION_OFF + bytes + 2] = 0x55; /* the next function begins here */
  const struct hwi_code_request small = {.function = pages + FUNCTION_OFF, .bytes = bytes, .room = (uintptr_t)pages};
  assert_string_equal(hwi_code_plan(&detour, &small), "is too short for a jump");
  place(FUNCTION_OFF, "48 89 f8 48 89 f0 c3");
  const struct hwi_code_request far = {
      .function = pages + FUNCTION_OFF, .bytes = 7, .room = (uintptr_t)pages + (UINT64_C(1) << 33)};
  assert_string_equal(hwi_code_plan(&detour, &far), "is too far from free memory");
}

/* A jump to its first byte is as a call. */
static void test_jump_to_the_first_byte(void **state)
{
  (void)state;
  assert_null(plan("48 ff cf 48 85 ff 7f f8 48 89 f0 c3")); /* dec %rdi; test; jg to the begin */
}

static void test_cold_part(void **state)
{
  (void)state;
  const size_t bytes = place(FUNCTION_OFF, "48 89 f8 48 89 f0 c3"), cold_bytes = place(TARGET_OFF, "90 e9 fd df ff ff");
  struct hwi_code_request request = {.function = pages + FUNCTION_OFF,
                                     .bytes = bytes,
                                     .cold = pages + TARGET_OFF,
                                     .cold_bytes = cold_bytes,
                                     .room = (uintptr_t)pages + ROOM_OFF};
  assert_string_equal(hwi_code_plan(&detour, &request), "jumps back to its first instructions"); /* to its second one */
  place(TARGET_OFF, "90 e9 00 e0 ff ff");                                                        /* to its third one */
  assert_null(hwi_code_plan(&detour, &request));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_instructions),           cmocka_unit_test(test_cut_off),
      cmocka_unit_test(test_functions_do_the_same),  cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_jump_to_the_first_byte), cmocka_unit_test(test_cold_part),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
