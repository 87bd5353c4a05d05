/* test_cfi_damage_x86_64.c - forged and damaged call frame information
 *
 * Breaks if a target whose library has odd CFI crashes or hangs in our unwinder, or overflows a small stack there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

#include <cmocka.h>

#include "cfi_image.h"
#include "forged_rows.h"

enum { RANDOM_RUNS = 20000, MOST_MS = 200, STACK_LIMIT = 2048, PAINTED = 64 * 1024, PAINT = 0xa5 };

static uint64_t random_state = 88172645463325252u;

static uint64_t random_word(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

static void assert_row(struct hwi_frame_row row, int kind, int bp_words, int offset)
{
  assert_int_equal(row.kind, kind);
  assert_int_equal(row.bp_words, bp_words);
  assert_int_equal(row.offset, offset);
}

/* Each kind of row, from instructions written by hand. */
static void test_kinds(void **state)
{
  struct forged *forged = *state;
  assert_row(ROW(0), HWI_ROW_SP, 0, 8);
  assert_row(ROW(0x0e, 0xb0, 0x01), HWI_ROW_SP, 0, 176);     /* def_cfa_offset */
  assert_row(ROW(0x0c, 6, 16, 0x86, 2), HWI_ROW_BP, -2, 16); /* def_cfa bp; bp at CFA - 16 */
  /* a realigned frame: CFA = [bp - 8], bp in [bp] or [bp + 8]; a row cannot hold bp at any other place */
  assert_row(ROW(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0), HWI_ROW_BP_DEREF, 0, -8);
  assert_row(ROW(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 8), HWI_ROW_BP_DEREF, 1, -8);
  assert_row(ROW(0x0f, 3, 0x76, 0x78, 0x06), HWI_ROW_FULL, 0, 0);
  assert_row(ROW(0x0f, 3, 0x76, 0x78, 0x06, 0x86, 2), HWI_ROW_FULL, 0, 0);
  assert_row(ROW(0x0f, 3, 0x77, 0x18, 0x06), HWI_ROW_SP_DEREF, 0, 24); /* CFA = [sp + 24] */
  assert_row(ROW(0x0f, 4, 0x77, 0x08, 0x23, 0x10), HWI_ROW_SP, 0, 24); /* CFA = sp + 8 + 16 */
  assert_row(ROW(0x0f, 4, 0x77, 0, 0x40, 0x1a), HWI_ROW_FULL, 0, 0);   /* CFA = sp & 16 */
  assert_row(ROW(0x07, 16), HWI_ROW_OUTERMOST, 0, 0);                  /* undefined pc */
  assert_row(ROW(0x0c, 10, 0), HWI_ROW_FULL, 0, 0);                    /* CFA = r10 */
  assert_row(ROW(0x09, 6, 12), HWI_ROW_FULL, 0, 0);                    /* bp in r12 */
  assert_row(ROW(0x86, 0x81, 0x01), HWI_ROW_FULL, 0, 0);               /* bp at CFA - 8 * 129 */
  assert_row(ROW(0x86, 0x80, 0x01), HWI_ROW_SP, -128, 8);              /* bp at CFA - 8 * 128 */
  assert_row(ROW(0x90, 2), HWI_ROW_FULL, 0, 0);                        /* pc elsewhere */
  assert_row(ROW(0x0a, 0x86, 2, 0x0b), HWI_ROW_SP, 0, 8);              /* remember, restore */
  assert_row(ROW(0x86, 2, 0xc6), HWI_ROW_SP, 0, 8);                    /* restore bp as at the entry */
  assert_row(ROW(0x2e, 0x90, 0x01, 0x0e, 16), HWI_ROW_SP, 0, 16);      /* args_size changes nothing */
  assert_row(ROW(0x41, 0x0e, 16), HWI_ROW_SP, 0, 8);                   /* after pc */
  assert_row(ROW(0x0b), HWI_ROW_NONE, 0, 0);                           /* nothing to restore */
  assert_row(ROW(0x3f), HWI_ROW_NONE, 0, 0);                           /* unknown */
  assert_row(ROW(0x0e, 0x80), HWI_ROW_NONE, 0, 0);                     /* cut off */
  assert_row(row_of(forged, "zRQ", (const uint8_t[]){0}, 1), HWI_ROW_NONE, 0, 0);
  assert_row(row_of(forged, "zRS", (const uint8_t[]){0}, 1), HWI_ROW_FULL, 0, 0); /* a signal frame without ucontext */
}

/* Only the code that the FDE covers. */
static void test_bounds(void **state)
{
  struct forged *forged = *state;
  ROW(0);
  uintptr_t start = forged_start(forged);
  assert_int_equal(hwi_cfi_row(&forged->module, start - 1, NULL).kind, HWI_ROW_NONE);
  assert_int_equal(hwi_cfi_row(&forged->module, start + FORGED_FUNCTION_BYTES - 1, NULL).kind, HWI_ROW_SP);
  assert_int_equal(hwi_cfi_row(&forged->module, start + FORGED_FUNCTION_BYTES, NULL).kind, HWI_ROW_NONE);
  assert_int_equal(hwi_cfi_row(&forged->module, UINTPTR_MAX, NULL).kind, HWI_ROW_NONE);
}

static uint8_t *drop_table(struct forged *forged)
{
  uint8_t *header = (uint8_t *)forged->module.eh_frame_hdr;
  header[2] = header[3] = 0xff;
  memset(header + 8, 0xff, FORGED_HEADER - 8);
  return header;
}

/* No table: .eh_frame is walked, and gives the same. */
static void test_walk_without_table(void **state)
{
  struct forged *forged = *state;
  ROW(0x0e, 0x30);
  uint8_t *header = drop_table(forged);
  assert_row(hwi_cfi_row(&forged->module, forged_start(forged), NULL), HWI_ROW_SP, 0, 48);
  forged_put_word(header + FORGED_HEADER, 0); /* a length of 0 ends .eh_frame */
  assert_row(hwi_cfi_row(&forged->module, forged_start(forged), NULL), HWI_ROW_NONE, 0, 0);
}

/* CPU time of this process: other processes may use the CPU meanwhile. */
static double elapsed_ms(const struct timespec *from)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)(now.tv_sec - from->tv_sec) * 1e3 + (double)(now.tv_nsec - from->tv_nsec) / 1e6;
}

static void assert_ends(struct forged *forged, const uint8_t *code, size_t size)
{
  struct timespec from;
  forged_function(forged, "zR", code, size);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  forged_read(forged, forged_start(forged));
  assert_true(elapsed_ms(&from) < MOST_MS);
}

/* CFI that would run for ever, or nest deeper than there is room. */
static void test_endless(void **state)
{
  static uint8_t code[FORGED_SEGMENT];
  struct forged *forged = *state;
  assert_ends(forged, (const uint8_t[]){0x0f, 3, 0x2f, 0xfd, 0xff}, 5);       /* skips to itself */
  assert_ends(forged, (const uint8_t[]){0x0f, 4, 0x31, 0x28, 0xfc, 0xff}, 6); /* always jumps back */
  assert_ends(forged, (const uint8_t[]){0x0f, 4, 0x31, 0x2f, 0xfc, 0xff}, 6); /* pushes for ever */
  assert_ends(forged, code, sizeof code);                                     /* only nops */
  memset(code, 0x0a, sizeof code);
  assert_ends(forged, code, sizeof code); /* remembers for ever */
  assert_int_equal(hwi_cfi_row(&forged->module, forged_start(forged), NULL).kind, HWI_ROW_NONE);
  for (size_t i = 0; i + 5 < sizeof code; i += 6)
    memcpy(code + i, (const uint8_t[]){0x10, i / 6 % 17, 3, 0x2f, 0xfd, 0xff}, 6);
  assert_ends(forged, code, sizeof code); /* an endless expression for each register */
}

/* A segment full of CIEs and FDEs that refer to one another, without a table to search. */
static void test_long_walk(void **state)
{
  struct forged *forged = *state;
  struct timespec from;
  uint8_t *at = forged_begin(forged, FORGED_SEGMENT);
  memcpy(at, (const uint8_t[]){1, 0x1b, 0xff, 0xff, 0, 0, 0, 0}, 8);
  for (uint32_t i = 8; i + 8 <= FORGED_SEGMENT; i += 8) {
    forged_put_word(at + i, 4);
    forged_put_word(at + i + 4, i - 4 > 8 ? 8 : 0);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  forged_read(forged, FORGED_FUNCTION);
  assert_true(elapsed_ms(&from) < MOST_MS);
}

static void test_random_code(void **state)
{
  static const uint8_t favoured[] = {0x0c, 0x0f, 0x10, 0x16, 0x0a, 0x0b, 0x86, 0x90,
                                     0x76, 0x77, 0x06, 0x22, 0x2f, 0x28, 1,    3};
  struct forged *forged = *state;
  uint8_t code[96];
  for (int run = 0; run < RANDOM_RUNS; run++) {
    size_t size = random_word() % sizeof code;
    for (size_t i = 0; i < size; i++) {
      uint64_t word = random_word();
      code[i] = word & 1 ? favoured[word >> 8 & 15] : (uint8_t)(word >> 16);
    }
    forged_function(forged, run & 1 ? "zR" : "zRS", code, size);
    forged_read(forged, forged_start(forged) + random_word() % FORGED_FUNCTION_BYTES);
  }
}

static void test_random_bytes(void **state)
{
  struct forged *forged = *state;
  for (int run = 0; run < RANDOM_RUNS; run++) {
    size_t size = 1 + random_word() % 512;
    uint8_t *at = forged_begin(forged, size);
    for (size_t i = 0; i < size; i++)
      at[i] = (uint8_t)random_word();
    if (run & 3)
      memcpy(at, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, size < 4 ? size : 4);
    if (run & 1 && size > 12)
      forged_put_word(at + 8, (uint32_t)(random_word() % (size / 8)));
    forged_read(forged, forged->module.eh_frame_hdr + random_word() % (1 << 20) - (1 << 19));
  }
}

/* The CFI of a real library with bytes flipped. */
static void test_flipped(void **state)
{
  struct forged *forged = *state;
  struct image image;
  assert_true(image_open(&image, HW_LIBRARIES "libz.so.1"));
  size_t size = 12 + 8 * image_function_count(&image) + 8192;
  uint8_t *at = forged_begin(forged, size);
  uintptr_t distance = forged->module.eh_frame_hdr - image.module.eh_frame_hdr;
  for (int run = 0; run < RANDOM_RUNS; run++) {
    if (run % 64 == 0)
      memcpy(at, (const void *)image.module.eh_frame_hdr, size);
    at[random_word() % (run & 1 ? 64 : size)] ^= (uint8_t)(1 << random_word() % 8);
    uint32_t i = (uint32_t)(random_word() % image_function_count(&image));
    forged_read(forged, image_function(&image, i) + distance + random_word() % 64);
  }
  image_close(&image);
}

/* Wrong program headers. */
static void test_flipped_headers(void **state)
{
  struct forged *forged = *state;
  for (int run = 0; run < RANDOM_RUNS; run++) {
    ROW(0x0e, 0x30);
    forged->header[random_word() % 176] ^= (uint8_t)(1 << random_word() % 8);
    Elf64_Phdr *load = (Elf64_Phdr *)(forged->header + sizeof(Elf64_Ehdr));
    uintptr_t low = forged->module.start + load->p_vaddr;
    /* Memory that the headers call readable cannot be checked; only false entries about the rest can be detected. */
    if (load->p_type != PT_LOAD || (low >= (uintptr_t)forged->segment && load->p_filesz <= FORGED_SEGMENT &&
                                    low + load->p_filesz <= (uintptr_t)forged->segment + FORGED_SEGMENT))
      forged_read(forged, forged_start(forged));
  }
  forged_begin(forged, 64);
}

#if defined __OPTIMIZE__ && !defined HW_SANITIZED
#define MEASURES_STACK 1
#endif

#ifdef MEASURES_STACK
static struct forged *measured;

static void read_measured(void)
{
  forged_read(measured, forged_start(measured));
}

static void read_nothing(void)
{}

/* Returns how much of a painted stack `run` wrote to. */
static size_t stack_of(void (*run)(void))
{
  static uint8_t stack[PAINTED];
  static ucontext_t back, there;
  memset(stack, PAINT, sizeof stack);
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &back;
  makecontext(&there, run, 0);
  swapcontext(&back, &there);
  size_t untouched = 0;
  while (stack[untouched] == PAINT)
    untouched++;
  return sizeof stack - untouched;
}

/* The deepest paths: remembered rules, expressions for the CFA and for registers, a signal frame that is tried. */
static void test_stack(void **state)
{
  uint8_t code[] = {0x0a, 0x0a, 0x0a, 0x0a, 0x0f, 3, 0x77, 8,    0x06, 0x10, 6,    2, 0x77,
                    8,    0x16, 3,    3,    0x77, 8, 0x06, 0x10, 16,   2,    0x77, 16};
  size_t nothing = stack_of(read_nothing), most = 0;
  measured = *state;
  for (int i = 0; i < 2; i++) {
    forged_function(measured, i ? "zRS" : "zR", code, sizeof code);
    size_t used = stack_of(read_measured) - nothing;
    most = used > most ? used : most;
  }
  print_message("%zu bytes of stack\n", most);
  assert_true(most > 512 && most < STACK_LIMIT);
}
#endif

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_walk_without_table),
      cmocka_unit_test(test_endless),      cmocka_unit_test(test_long_walk), cmocka_unit_test(test_random_code),
      cmocka_unit_test(test_random_bytes), cmocka_unit_test(test_flipped),   cmocka_unit_test(test_flipped_headers),
#ifdef MEASURES_STACK
      cmocka_unit_test(test_stack),
#endif
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
