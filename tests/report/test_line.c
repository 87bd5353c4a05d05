/* test_line.c - widths and escapes: a wrong width misaligns every later column, a missed escape controls the
 * terminal, and a shell reads a proposed word that is not quoted as several words or as a command */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/words/line.h"
#include "report/words/number.h"

static struct hwi_line line;

static const char *clean(const char *text)
{
  hwi_line_clear(&line);
  hwi_line_clean(&line, text);
  return hwi_line_text(&line);
}

static const char *shorten(const char *text, size_t cells)
{
  hwi_line_clear(&line);
  hwi_line_shorten(&line, text, cells, "…");
  return hwi_line_text(&line);
}

static void cells_are_not_bytes(void **state)
{
  (void)state;
  assert_int_equal(hwi_cells(""), 0);
  assert_int_equal(hwi_cells("abc"), 3);
  assert_int_equal(hwi_cells("é"), 1);
  assert_int_equal(hwi_cells("e\xcc\x81"), 1); /* a combining accent */
  assert_int_equal(hwi_cells("書く"), 4);
  assert_int_equal(hwi_cells("█"), 1);
}

static void what_could_drive_the_terminal_is_escaped(void **state)
{
  (void)state;
  assert_string_equal(clean("plain é 書"), "plain é 書");
  assert_string_equal(clean("a\033[31mb"), "a\\x1b[31mb");
  assert_string_equal(clean("a\nb\tc\rd"), "a\\nb\\tc\\x0dd");
  assert_string_equal(clean("\x7f"), "\\x7f");
  assert_string_equal(clean("\xc2\x9b"), "\\xc2\\x9b"); /* the one-byte CSI, as UTF-8 */
  assert_string_equal(clean("\xe2\x80\xae"
                            "x"),
                      "\\xe2\\x80\\xaex"); /* right-to-left override */
}

static void what_is_no_utf8_is_escaped(void **state)
{
  (void)state;
  assert_string_equal(clean("a\xff"
                            "b"),
                      "a\\xffb");
  assert_string_equal(clean("\xc3"), "\\xc3");                   /* cut */
  assert_string_equal(clean("\xc0\x80"), "\\xc0\\x80");          /* overlong */
  assert_string_equal(clean("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* surrogate */
  assert_string_equal(clean("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
  hwi_line_clear(&line);
  hwi_line_replace_invalid(&line, "a\xff"
                                  "é");
  assert_string_equal(hwi_line_text(&line), "a\xef\xbf\xbdé");
}

static void shortening_never_splits_a_character(void **state)
{
  (void)state;
  assert_string_equal(shorten("abcdef", 6), "abcdef");
  assert_string_equal(shorten("abcdef", 5), "ab…ef");
  assert_string_equal(shorten("書書書書", 6), "書…書");
  assert_string_equal(shorten("書書書書", 8), "書書書書");
  assert_string_equal(shorten("abc", 1), "a");
  assert_string_equal(shorten("abc", 0), "");
  for (size_t cells = 0; cells < 20; cells++) {
    const char *text = shorten("aé書e\xcc\x81zß書書書éxyz", cells);
    assert_true(hwi_cells(text) <= cells);
    assert_int_equal(strspn(clean(text), "\\"), 0);
  }
}

static void fields_align_by_cells(void **state)
{
  (void)state;
  hwi_line_clear(&line);
  hwi_line_left(&line, "書", 4);
  hwi_line_right(&line, "é", 3);
  hwi_line_pad(&line, 10);
  hwi_line_puts(&line, "|");
  assert_string_equal(hwi_line_text(&line), "書    é   |");
}

static void paths_keep_their_end(void **state)
{
  static const struct {
    size_t cells;
    const char *expected;
  } steps[] = {
      {40, "/home/ana/src/x.c:12"}, {19, "home/ana/src/x.c:12"}, {12, "src/x.c:12"}, {8, "x.c:12"}, {4, "x…12"}};
  (void)state;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    hwi_line_clear(&line);
    hwi_line_path(&line, "/home/ana/src/x.c", 12, steps[i].cells, "…");
    assert_string_equal(hwi_line_text(&line), steps[i].expected);
  }
}

/* --- numbers --- */

static void counts_have_separators(void **state)
{
  (void)state;
  assert_string_equal(hwi_count_text(0).text, "0");
  assert_string_equal(hwi_count_text(999).text, "999");
  assert_string_equal(hwi_count_text(1000).text, "1,000");
  assert_string_equal(hwi_count_text(12481903).text, "12,481,903");
  assert_string_equal(hwi_count_text(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void bytes_have_decimal_units(void **state)
{
  (void)state;
  assert_string_equal(hwi_bytes_text(0).text, "0");
  assert_string_equal(hwi_bytes_text(1).text, "1 B");
  assert_string_equal(hwi_bytes_text(9999).text, "9,999 B");
  assert_string_equal(hwi_bytes_text(10000).text, "10.0 kB");
  assert_string_equal(hwi_bytes_text(72704).text, "72.7 kB");
  assert_string_equal(hwi_bytes_text(999949).text, "999.9 kB");
  assert_string_equal(hwi_bytes_text(999950).text, "1.0 MB"); /* never 1000.0 kB */
  assert_string_equal(hwi_bytes_text(412600000).text, "412.6 MB");
  assert_string_equal(hwi_bytes_text(41900145704).text, "41.9 GB");
  assert_string_equal(hwi_bytes_text(UINT64_MAX).text, "18.4 EB");
}

static void shares_and_rates(void **state)
{
  (void)state;
  assert_string_equal(hwi_share_text(361, 1000).text, "36.1 %");
  assert_string_equal(hwi_share_text(1, 100000).text, "<0.1 %");
  assert_string_equal(hwi_share_text(0, 100000).text, "");
  assert_string_equal(hwi_share_text(5, 0).text, "");
  assert_string_equal(hwi_share_text(UINT64_MAX, UINT64_MAX).text, "100.0 %");
  assert_string_equal(hwi_rate_text(12481903, 602400000000).text, "20,720/s");
  assert_string_equal(hwi_rate_text(5, 0).text, "");
  assert_string_equal(hwi_byte_rate_text(41900145704, 602400000000).text, "69.6 MB/s");
}

static void times_suit_their_length(void **state)
{
  (void)state;
  assert_string_equal(hwi_time_text(0).text, "0 s");
  assert_string_equal(hwi_time_text(1500).text, "1.5 us");
  assert_string_equal(hwi_time_text(12345678).text, "12.3 ms");
  assert_string_equal(hwi_time_text(602400000000).text, "602.4 s");
  assert_string_equal(hwi_time_text(11520000000000).text, "3 h 12 min");
}

/* --- words of a shell: it reads a proposed word as exactly these bytes --- */

static const char *quoted(struct hwi_line *to, const char *word)
{
  hwi_line_clear(to);
  hwi_line_shell_word(to, word);
  return hwi_line_text(to);
}

static void words_look_as_people_write_them(void **state)
{
  (void)state;
  struct hwi_line word = {0};
  assert_string_equal(quoted(&word, "runs/app-1.2_x.hwt"), "runs/app-1.2_x.hwt");
  assert_string_equal(quoted(&word, "a b"), "'a b'");
  assert_string_equal(quoted(&word, "it's"), "'it'\\''s'");
  assert_string_equal(quoted(&word, ""), "''");
  assert_string_equal(quoted(&word, "~"), "'~'");
  assert_string_equal(quoted(&word, "a\n1"), "$'a\\0121'");
  hwi_line_release(&word);
}

/* bash reads them all: printf prints the same bytes, and one word is one argument. */
static void a_shell_reads_the_same_bytes(void **state)
{
  static const char *const words[] = {
      "plain",          "two words", "$HOME `id` $(id)",          "it's",  "''", "back\\slash",
      "\033[31mred\n7", "\xff\xfe",  "\xe6\x84\x9f \xe7\x9f\xa5", "*?[a]", "-n", "tab\there'"};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    struct hwi_line word = {0};
    char *command = NULL, read[64] = "";
    for (const char *byte = quoted(&word, words[i]); *byte != '\0'; byte++)
      assert_true((unsigned char)*byte >= ' ' && *byte != 0x7f);
    assert_true(asprintf(&command, "exec bash -c 'printf \"%%s|\" \"$@\"' x %s", hwi_line_text(&word)) > 0);
    setenv("WORD_COMMAND", command, 1);
    FILE *shell = popen("exec bash -c \"$WORD_COMMAND\"", "r");
    assert_non_null(shell);
    size_t bytes = fread(read, 1, sizeof read - 1, shell);
    assert_int_equal(pclose(shell), 0);
    assert_int_equal(bytes, strlen(words[i]) + 1);
    assert_memory_equal(read, words[i], bytes - 1);
    assert_int_equal(read[bytes - 1], '|');
    free(command);
    hwi_line_release(&word);
  }
}

static int begin(void **state)
{
  (void)state;
  return setlocale(LC_CTYPE, "C.UTF-8") != NULL ? 0 : -1;
}

static int end(void **state)
{
  (void)state;
  hwi_line_release(&line);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_are_not_bytes),
      cmocka_unit_test(what_could_drive_the_terminal_is_escaped),
      cmocka_unit_test(what_is_no_utf8_is_escaped),
      cmocka_unit_test(shortening_never_splits_a_character),
      cmocka_unit_test(fields_align_by_cells),
      cmocka_unit_test(paths_keep_their_end),
      cmocka_unit_test(counts_have_separators),
      cmocka_unit_test(bytes_have_decimal_units),
      cmocka_unit_test(words_look_as_people_write_them),
      cmocka_unit_test(a_shell_reads_the_same_bytes),
      cmocka_unit_test(shares_and_rates),
      cmocka_unit_test(times_suit_their_length),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
