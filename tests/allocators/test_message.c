/* test_message.c - messages of the heap of a process
 *
 * Breaks if an error of the system has other words than those that strerror has for it.
 */
#include "allocators/message.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *text_of(int error)
{
  static struct hwi_message line;
  line.bytes = 0;
  hwi_message_error(&line, -error);
  line.text[line.bytes] = 0;
  return line.text;
}

static void errors_have_words(void **state)
{
  (void)state;
  enum { ERRORS = 200, LEAST_KNOWN = 15 };
  char words[128], number[32];
  int known = 0;
  for (int error = 1; error < ERRORS; error++) {
    snprintf(words, sizeof words, " (%s)", strerror(error));
    snprintf(number, sizeof number, " (error %d)", error);
    bool is_known = !strcmp(text_of(error), words);
    assert_true(is_known || !strcmp(text_of(error), number));
    known += is_known;
  }
  assert_true(known >= LEAST_KNOWN);
  assert_string_equal(text_of(ENOENT), " (No such file or directory)");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_have_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
