/* test_loaded_code.c - breaks if functions of loaded modules are missed, or memory near code is where the heap of brk grows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/os.h"
#include "platform/os_code.h"

struct found {
  const struct hwi_os_image *image;
  const char *name;
  uint32_t count;
  bool is_named, is_all_code;
};

static void note_function(void *context, const struct hwi_os_function *function)
{
  struct found *found = context;
  found->count++;
  found->is_named |= strcmp(function->name, found->name) == 0;
  found->is_all_code &= hwi_os_image_has_code(found->image, function->address, function->bytes);
}

static void note_reference(void *context, const char *name)
{
  struct found *found = context;
  found->count++;
  found->is_named |= strcmp(name, found->name) == 0;
}

/* Opens cmocka's image. */
static bool open_library(struct hwi_os_image *image)
{
  bool is_open = hwi_os_image_first(image);
  while (is_open && !strstr(image->path, "libcmocka"))
    is_open = hwi_os_image_next(image);
  return is_open;
}

static void test_functions_of_a_library(void **state)
{
  (void)state;
  struct hwi_os_image image;
  struct found functions = {.image = &image, .name = "_fail", .is_all_code = true}, references = {.name = "free"};
  assert_true(open_library(&image));
  hwi_os_image_functions(&image, note_function, &functions);
  hwi_os_image_references(&image, note_reference, &references);
  assert_true(functions.is_named && functions.is_all_code);
  assert_in_range(functions.count, 30, 3000);
  assert_true(references.is_named);
  assert_in_range(references.count, 10, 1000);
  const uintptr_t code = (uintptr_t)hwi_os_symbol_after("_fail");
  assert_true(hwi_os_image_has_code(&image, code, 1));
  assert_false(hwi_os_image_has_code(&image, code, 1 << 24));               /* beyond the segment */
  assert_false(hwi_os_image_has_code(&image, (uintptr_t)&image, 1));        /* data */
  assert_false(hwi_os_image_has_code(&image, (uintptr_t)&open_library, 1)); /* another image's */
  hwi_os_image_close(&image);
}

static void test_what_a_library_looks_up(void **state)
{
  (void)state;
  struct hwi_os_image image;
  assert_true(open_library(&image));
  assert_true(hwi_os_image_looks_up(&image, (uintptr_t)hwi_os_symbol_after("_fail"))); /* its own assertions call it */
  assert_false(hwi_os_image_looks_up(&image, (uintptr_t)hwi_os_symbol_after("_fail") + 1));
  assert_false(hwi_os_image_looks_up(&image, (uintptr_t)&open_library));
  hwi_os_image_close(&image);
}

static void test_memory_near_code(void **state)
{
  enum { COUNT = 40, FARTHEST = 1 << 30, HEAP_BYTES = 200 << 20 };
  (void)state;
  if (sizeof(void *) < sizeof(uint64_t))
    skip(); /* places are chosen for 64 bits of address, and only detours, which 32-bit Arm does not have, need them */
  struct hwi_os_module program;
  void *made[COUNT];
  const uintptr_t address = (uintptr_t)&open_library;
  assert_true(hwi_os_find_module(address, &program));
  for (int i = 0; i < COUNT; i++) { /* more than there are places below */
    made[i] = hwi_os_map_near(address, HWI_OS_PAGE_BYTES, FARTHEST);
    const uintptr_t at = (uintptr_t)made[i];
    assert_non_null(made[i]);
    assert_true(at < program.start || at > program.end + HEAP_BYTES);
    assert_true(at < address ? address - at <= FARTHEST : at + HWI_OS_PAGE_BYTES - address <= FARTHEST);
    memset(made[i], 1, HWI_OS_PAGE_BYTES);
  }
  for (int i = 0; i < COUNT; i++)
    hwi_os_unmap(made[i], HWI_OS_PAGE_BYTES);
}

/* Where jumps are shorter, there is less memory near code. */
static void test_memory_nearer_to_code(void **state)
{
  enum { MOST = 40, FARTHEST = 112 << 20 };
  (void)state;
  void *made[MOST];
  int count = 0;
  const uintptr_t address = (uintptr_t)&open_library;
  while (count < MOST && (made[count] = hwi_os_map_near(address, HWI_OS_PAGE_BYTES, FARTHEST)))
    assert_in_range((uintptr_t)made[count++], address - FARTHEST, address);
  assert_in_range(count, 5, MOST - 1);
  while (count > 0)
    hwi_os_unmap(made[--count], HWI_OS_PAGE_BYTES);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions_of_a_library),
      cmocka_unit_test(test_what_a_library_looks_up),
      cmocka_unit_test(test_memory_near_code),
      cmocka_unit_test(test_memory_nearer_to_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
