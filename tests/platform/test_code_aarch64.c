/* test_code_aarch64.c - breaks if a detour changes what a function does, or if code that must stay as it is gets one */
#include "detours.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>

#include "platform/code/aarch64.h"

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif
#ifndef HWCAP2_BTI
#define HWCAP2_BTI (1 << 17)
#endif

/* Reads words of 4 bytes. */
static size_t bytes_of(const char *text, uint8_t *to)
{
  size_t count = 0;
  uint32_t word;
  for (int used; sscanf(text, " %8" SCNx32 "%n", &word, &used) == 1; text += used, count += sizeof word)
    memcpy(to + count, &word, sizeof word);
  return count;
}

/* --- distances, and what can be moved --- */

static void test_instructions(void **state)
{
  static const struct {
    uint32_t word;
    bool is_movable;
    enum hwi_arm64_kind kind;
    int64_t distance; /* from an address at the begin of a page */
  } cases[] = {
      {0x14000800, true, HWI_ARM64_JUMP, 0x2000},     /* b .+0x2000 */
      {0x17fffffe, true, HWI_ARM64_JUMP, -8},         /* b .-8 */
      {0x16000000, true, HWI_ARM64_JUMP, -(1 << 27)}, /* the farthest one, as below */
      {0x94000002, false, HWI_ARM64_CALL, 8},         /* bl .+8 */
      {0x97fffffe, false, HWI_ARM64_CALL, -8},        /* bl .-8 */
      {0x54000040, true, HWI_ARM64_JUMP_IF, 8},       /* b.eq .+8 */
      {0x54ffffc8, true, HWI_ARM64_JUMP_IF, -8},      /* b.hi .-8 */
      {0x54800000, true, HWI_ARM64_JUMP_IF, -(1 << 20)},
      {0xb4000060, true, HWI_ARM64_JUMP_IF, 12}, /* cbz x0, .+12 */
      {0x35000040, true, HWI_ARM64_JUMP_IF, 8},  /* cbnz w0, .+8 */
      {0x34800000, true, HWI_ARM64_JUMP_IF, -(1 << 20)},
      {0x37080040, true, HWI_ARM64_JUMP_IF, 8},  /* tbnz w0, #1, .+8 */
      {0xb70fffe0, true, HWI_ARM64_JUMP_IF, -4}, /* tbnz x0, #33, .-4 */
      {0x36040000, true, HWI_ARM64_JUMP_IF, -(1 << 15)},
      {0x10010002, true, HWI_ARM64_ADDRESS, 0x2000}, /* adr x2, .+0x2000 */
      {0x10ffffe2, true, HWI_ARM64_ADDRESS, -4},     /* adr x2, .-4 */
      {0x30000002, true, HWI_ARM64_ADDRESS, 1},      /* adr x2, .+1 */
      {0x10800000, true, HWI_ARM64_ADDRESS, -(1 << 20)},
      {0xd0000002, true, HWI_ARM64_PAGE, 0x2000},  /* adrp x2, two pages further */
      {0xf0ffffe2, true, HWI_ARM64_PAGE, -0x1000}, /* adrp x2, the page before */
      {0x90800000, true, HWI_ARM64_PAGE, -(INT64_C(1) << 32)},
      {0x58000040, false, HWI_ARM64_LOAD, 8},  /* ldr x0, .+8 */
      {0x18ffffc0, false, HWI_ARM64_LOAD, -8}, /* ldr w0, .-8 */
      {0x98000083, false, HWI_ARM64_LOAD, 16}, /* ldrsw x3, .+16 */
      {0xd8000040, false, HWI_ARM64_LOAD, 8},  /* prfm pldl1keep, .+8 */
      {0x1c000040, false, HWI_ARM64_LOAD, 8},  /* ldr s0, .+8 */
      {0x9c000040, false, HWI_ARM64_LOAD, 8},  /* ldr q0, .+8 */
      {0x9c800000, false, HWI_ARM64_LOAD, -(1 << 20)},
      {0xd503201f, true, HWI_ARM64_OTHER, 0},  /* nop */
      {0xd503245f, true, HWI_ARM64_OTHER, 0},  /* bti c */
      {0xd503249f, true, HWI_ARM64_OTHER, 0},  /* bti j */
      {0xd503233f, true, HWI_ARM64_OTHER, 0},  /* paciasp */
      {0xd503237f, true, HWI_ARM64_OTHER, 0},  /* pacibsp */
      {0xd53bd042, true, HWI_ARM64_OTHER, 0},  /* mrs x2, tpidr_el0 */
      {0xd61f0200, true, HWI_ARM64_OTHER, 0},  /* br x16 */
      {0xd65f03c0, true, HWI_ARM64_OTHER, 0},  /* ret */
      {0xa9bf7bfd, true, HWI_ARM64_OTHER, 0},  /* stp x29, x30, [sp, #-16]! */
      {0x6cc127e8, true, HWI_ARM64_OTHER, 0},  /* ldp d8, d9, [sp], #16 */
      {0xd10043ff, true, HWI_ARM64_OTHER, 0},  /* sub sp, sp, #16 */
      {0xf90007e0, true, HWI_ARM64_OTHER, 0},  /* str x0, [sp, #8] */
      {0xf8408c20, true, HWI_ARM64_OTHER, 0},  /* ldr x0, [x1, #8]! */
      {0xf85f8020, true, HWI_ARM64_OTHER, 0},  /* ldur x0, [x1, #-8] */
      {0xf8626820, true, HWI_ARM64_OTHER, 0},  /* ldr x0, [x1, x2] */
      {0x3d800420, true, HWI_ARM64_OTHER, 0},  /* str q0, [x1, #16] */
      {0x6f00e400, true, HWI_ARM64_OTHER, 0},  /* movi v0.2d, #0 */
      {0xaa0103e0, true, HWI_ARM64_OTHER, 0},  /* mov x0, x1 */
      {0xd28000a0, true, HWI_ARM64_OTHER, 0},  /* mov x0, #5 */
      {0xf2a000e0, true, HWI_ARM64_OTHER, 0},  /* movk x0, #7, lsl #16 */
      {0x92401c00, true, HWI_ARM64_OTHER, 0},  /* and x0, x0, #255 */
      {0xd3431800, true, HWI_ARM64_OTHER, 0},  /* ubfx x0, x0, #3, #4 */
      {0x93c10c20, true, HWI_ARM64_OTHER, 0},  /* extr x0, x1, x1, #3 */
      {0x9ac10800, true, HWI_ARM64_OTHER, 0},  /* udiv x0, x0, x1 */
      {0xdac01020, true, HWI_ARM64_OTHER, 0},  /* clz x0, x1 */
      {0x9b020c20, true, HWI_ARM64_OTHER, 0},  /* madd x0, x1, x2, x3 */
      {0x9a820020, true, HWI_ARM64_OTHER, 0},  /* csel x0, x1, x2, eq */
      {0xfa411000, true, HWI_ARM64_OTHER, 0},  /* ccmp x0, x1, #0, ne */
      {0x9a020020, true, HWI_ARM64_OTHER, 0},  /* adc x0, x1, x2 */
      {0xd63f0060, false, HWI_ARM64_OTHER, 0}, /* blr x3 */
      {0xd69f03e0, false, HWI_ARM64_OTHER, 0}, /* eret */
      {0xd4000001, false, HWI_ARM64_OTHER, 0}, /* svc #0 */
      {0xd4200020, false, HWI_ARM64_OTHER, 0}, /* brk #1 */
      {0x00000000, false, HWI_ARM64_OTHER, 0}, /* udf #0 */
      {0xd50323bf, false, HWI_ARM64_OTHER, 0}, /* autiasp */
      {0xdac103fe, false, HWI_ARM64_OTHER, 0}, /* pacia x30, sp */
      {0xf380001f, false, HWI_ARM64_OTHER, 0}, /* autiasppc, with a distance: later than these tables */
      {0xc85f7c20, false, HWI_ARM64_OTHER, 0}, /* ldxr x0, [x1] */
      {0xf8200041, false, HWI_ARM64_OTHER, 0}, /* ldadd x0, x1, [x2] */
      {0xd5033bbf, false, HWI_ARM64_OTHER, 0}, /* dmb ish */
      {0xd53b4200, false, HWI_ARM64_OTHER, 0}, /* mrs x0, nzcv */
  };
  static const uintptr_t page = UINT64_C(0x7f40001000);
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hwi_instruction is;
    if (!hwi_arm64_decode(&is, cases[i].word) || is.kind != cases[i].kind ||
        hwi_arm64_is_movable(&is) != cases[i].is_movable ||
        hwi_arm64_target(&is, page) != page + (uintptr_t)cases[i].distance)
      fail_msg("%08" PRIx32, cases[i].word);
  }
}

/* A later extension may jump by them. */
static void test_unknown_instructions(void **state)
{
  static const uint32_t words[] = {0x55000000, 0x5500001f, 0x74000040, 0xd6000000, 0xd7000000, 0x02000000, 0x06000000};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    struct hwi_instruction is;
    if (hwi_arm64_decode(&is, words[i]))
      fail_msg("%08" PRIx32, words[i]);
  }
}

/* --- detours --- */

static const char number[] = "00000007 00000000", other[] = "8b010400 d65f03c0"; /* add x0, x0, x1, lsl #1 */

static void test_functions_do_the_same(void **state)
{
  static const struct detour_case cases[] = {
      {"8b010000 d65f03c0", number},                            /* add x0, x0, x1 */
      {"d10043ff f90007e0 f94007e0 910043ff d65f03c0", number}, /* sub sp; str; ldr; add sp */
      {"d65f03c0", number},                                     /* ret, and nothing else */
      {"d53bd042 ca020042 8b020000 d65f03c0", number},          /* mrs x2, tpidr_el0; eor x2, x2, x2; add */
      {"d0000002 f9400042 8b020000 d65f03c0", number},          /* adrp x2; ldr x2, [x2]; add x0, x0, x2 */
      {"10010002 f9400042 8b020000 d65f03c0", number},          /* adr x2; the same */
      {"b4000060 8b010000 d65f03c0 d1000c20 d65f03c0", number}, /* cbz x0; add; ret; sub x0, x1, #3 */
      {"35000040 aa0103e0 d65f03c0", number},                   /* cbnz w0; mov x0, x1 */
      {"36000060 8b010000 d65f03c0 91002420 d65f03c0", number}, /* tbz w0, #0; add; ret; add x0, x1, #9 */
      {"37080040 aa0103e0 d65f03c0", number},                   /* tbnz w0, #1; mov x0, x1 */
      {"14000800", other},                                      /* b to another function, and nothing else */
      {"b4010000 8b010000 d65f03c0", other},                    /* cbz x0 to another one */
  };
  (void)state;
  check_that_they_do_the_same(cases, sizeof cases / sizeof *cases);
}

static const struct detour_case with_pads[] = {
    {"d503245f 8b010000 91000800 d65f03c0", number},                            /* bti c; add; add x0, x0, #2 */
    {"d50324df 8b010000 d65f03c0", number},                                     /* bti jc; add */
    {"d503245f b4000060 8b010000 d65f03c0 d1000c20 d65f03c0", number},          /* bti c; cbz x0 */
    {"d503233f a9bf7bfd 910003fd 8b010000 a8c17bfd d50323bf d65f03c0", number}, /* paciasp to autiasp */
    {"d503237f a9bf7bfd 910003fd 8b010000 a8c17bfd d50323ff d65f03c0", number}, /* pacibsp to autibsp */
    {"d503245f d503233f a9bf7bfd 910003fd 8b010000 a8c17bfd d50323bf d65f03c0", number}, /* both */
};

static void test_landing_pads(void **state)
{
  (void)state;
  check_that_they_do_the_same(with_pads, sizeof with_pads / sizeof *with_pads);
}

static sigjmp_buf before;

static void leave(int number_of_signal)
{
  siglongjmp(before, number_of_signal);
}

/* Calls by address go only to landing pads there: those of functions and of originals are. */
static void test_guarded_pages(void **state)
{
  uint8_t *const usual = pages;
  (void)state;
  if (!(getauxval(AT_HWCAP2) & HWCAP2_BTI) || map_pages(PROT_BTI))
    skip();
  signal(SIGILL, leave);
  place(FUNCTION_OFF, "8b010000 d65f03c0");
  if (sigsetjmp(before, 1) == 0) {
    call(1, 2);
    fail_msg("nothing is guarded");
  }
  signal(SIGILL, SIG_DFL);
  check_that_they_do_the_same(with_pads, sizeof with_pads / sizeof *with_pads);
  munmap(pages, PAGES_BYTES);
  pages = usual;
}

static void test_refusals(void **state)
{
  static const struct refused_case cases[] = {
      {"d503245f 8b010000 b5ffffe0 d65f03c0", "jumps back"},          /* bti c; add; cbnz x0 to the add */
      {"d503233f a9bf7bfd b5ffffe0 d65f03c0", "jumps back"},          /* paciasp; stp; cbnz x0 to the stp */
      {"d503245f 8b010000 17ffffff d65f03c0", "jumps back"},          /* b */
      {"d503245f 8b010000 d503201f 97fffffe d65f03c0", "jumps back"}, /* bl */
      {"94000800 d65f03c0", "cannot be moved"},                       /* bl */
      {"58000040 d65f03c0 00000007 00000000", "cannot be moved"},     /* ldr x0, .+8 */
      {"d63f0060 d65f03c0", "cannot be moved"},                       /* blr x3 */
      {"d4000001 d65f03c0", "cannot be moved"},                       /* svc */
      {"74000040 d65f03c0", "cannot be moved"},                       /* not known */
      {"8b010000 74000040 d65f03c0", "not known"},                    /* later */
      {"d503245f", "another function"},                               /* falls through */
      {"", "another function"},
  };
  (void)state;
  check_that_they_are_refused(cases, sizeof cases / sizeof *cases);
  struct hwi_code_request cut = request_of("8b010000 d65f03c0");
  cut.bytes -= 2;
  assert_string_equal(hwi_code_plan(&detour, &cut), "has an instruction that is not known here");
}

/* Nothing is written, so that there need not be memory. */
static void test_rooms_that_are_too_far(void **state)
{
  static const uintptr_t reach = UINT64_C(1) << 27;
  struct hwi_code_request request = request_of("8b010000 d65f03c0");
  const uintptr_t function = (uintptr_t)request.function;
  (void)state;
  assert_in_range(hwi_code_near_bytes(), reach / 2, reach - (1 << 20));
  request.room = function + reach;
  assert_string_equal(hwi_code_plan(&detour, &request), "is too far from free memory");
  request.room = function + (reach << 3); /* the upper bits of the distance have no place */
  assert_string_equal(hwi_code_plan(&detour, &request), "is too far from free memory");
  request.room = function - reach + HWI_CODE_ROOM_BYTES;
  assert_null(hwi_code_plan(&detour, &request));
  request = request_of("16000000"); /* b .-0x8000000, which a room after it does not reach */
  assert_string_equal(hwi_code_plan(&detour, &request), "is too far from free memory");
  request = request_of("8b010000 d65f03c0");
  request.room = function - reach; /* the way there is longer than the way back */
  assert_null(hwi_code_plan(&detour, &request));
  request.room = function - reach - 16;
  assert_string_equal(hwi_code_plan(&detour, &request), "is too far from free memory");
}

/* A jump to the first instruction is as a call. */
static void test_jump_to_the_first_instruction(void **state)
{
  (void)state;
  assert_null(plan("f1000400 54ffffec aa0103e0 d65f03c0")); /* subs x0, x0, #1; b.gt to the begin; mov x0, x1 */
  assert_null(plan("d503245f f1000400 54ffffcc d65f03c0")); /* bti c; the same */
}

static void test_cold_part(void **state)
{
  (void)state;
  struct hwi_code_request request = request_of("d503245f 8b010000 d65f03c0");
  request.cold = pages + TARGET_OFF;
  request.cold_bytes = place(TARGET_OFF, "d503201f 17fff800");
  assert_string_equal(hwi_code_plan(&detour, &request), "jumps back to its first instructions"); /* to the add */
  place(TARGET_OFF, "d503201f 17fff801");                                                        /* after it */
  assert_null(hwi_code_plan(&detour, &request));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_instructions),
      cmocka_unit_test(test_unknown_instructions),
      cmocka_unit_test(test_functions_do_the_same),
      cmocka_unit_test(test_landing_pads),
      cmocka_unit_test(test_guarded_pages),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_rooms_that_are_too_far),
      cmocka_unit_test(test_jump_to_the_first_instruction),
      cmocka_unit_test(test_cold_part),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
