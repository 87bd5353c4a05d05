/* test_leak_rules.c - which blocks are reached, and of which kind the leaks are
 *
 * Breaks if memory that is a root is not read, or if memory that is none is: then leaks are reported that are none, or are
 * missed. Also if direct leaks, indirect ones and cycles are confused.
 */
#include <elf.h>

#include "base/own_memory.h"
#include "made_memory.h"

/* --- roots --- */

static void test_roots(void **state)
{
  (void)state;
  const uint64_t places[] = {DATA,  DATA + PAGE - 8, BSS,           BSS + 8,        MAPPED,           CONST,
                             LOCAL, STACK_POINTER,   STACK + 0xff8, THREAD_POINTER, HEAP + PAGE - 64, BSS + PAGE - 8};
  enum { PLACES = sizeof places / sizeof *places };
  uint64_t blocks[PLACES];
  struct made made;
  made_init(&made, PAGE);
  for (size_t i = 0; i < PLACES; i++) {
    blocks[i] = made_live(&made, 48);
    made_set(&made, places[i], blocks[i]);
  }
  const uint64_t in_register = made_live(&made, 48), no_register = made_live(&made, 48);
  made.memory.threads[0].registers[2] = in_register;
  made.memory.threads[0].registers[3] = no_register; /* behind the last one */
  made_leaks(&made);
  for (size_t i = 0; i < PLACES; i++)
    assert_int_equal(made_marks(&made, blocks[i]), HWI_MARK_REACHED);
  assert_int_equal(made_marks(&made, in_register), HWI_MARK_REACHED);
  assert_true(made_is_leak(&made, no_register));
  assert_int_equal(made.leaks.reached.blocks, PLACES + 1);
  assert_int_equal(made.leaks.by_interior.blocks, 0);
  made_release(&made);
}

static void test_no_roots(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t block = made_live(&made, 48), other = made_live(&made, 48),
                 own = made_block(&made, 48, HWI_CORE_BLOCK_OWN);
  made_set(&made, CODE, block);              /* of a file, and not writable */
  made_set(&made, block - 8, block);         /* a header */
  made_set(&made, own + 8, block);           /* the allocator's block */
  made_set(&made, MAPPED + 64, block);       /* an arena */
  made_set(&made, MAPPED + 64 + 792, other); /* its last word */
  struct hwi_core_heap_part *part = hwi_core_heap_add_part(&made.heap, HWI_CORE_GLIBC, "arena", MAPPED + 64);
  part->own_bytes = 800;
  made_leaks(&made);
  assert_int_equal(made_marks(&made, block), 0);
  assert_int_equal(made_marks(&made, other), 0);
  assert_int_equal(made.leaks.sums[HWI_LEAK_DIRECT].blocks, 2);
  made_release(&made);
}

/* The recorder's caches have addresses of blocks; the list of them is at DATA of its library. */
static void test_recorder_is_no_root(void **state)
{
  (void)state;
  static const uint64_t library = 0x60000, caches = 0x70000;
  for (int wrong = 0; wrong < 3; wrong++) {
    struct made made;
    made_init(&made, PAGE);
    made_region(&made, library, PAGE, true, "/usr/lib/libheapwright-record.so");
    made_region(&made, caches, PAGE, true, NULL);
    hwi_memory_finish(&made.memory);
    const uint64_t block = made_live(&made, 48), before = made_live(&made, 48), behind = made_live(&made, 48);
    const struct hwi_region *region = hwi_memory_region(&made.memory, library);
    memcpy((unsigned char *)(uintptr_t)region->bytes + 64, HWI_OWN_MEMORY_MARK, HWI_OWN_MEMORY_MARK_BYTES);
    made_set(&made, library + 80, wrong == 1 ? 0x999000 : library + 512); /* the ranges */
    made_set(&made, library + 88, wrong == 2 ? UINT64_MAX / 16 : 2);      /* their count */
    made_set(&made, library + 512, caches + 64);
    made_set(&made, library + 520, 128);
    made_set(&made, library + 528, caches + 640);
    made_set(&made, library + 536, UINT64_MAX); /* forged */
    made_set(&made, caches + 56, before);
    made_set(&made, caches + 64, block);
    made_set(&made, caches + 192, behind);
    made_leaks(&made);
    assert_int_equal(made_is_leak(&made, block), wrong == 0);
    assert_false(made_is_leak(&made, before));
    assert_false(made_is_leak(&made, behind));
    made_release(&made);
  }
}

static void test_around_own(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t before = made_live(&made, 48), behind = made_live(&made, 48);
  made_set(&made, MAPPED + 56, before);
  made_set(&made, MAPPED + 64 + 800, behind);
  hwi_core_heap_add_part(&made.heap, HWI_CORE_GLIBC, "arena", MAPPED + 64)->own_bytes = 800;
  made_leaks(&made);
  assert_false(made_is_leak(&made, before));
  assert_false(made_is_leak(&made, behind));
  made_release(&made);
}

static void test_below_stack_pointer(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t block = made_live(&made, 48), next = made_live(&made, 48), held = made_live(&made, 48);
  made_set(&made, STACK_POINTER - 8, block + 8);
  made_set(&made, block, next);
  made_set(&made, next, held);
  made_set(&made, STACK_POINTER - 16, held);
  made_set(&made, STACK_POINTER, held);
  made_leaks(&made);
  assert_int_equal(made_marks(&made, block), HWI_MARK_FROM_BELOW);
  assert_int_equal(made_marks(&made, next), HWI_MARK_FROM_BELOW | HWI_MARK_FROM_LEAK | HWI_MARK_INDIRECT);
  assert_int_equal(made_marks(&made, held), HWI_MARK_REACHED);
  assert_int_equal(made.leaks.from_below.blocks, 2);
  assert_int_equal(made.leaks.from_below.bytes, 96);
  made_release(&made);
}

/* A signal handler may run on a stack in data of the program: what is below it there is data. */
static void test_stack_in_data(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t block = made_live(&made, 48), in_bss = made_live(&made, 48), in_block = made_live(&made, 48);
  made.memory.threads[0].stack_pointer = DATA + 512;
  made_thread(&made, &(struct hwi_memory_thread){.tid = TID + 1, .stack_pointer = BSS + 512});
  made_thread(&made, &(struct hwi_memory_thread){.tid = TID + 2, .stack_pointer = block + 16});
  made_set(&made, DATA, block);
  made_set(&made, BSS, in_bss);
  made_set(&made, HEAP, in_block);
  made_set(&made, HEAP + PAGE - 8, in_block);
  made_leaks(&made);
  assert_int_equal(made.leaks.reached.blocks, 3);
  made_release(&made);
}

/* Of two stacks in one region, nothing above the lower stack pointer is given up. */
static void test_two_stacks(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t between = made_live(&made, 48), below = made_live(&made, 48);
  made_thread(&made, &(struct hwi_memory_thread){.tid = TID + 1, .stack_pointer = STACK + 0x403});
  made_set(&made, STACK + 0x400, between);
  made_set(&made, STACK + 0x3f8, below);
  made_leaks(&made);
  assert_int_equal(made_marks(&made, between), HWI_MARK_REACHED);
  assert_int_equal(made_marks(&made, below), HWI_MARK_FROM_BELOW);
  made_release(&made);
}

static void be_of(struct made *made, unsigned elf_machine)
{
  made->memory.threads[0].machine = hwi_machine_of(elf_machine, sizeof(uint64_t));
  assert_non_null(made->memory.threads[0].machine);
}

/* The stack of a thread that has ended: its description, at the end, has its own address twice. What is in it is
 * reached, as the library uses it again. */
static void test_kept_stack(void **state)
{
  (void)state;
  enum { DESCRIPTION = MAPPED + 0x700 };
  static const uint64_t of_live[] = {0, DESCRIPTION};
  for (int i = 0; i < 2; i++) {
    struct made made;
    made_init(&made, PAGE);
    be_of(&made, EM_X86_64);
    const uint64_t block = made_live(&made, 48), behind = made_live(&made, 48);
    made_set(&made, MAPPED + 8, block);
    made_set(&made, DESCRIPTION, DESCRIPTION);
    made_set(&made, DESCRIPTION + 16, DESCRIPTION);
    made_set(&made, DESCRIPTION + 8, behind);
    if (of_live[i]) /* its stack pointer is elsewhere, such as on a stack for signals */
      made_thread(&made, &(struct hwi_memory_thread){.tid = 77, .thread_pointer = of_live[i]});
    made_leaks(&made);
    assert_int_equal(made_marks(&made, block), of_live[i] ? HWI_MARK_REACHED : HWI_MARK_FROM_BELOW);
    assert_int_equal(made_marks(&made, behind), HWI_MARK_REACHED);
    made_release(&made);
  }
}

/* Other data may have its own address, too; and on other CPUs, a description has none. */
static void test_no_kept_stack(void **state)
{
  (void)state;
  static const struct {
    uint64_t vector, place;
    unsigned machine;
  } cases[] = {{0, MAPPED + 0x700, EM_X86_64},
               {16, MAPPED + 0x700, EM_X86_64},
               {HEAP, MAPPED + 0x708, EM_X86_64},
               {HEAP, MAPPED + 0x700, EM_AARCH64}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct made made;
    const uint64_t place = cases[i].place;
    made_init(&made, PAGE);
    be_of(&made, cases[i].machine);
    const uint64_t block = made_live(&made, 48);
    made_set(&made, MAPPED + 8, block);
    made_set(&made, place, place);
    made_set(&made, place + 8, cases[i].vector);
    made_set(&made, place + 16, place);
    made_leaks(&made);
    assert_int_equal(made_marks(&made, block), HWI_MARK_REACHED);
    made_release(&made);
  }
}

/* An image without threads says nothing about which have ended. */
static void test_kept_stack_without_threads(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t block = made_live(&made, 48);
  made.memory.thread_count = 0;
  made_set(&made, MAPPED + 0x708, HEAP);
  made_set(&made, MAPPED + 8, block);
  made_set(&made, MAPPED + 0x700, MAPPED + 0x700);
  made_set(&made, MAPPED + 0x710, MAPPED + 0x700);
  made_leaks(&made);
  assert_false(made_is_leak(&made, block));
  made_release(&made);
}

/* --- references --- */

static void test_chain(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t last = made_live(&made, 40), middle = made_live(&made, 40), first = made_live(&made, 40);
  made_set(&made, DATA, first);
  made_set(&made, first + 32, middle); /* the last word */
  made_set(&made, middle, last);
  made_set(&made, last, first);
  made_leaks(&made);
  assert_int_equal(made.leaks.reached.blocks, 3);
  assert_int_equal(made.leaks.reached.bytes, 120);
  assert_int_equal(made.leaks.group_count, 0);
  made_release(&made);
}

static void test_interior(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t first = made_live(&made, 40), next = made_live(&made, 40), both = made_live(&made, 40),
                 end = made_live(&made, 40);
  made_set(&made, DATA, first + 39);
  made_set(&made, first, next);
  made_set(&made, DATA + 8, both + 8);
  made_set(&made, DATA + 16, both);
  made_set(&made, DATA + 24, end + 40);
  made_leaks(&made);
  assert_int_equal(made_marks(&made, first), HWI_MARK_INTERIOR | HWI_MARK_BY_INTERIOR);
  assert_int_equal(made_marks(&made, next), HWI_MARK_BY_INTERIOR);
  assert_true(made_marks(&made, both) & HWI_MARK_REACHED);
  assert_false(made_marks(&made, both) & HWI_MARK_BY_INTERIOR);
  assert_true(made_is_leak(&made, end));
  assert_int_equal(made.leaks.by_interior.blocks, 2);
  assert_int_equal(made.leaks.reached.blocks, 3);
  made_release(&made);
}

/* An interior reference in one chain matters not if another has none. */
static void test_interior_in_one_chain(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t a = made_live(&made, 40), b = made_live(&made, 40), c = made_live(&made, 40);
  made_set(&made, DATA, a + 8);
  made_set(&made, a, c);
  made_set(&made, DATA + 8, b);
  made_set(&made, b, c);
  made_leaks(&made);
  assert_true(made_marks(&made, c) & HWI_MARK_REACHED);
  assert_true(made_marks(&made, a) & HWI_MARK_BY_INTERIOR);
  assert_int_equal(made.leaks.by_interior.blocks, 1);
  made_release(&made);
}

static void test_unaligned_words_are_none(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t block = made_live(&made, 40);
  made_set(&made, DATA + 12, block);
  made_leaks(&made);
  assert_true(made_is_leak(&made, block));
  made_release(&made);
}

/* A block need not begin where a word does. */
static void test_words_of_odd_block(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t block = made_live(&made, 40);
  made.next = HEAP + 0x104;
  const uint64_t odd = made_live(&made, 44);
  made_set(&made, DATA, odd);
  made_set(&made, HEAP + 0x108, block);
  made_leaks(&made);
  assert_int_equal(made_marks(&made, block), HWI_MARK_REACHED);
  made_release(&made);
}

static void test_32_bit_other_order(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  made.memory.word_bytes = 4;
  made.memory.swaps_bytes = true;
  const uint64_t block = made_live(&made, 40), next = made_live(&made, 44), lost = made_live(&made, 44);
  made_set(&made, DATA + 4, block);
  made_set(&made, block + 4, next);
  made_set(&made, lost + 40, next + 4);
  made_leaks(&made);
  assert_int_equal(made_marks(&made, block), HWI_MARK_REACHED);
  assert_true(made_marks(&made, next) & HWI_MARK_REACHED);
  assert_true(made_is_leak(&made, lost));
  made_release(&made);
}

/* A block over two regions, of which the second one is known in part. */
static void test_part_of_block_known(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  made_region(&made, HEAP + PAGE, PAGE, true, NULL);
  hwi_memory_finish(&made.memory);
  const uint64_t a = made_live(&made, 40), b = made_live(&made, 40), c = made_live(&made, 40),
                 large = made_block_at(&made, HEAP + PAGE - 64, 2048, HWI_CORE_BLOCK_LIVE);
  made_set(&made, DATA, large);
  made_set(&made, large, a);
  made_set(&made, HEAP + PAGE, b);
  made_set(&made, HEAP + PAGE + 1024, c);
  struct hwi_region *last = &made.memory.regions[made.memory.region_count - 1];
  last->known = 1024;
  made_leaks(&made);
  assert_false(made_is_leak(&made, a));
  assert_false(made_is_leak(&made, b));
  assert_true(made_is_leak(&made, c));
  assert_int_equal(made.graph.unknown_bytes, PAGE - 1024);
  made_release(&made);
}

/* --- suppressions --- */

static bool is_known(void *context, uint32_t block)
{
  const struct made *made = ((void **)context)[0];
  return made->heap.blocks[block].address == *(const uint64_t *)((void **)context)[1];
}

static void test_suppressed_leaks_reach_others(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t known = made_live(&made, 40), next = made_live(&made, 56), shared = made_live(&made, 40),
                 other = made_live(&made, 40), of_other = made_live(&made, 40), held = made_live(&made, 40);
  made_set(&made, known, next);
  made_set(&made, next, shared + 8);
  made_set(&made, next + 8, other); /* which becomes reached */
  made_set(&made, other, of_other);
  made_set(&made, DATA, held);
  const uint64_t lost = made_live(&made, 40), of_lost = made_live(&made, 40);
  made_set(&made, lost, of_lost);
  made_set(&made, lost + 8, shared);
  made_leaks(&made);
  assert_int_equal(made.leaks.sums[HWI_LEAK_DIRECT].blocks, 2);
  assert_int_equal(made.leaks.sums[HWI_LEAK_INDIRECT].blocks, 5);
  void *context[] = {&made, (void *)(uintptr_t)&known};
  assert_int_equal(hwi_leaks_suppress(&made.leaks, &made.graph, is_known, context, &made.error), 0);
  assert_int_equal(made.leaks.suppressed.blocks, 5);
  assert_int_equal(made.leaks.reached.blocks, 1);
  assert_int_equal(made.leaks.sums[HWI_LEAK_DIRECT].blocks, 1);
  assert_int_equal(made.leaks.sums[HWI_LEAK_INDIRECT].blocks, 1);
  assert_true(made_is_leak(&made, lost) && made_is_leak(&made, of_lost));
  assert_false(made_is_leak(&made, shared) || made_is_leak(&made, of_other));
  made_release(&made);
}

/* --- free blocks --- */

static void test_from_freed(void **state)
{
  (void)state;
  static const enum hwi_core_block_state states[] = {HWI_CORE_BLOCK_FREE, HWI_CORE_BLOCK_CACHED, HWI_CORE_BLOCK_TOP};
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    struct made made;
    made_init(&made, PAGE);
    const uint64_t block = made_live(&made, 40), next = made_live(&made, 40), inside = made_live(&made, 40),
                   held = made_live(&made, 40), freed = made_block(&made, 400, states[i]);
    made_set(&made, DATA, freed); /* what refers to a free block reaches nothing over it */
    made_set(&made, freed + 16, block);
    made_set(&made, block, next + 8);
    made_set(&made, freed + 24, inside + 32); /* a header is there: of the chunk behind */
    made_set(&made, freed + 32, held);
    made_set(&made, DATA + 8, held);
    made_leaks(&made);
    assert_int_equal(made_marks(&made, block), HWI_MARK_FROM_FREED);
    assert_int_equal(made_marks(&made, next), HWI_MARK_FROM_FREED | HWI_MARK_FROM_LEAK | HWI_MARK_INDIRECT);
    assert_int_equal(made_marks(&made, inside), 0);
    assert_int_equal(made_marks(&made, held), HWI_MARK_REACHED);
    assert_int_equal(made_marks(&made, freed), 0);
    assert_int_equal(made.leaks.from_freed.blocks, 2);
    assert_int_equal(made.leaks.sums[HWI_LEAK_DIRECT].blocks, 2);
    made_release(&made);
  }
}

/* --- kinds of leaks --- */

/* Block i refers to block links[i], or to none (-1). Returns the kinds as letters. */
static void check_kinds(const int *links, const char *expected)
{
  struct made made;
  uint64_t blocks[16];
  const size_t count = strlen(expected);
  made_init(&made, PAGE);
  for (size_t i = 0; i < count; i++)
    blocks[i] = made_live(&made, 48);
  for (size_t i = 0; i < count; i++)
    if (links[i] >= 0)
      made_set(&made, blocks[i] + 16, blocks[links[i]] + (i % 2) * 8);
  made_leaks(&made);
  for (size_t i = 0; i < count; i++)
    assert_int_equal("dic"[hwi_graph_leak_kind(&made.graph, (uint32_t)i)], expected[i]);
  uint64_t sum = 0;
  for (size_t i = 0; i < made.leaks.group_count; i++)
    sum += made.leaks.groups[i].blocks;
  assert_int_equal(sum, count);
  made_release(&made);
}

#define LINKS(...) ((const int[]){__VA_ARGS__})

static void test_kinds(void **state)
{
  (void)state;
  check_kinds(LINKS(-1), "d");
  check_kinds(LINKS(0), "d");                 /* itself */
  check_kinds(LINKS(1, 2, -1), "dii");        /* a list */
  check_kinds(LINKS(-1, 0, 1), "iid");        /* the same, against the addresses */
  check_kinds(LINKS(1, 2, 0), "ccc");         /* a cycle */
  check_kinds(LINKS(1, 0, 3, 2), "cccc");     /* two */
  check_kinds(LINKS(1, 0, 0), "iid");         /* a cycle that a direct leak reaches */
  check_kinds(LINKS(1, 0, 3, 2, 2), "cciid"); /* one that is reached, and one that is not */
  check_kinds(LINKS(1, 1), "di");             /* indirect, with a reference to itself */
  check_kinds(LINKS(-1, 2, 0, 1), "iiid");    /* not in the order of addresses */
  check_kinds(LINKS(2, 0, 1, 2, 3), "iiiid");
}

/* A cycle reaches another one, which is indirect then, and a list. */
static void test_cycle_of_cycles(void **state)
{
  (void)state;
  struct made made;
  uint64_t blocks[7];
  made_init(&made, PAGE);
  for (int i = 0; i < 7; i++)
    blocks[i] = made_live(&made, 48);
  made_set(&made, blocks[0], blocks[1]), made_set(&made, blocks[1], blocks[0]);
  made_set(&made, blocks[2], blocks[3]), made_set(&made, blocks[3], blocks[2]);
  made_set(&made, blocks[3] + 8, blocks[0]); /* the second one reaches the first one */
  made_set(&made, blocks[2] + 8, blocks[4]), made_set(&made, blocks[4], blocks[5]);
  made_set(&made, blocks[5], blocks[6]), made_set(&made, blocks[6], blocks[5]);
  made_leaks(&made);
  for (uint32_t i = 0; i < 7; i++)
    assert_int_equal(hwi_graph_leak_kind(&made.graph, i), i == 2 || i == 3 ? HWI_LEAK_CYCLE : HWI_LEAK_INDIRECT);
  made_release(&made);
}

static void test_groups(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  made_live(&made, 48), made_live(&made, 48), made_live(&made, 320);
  const uint64_t direct = made_live(&made, 56), indirect = made_live(&made, 48);
  made_set(&made, direct, indirect);
  made_leaks(&made);
  static const struct hwi_leak_group expected[] = {{320, HWI_LEAK_DIRECT, 1, 2},
                                                   {48, HWI_LEAK_DIRECT, 2, 0},
                                                   {56, HWI_LEAK_DIRECT, 1, 3},
                                                   {48, HWI_LEAK_INDIRECT, 1, 4}};
  assert_int_equal(made.leaks.group_count, 4);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(made.leaks.groups[i].block_bytes, expected[i].block_bytes);
    assert_int_equal(made.leaks.groups[i].kind, expected[i].kind);
    assert_int_equal(made.leaks.groups[i].blocks, expected[i].blocks);
    assert_int_equal(made.leaks.groups[i].first, expected[i].first);
  }
  assert_int_equal(made.leaks.sums[HWI_LEAK_DIRECT].blocks, 4);
  assert_int_equal(made.leaks.sums[HWI_LEAK_DIRECT].bytes, 472);
  assert_int_equal(made.leaks.sums[HWI_LEAK_INDIRECT].bytes, 48);
  made_release(&made);
}

/* --- large heaps --- */

enum { MANY = 200000 };

/* A list from a root, a lost list and a lost ring, so long that recursion would overflow the stack. */
static void test_long_lists(void **state)
{
  (void)state;
  struct made made;
  uint64_t before[3], first[3];
  made_init(&made, (uint64_t)MANY * 3 * 48 + PAGE);
  for (int list = 0; list < 3; list++)
    made_set(&made, first[list] = before[list] = made_live(&made, 32), 0);
  for (int i = 1; i < MANY; i++)
    for (int list = 0; list < 3; list++) {
      const uint64_t block = made_live(&made, 32);
      made_set(&made, before[list] + 8, block);
      before[list] = block;
    }
  made_set(&made, DATA, first[0]);
  made_set(&made, before[2] + 8, first[2]);
  made_leaks(&made);
  assert_int_equal(made.leaks.reached.blocks, MANY);
  assert_int_equal(made.leaks.sums[HWI_LEAK_DIRECT].blocks, 1);
  assert_int_equal(made.leaks.sums[HWI_LEAK_INDIRECT].blocks, MANY - 1);
  assert_int_equal(made.leaks.sums[HWI_LEAK_CYCLE].blocks, MANY);
  made_release(&made);
}

/* --- any heap, compared with the definitions --- */

enum { NODES = 24, WORDS = 3 };

struct random_heap {
  struct made made;
  uint64_t blocks[NODES];
  bool refers[NODES][NODES]; /* a live block to another */
  bool reaches[NODES][NODES];
  bool is_root[NODES];
};

static void make_random(struct random_heap *heap, unsigned seed)
{
  srand(seed);
  made_init(&heap->made, PAGE);
  memset(heap->refers, 0, sizeof heap->refers);
  memset(heap->is_root, 0, sizeof heap->is_root);
  for (int i = 0; i < NODES; i++)
    heap->blocks[i] = made_live(&heap->made, WORDS * 8 + 16);
  for (int i = 0; i < NODES; i++)
    for (int w = 0; w < WORDS; w++)
      if (rand() % 3 == 0) {
        const int to = rand() % NODES;
        made_set(&heap->made, heap->blocks[i] + (uint64_t)w * 8, heap->blocks[to] + (uint64_t)(rand() % 2) * 8);
        heap->refers[i][to] = true;
      }
  for (int i = 0; i < NODES; i++)
    if (rand() % 10 == 0) {
      made_set(&heap->made, DATA + (uint64_t)i * 8, heap->blocks[i]);
      heap->is_root[i] = true;
    }
  memcpy(heap->reaches, heap->refers, sizeof heap->refers);
  for (int k = 0; k < NODES; k++)
    for (int i = 0; i < NODES; i++)
      for (int j = 0; j < NODES; j++)
        heap->reaches[i][j] |= heap->reaches[i][k] && heap->reaches[k][j];
}

static bool is_reached(const struct random_heap *heap, int block)
{
  bool found = heap->is_root[block];
  for (int i = 0; i < NODES; i++)
    found |= heap->is_root[i] && heap->reaches[i][block];
  return found;
}

static enum hwi_leak_kind kind_of(const struct random_heap *heap, int block)
{
  bool is_referred_to = false, is_reached_from_outside = false;
  for (int i = 0; i < NODES; i++) {
    if (i == block || is_reached(heap, i))
      continue;
    is_referred_to |= heap->refers[i][block];
    is_reached_from_outside |= heap->reaches[i][block] && !heap->reaches[block][i];
  }
  return !is_referred_to ? HWI_LEAK_DIRECT : is_reached_from_outside ? HWI_LEAK_INDIRECT : HWI_LEAK_CYCLE;
}

static void test_random(void **state)
{
  (void)state;
  static struct random_heap heap;
  for (unsigned seed = 0; seed < 500; seed++) {
    make_random(&heap, seed);
    made_leaks(&heap.made);
    for (int i = 0; i < NODES; i++) {
      assert_int_equal(made_is_leak(&heap.made, heap.blocks[i]), !is_reached(&heap, i));
      if (made_is_leak(&heap.made, heap.blocks[i]))
        assert_int_equal(hwi_graph_leak_kind(&heap.made.graph, (uint32_t)i), kind_of(&heap, i));
    }
    made_release(&heap.made);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_roots),
      cmocka_unit_test(test_no_roots),
      cmocka_unit_test(test_around_own),
      cmocka_unit_test(test_recorder_is_no_root),
      cmocka_unit_test(test_suppressed_leaks_reach_others),
      cmocka_unit_test(test_below_stack_pointer),
      cmocka_unit_test(test_stack_in_data),
      cmocka_unit_test(test_two_stacks),
      cmocka_unit_test(test_kept_stack),
      cmocka_unit_test(test_no_kept_stack),
      cmocka_unit_test(test_kept_stack_without_threads),
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_interior),
      cmocka_unit_test(test_interior_in_one_chain),
      cmocka_unit_test(test_unaligned_words_are_none),
      cmocka_unit_test(test_words_of_odd_block),
      cmocka_unit_test(test_32_bit_other_order),
      cmocka_unit_test(test_part_of_block_known),
      cmocka_unit_test(test_from_freed),
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_cycle_of_cycles),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_long_lists),
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
