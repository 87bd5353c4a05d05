/* detours.h - machine code in memory that may be written and executed, and detours of it, for test_code_NAME.c
 *
 * The functions are called before and after the detour. bytes_of(text, to) is the test's: it reads code as it is written there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "platform/code.h"

enum { PAGES_BYTES = 1 << 16, FUNCTION_OFF = 0x1000, TARGET_OFF = 0x3000, ROOM_OFF = 0x8000, MOST_BYTES = 64 };

static const uintptr_t ARGUMENT = 0x1122334455667788;

static uint8_t *pages;
static struct hwi_code_detour detour;
static int wrapped;
static uintptr_t wrapped_argument;

static size_t bytes_of(const char *text, uint8_t *to);

static long wrapper(long a, long b, long c, long d, long e, uintptr_t argument)
{
  wrapped++;
  wrapped_argument = argument;
  return ((long (*)(long, long, long, long, long))detour.original)(a, b, c, d, e) + 1000000;
}

/* Writes code to the page; the rest of it is breakpoints, on Arm no instructions. */
static size_t place(size_t off, const char *text)
{
  memset(pages + off, 0xcc, MOST_BYTES);
  const size_t bytes = bytes_of(text, pages + off);
  hwi_code_sync(pages + off, MOST_BYTES);
  return bytes;
}

static struct hwi_code_request request_of(const char *text)
{
  return (struct hwi_code_request){
      .function = pages + FUNCTION_OFF,
      .bytes = place(FUNCTION_OFF, text),
      .wrapper = (uintptr_t)wrapper,
      .argument = ARGUMENT,
      .room = (uintptr_t)pages + ROOM_OFF,
  };
}

static const char *plan(const char *text)
{
  const struct hwi_code_request request = request_of(text);
  return hwi_code_plan(&detour, &request);
}

static void write_detour(void)
{
  memcpy(pages + ROOM_OFF, detour.room, sizeof detour.room);
  hwi_code_sync(pages + ROOM_OFF, sizeof detour.room);
  hwi_code_write(&detour);
  hwi_code_sync((const void *)detour.patch_at, detour.patch_bytes);
}

static long call(long a, long b)
{
  return ((long (*)(long, long, long, long, long))(void *)(pages + FUNCTION_OFF))(a, b, 3, 4, 5);
}

struct detour_case {
  const char *function, *target; /* what is at TARGET_OFF */
};

/* Calls each function with a few arguments, makes the detour, and calls it again. */
static void check_that_they_do_the_same(const struct detour_case *cases, size_t count)
{
  enum { CALLS = 4 };
  for (size_t i = 0; i < count; i++) {
    long expected[CALLS];
    const char *why = plan(cases[i].function);
    place(TARGET_OFF, cases[i].target);
    if (why)
      fail_msg("%s %s", cases[i].function, why);
    for (int k = 0; k < CALLS; k++)
      expected[k] = call(k, 40 + k);
    wrapped = 0;
    assert_in_range(detour.patch_at, (uintptr_t)pages + FUNCTION_OFF, (uintptr_t)pages + FUNCTION_OFF + 4);
    write_detour();
    for (int k = 0; k < CALLS; k++)
      assert_int_equal(call(k, 40 + k), expected[k] + 1000000);
    assert_int_equal(wrapped, CALLS);
    assert_int_equal(wrapped_argument, ARGUMENT);
  }
}

struct refused_case {
  const char *function, *why; /* a part of the reason */
};

static void check_that_they_are_refused(const struct refused_case *cases, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const char *why = plan(cases[i].function);
    if (!why || !strstr(why, cases[i].why))
      fail_msg("%s: %s", cases[i].function, why ? why : "planned");
  }
}

static int map_pages(int access)
{
  pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC | access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED;
}

static int set_up(void **state)
{
  (void)state;
  return map_pages(0);
}
