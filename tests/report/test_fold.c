/* test_fold.c - which frames of a stack a text report shows
 *
 * Breaks if the line that a user can change is folded, which is the frame that called the standard library for its
 * memory, or if it is left out as one of the frames that start a program.
 */
#include "report/names/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES_MAX = 24, PROGRAM = 1, LIBSTDCXX, PLUGIN, LIBC };

static struct hwi_profile_module modules[] = {
    [PROGRAM] = {.path = "/usr/bin/app"},
    [LIBSTDCXX] = {.path = "/usr/lib/libstdc++.so.6"},
    [PLUGIN] = {.path = "/opt/libplugin.so"},
    [LIBC] = {.path = "/lib/aarch64-linux-gnu/libc.so.6"},
};

struct stack {
  struct hwi_profile profile;
  struct hwi_symbol symbols[FRAMES_MAX];
  struct hwi_shown_frame items[FRAMES_MAX];
  uint32_t count;
};

static void add(struct stack *stack, uint32_t module, const char *function)
{
  assert_in_range(stack->count, 0, FRAMES_MAX - 1);
  stack->symbols[stack->count].function = function;
  stack->items[stack->count] = (struct hwi_shown_frame){.symbol = &stack->symbols[stack->count], .module = module};
  stack->count++;
}

static const char *const deep[] = {"std::a", "std::b", "std::c", "std::d", "std::e", "std::f", "std::g", "std::h"};

static void add_deep(struct stack *stack, uint32_t module, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    add(stack, module, deep[i]);
}

/* Compares the lines: names of functions, and "3" for three folded frames. */
static void expect(struct stack *stack, const char *const *lines)
{
  stack->profile.modules = modules;
  stack->profile.module_count = sizeof modules / sizeof *modules;
  const struct hwi_named_frames frames = {.profile = &stack->profile, .items = stack->items, .count = stack->count};
  struct hwi_folded folded = {0};
  assert_int_equal(hwi_fold(&folded, &frames, HWI_FOLD_LINES_MAX, NULL), HW_OK);
  uint32_t told = 0;
  for (uint32_t i = 0; i < folded.count; i++) {
    const struct hwi_fold_line *line = &folded.lines[i];
    char count[] = {(char)('0' + line->count), 0};
    assert_int_equal(line->first, told);
    assert_non_null(lines[i]);
    assert_string_equal(line->folded ? count : stack->symbols[line->first].function, lines[i]);
    told += line->count;
  }
  assert_null(lines[folded.count]);
  assert_int_equal(told, stack->count);
  assert_in_range(folded.count, 1, HWI_FOLD_LINES_MAX);
  hwi_folded_release(&folded);
}

static void test_a_short_stack_is_shown_whole(void **state)
{
  (void)state;
  struct stack stack = {0};
  add_deep(&stack, PROGRAM, 6);
  add(&stack, PROGRAM, "add_node");
  add(&stack, PROGRAM, "run");
  expect(&stack, (const char *[]){"std::a", "std::b", "std::c", "std::d", "std::e", "std::f", "add_node", "run", NULL});
}

static void test_who_called_the_library_is_shown(void **state)
{
  (void)state;
  struct stack stack = {0};
  add_deep(&stack, PROGRAM, 8);
  add(&stack, PROGRAM, "add_node");
  add(&stack, PROGRAM, "run");
  expect(&stack, (const char *[]){"std::a", "std::b", "std::c", "std::d", "std::e", "3", "add_node", "run", NULL});
}

static void test_far_below_the_library_the_middle_is_folded_too(void **state)
{
  (void)state;
  struct stack stack = {0};
  static const char *const own[] = {"f", "g", "h", "i", "j", "k", "l", "m"};
  add_deep(&stack, PROGRAM, 5);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    add(&stack, PROGRAM, own[i]);
  expect(&stack, (const char *[]){"std::a", "4", "f", "g", "h", "i", "3", "m", NULL});
}

/* It is a shared library, whose frames are folded elsewhere; here they are the caller's. */
static void test_a_library_that_called_is_shown(void **state)
{
  (void)state;
  struct stack stack = {0};
  add_deep(&stack, LIBSTDCXX, 2);
  add(&stack, PLUGIN, "load");
  add(&stack, PLUGIN, "parse");
  add(&stack, PLUGIN, "open");
  add(&stack, PROGRAM, "run");
  expect(&stack, (const char *[]){"std::a", "std::b", "load", "parse", "open", "run", NULL});
}

/* Its functions have no names, but they belong to the library all the same. */
static void test_a_stripped_standard_library_called_nobody(void **state)
{
  (void)state;
  struct stack stack = {0};
  add(&stack, LIBSTDCXX, "std::a");
  add(&stack, LIBSTDCXX, NULL);
  add_deep(&stack, PROGRAM, 7);
  add(&stack, PROGRAM, "add_node");
  const struct hwi_named_frames frames = {.profile = &stack.profile, .items = stack.items, .count = stack.count};
  stack.profile.modules = modules;
  stack.profile.module_count = sizeof modules / sizeof *modules;
  assert_int_equal(hwi_named_frames_own(&frames, 0, stack.count), stack.count - 1);
  stack.items[1].module = PLUGIN; /* its owner is unknown */
  assert_int_equal(hwi_named_frames_own(&frames, 0, stack.count), 0);
}

static void test_the_nearest_caller_with_a_name_is_found(void **state)
{
  (void)state;
  struct stack stack = {0};
  add(&stack, LIBSTDCXX, "std::a");
  add(&stack, LIBSTDCXX, "helper_of_the_library");
  add(&stack, PLUGIN, NULL);
  add(&stack, PLUGIN, NULL);
  add(&stack, PROGRAM, "add_node");
  add(&stack, PROGRAM, "run");
  stack.profile.modules = modules;
  stack.profile.module_count = sizeof modules / sizeof *modules;
  const struct hwi_named_frames frames = {.profile = &stack.profile, .items = stack.items, .count = stack.count};
  assert_int_equal(hwi_named_frames_nearest(&frames, 2, 6), 4);
  assert_int_equal(hwi_named_frames_nearest(&frames, 0, 6), 4);
  assert_int_equal(hwi_named_frames_nearest(&frames, 5, 6), 5);
  assert_int_equal(hwi_named_frames_nearest(&frames, 2, 4), 2); /* no frame has a name */
}

/* The frames of `stack` that a text shows are [first, last). */
static void expect_trimmed(struct stack *stack, uint32_t first, uint32_t last)
{
  stack->profile.modules = modules;
  stack->profile.module_count = sizeof modules / sizeof *modules;
  const struct hwi_named_frames frames = {.profile = &stack->profile, .items = stack->items, .count = stack->count};
  uint32_t found_first, found_last;
  hwi_named_frames_trim(&frames, &found_first, &found_last);
  assert_int_equal(found_first, first);
  assert_int_equal(found_last, last);
}

/* libc's file is not here. The main that called it is not a frame of its start, whether it has a name or not. */
static void test_who_called_a_nameless_libc_is_shown(void **state)
{
  (void)state;
  static const char *const mains[] = {"main", NULL}, *const starts[] = {"_start", NULL};
  for (size_t i = 0; i < 2; i++) {
    for (size_t k = 0; k < 2; k++) {
      struct stack stack = {0};
      add(&stack, LIBC, NULL);
      add(&stack, LIBC, NULL);
      add(&stack, PROGRAM, mains[i]);
      add(&stack, LIBC, NULL);
      add(&stack, LIBC, NULL);
      add(&stack, PROGRAM, starts[k]);
      expect_trimmed(&stack, 0, 3);
    }
  }
}

/* A thread's function, too; and where the stack was not followed further. */
static void test_outermost_caller_of_a_nameless_libc_is_shown(void **state)
{
  (void)state;
  static const char *const functions[] = {"main", "work", NULL};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    struct stack stack = {0};
    add(&stack, LIBC, NULL);
    add(&stack, PROGRAM, functions[i]);
    expect_trimmed(&stack, 0, 2);
    add(&stack, LIBC, NULL);
    expect_trimmed(&stack, 0, 2);
  }
}

static void test_main_of_a_runtime_is_left_out(void **state)
{
  (void)state;
  static const char *const mains[] = {"main", NULL};
  for (size_t i = 0; i < 2; i++) {
    struct stack stack = {0};
    add(&stack, PROGRAM, "app::main");
    add(&stack, PROGRAM, "std::rt::lang_start");
    add(&stack, PROGRAM, mains[i]);
    add(&stack, LIBC, NULL);
    add(&stack, PROGRAM, NULL);
    expect_trimmed(&stack, 0, 1);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_short_stack_is_shown_whole),
      cmocka_unit_test(test_who_called_the_library_is_shown),
      cmocka_unit_test(test_far_below_the_library_the_middle_is_folded_too),
      cmocka_unit_test(test_a_library_that_called_is_shown),
      cmocka_unit_test(test_a_stripped_standard_library_called_nobody),
      cmocka_unit_test(test_the_nearest_caller_with_a_name_is_found),
      cmocka_unit_test(test_who_called_a_nameless_libc_is_shown),
      cmocka_unit_test(test_outermost_caller_of_a_nameless_libc_is_shown),
      cmocka_unit_test(test_main_of_a_runtime_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
