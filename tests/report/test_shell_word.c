/* test_shell_word.c - a shell reads a proposed word as exactly these bytes
 *
 * Breaks if blanks or wildcards split or expand a word, if a quote ends early, if a control character reaches the
 * terminal, or if a digit is taken for a part of the escape before it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/text/shell_word.h"

static const char *quoted(struct hwi_line *line, const char *word)
{
  hwi_line_clear(line);
  hwi_line_shell_word(line, word);
  return hwi_line_text(line);
}

static void words_look_as_people_write_them(void **state)
{
  (void)state;
  struct hwi_line line = {0};
  assert_string_equal(quoted(&line, "runs/app-1.2_x.hwt"), "runs/app-1.2_x.hwt");
  assert_string_equal(quoted(&line, "a b"), "'a b'");
  assert_string_equal(quoted(&line, "it's"), "'it'\\''s'");
  assert_string_equal(quoted(&line, ""), "''");
  assert_string_equal(quoted(&line, "~"), "'~'");
  assert_string_equal(quoted(&line, "a\n1"), "$'a\\0121'");
  hwi_line_release(&line);
}

/* bash reads them all: printf prints the same bytes, and one word is one argument. */
static void a_shell_reads_the_same_bytes(void **state)
{
  static const char *const words[] = {
      "plain",          "two words", "$HOME `id` $(id)",          "it's",  "''", "back\\slash",
      "\033[31mred\n7", "\xff\xfe",  "\xe6\x84\x9f \xe7\x9f\xa5", "*?[a]", "-n", "tab\there'"};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    struct hwi_line line = {0};
    char *command = NULL, read[64] = "";
    for (const char *byte = quoted(&line, words[i]); *byte != '\0'; byte++)
      assert_true((unsigned char)*byte >= ' ' && *byte != 0x7f);
    assert_true(asprintf(&command, "exec bash -c 'printf \"%%s|\" \"$@\"' x %s", hwi_line_text(&line)) > 0);
    setenv("WORD_COMMAND", command, 1);
    FILE *shell = popen("exec bash -c \"$WORD_COMMAND\"", "r");
    assert_non_null(shell);
    size_t bytes = fread(read, 1, sizeof read - 1, shell);
    assert_int_equal(pclose(shell), 0);
    assert_int_equal(bytes, strlen(words[i]) + 1);
    assert_memory_equal(read, words[i], bytes - 1);
    assert_int_equal(read[bytes - 1], '|');
    free(command);
    hwi_line_release(&line);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_look_as_people_write_them),
      cmocka_unit_test(a_shell_reads_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
