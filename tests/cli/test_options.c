/* test_options.c - option tables: with a misread option the tool does something that the user did not ask for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "report/input/suggest.h"

struct values {
  bool verbose, children;
  int format, cost, order;
  const char *output;
  struct hwi_texts environment;
  uint64_t top, size, duration, sample, classes;
};

static const struct values defaults = {.children = true, .top = 10};
static const char *const costs[] = {"peak", "live", NULL};

static const struct hwi_option options[] = {
    {.name = "verbose", .letter = 'v', HWI_VALUE(ON, verbose)},
    {.name = "no-children", HWI_VALUE(OFF, children)},
    {.name = "json", .letter = 'j', HWI_VALUE(SET, format), .preset = 7},
    {.name = "cost", HWI_VALUE(CHOICE, cost), .choices = costs},
    {.name = "order", HWI_VALUE(MAYBE, order), .choices = costs, .preset = 5},
    {.name = "output", .letter = 'o', HWI_VALUE(TEXT, output), .value = "FILE"},
    {.name = "env", HWI_VALUE(TEXTS, environment), .value = "NAME=VALUE"},
    {.name = "top", .letter = 'n', HWI_VALUE(COUNT, top), .value = "N"},
    {.name = "max-size", HWI_VALUE(SIZE, size), .value = "SIZE"},
    {.name = "duration", HWI_VALUE(DURATION, duration), .value = "T"},
    {.name = "sample", HWI_VALUE(MAYBE_SIZE, sample), .value = "SIZE", .preset = 7},
    {.name = "classes", HWI_VALUE(MAYBE_COUNT, classes), .value = "N", .preset = -1},
    {0},
};

enum { USAGE_STATUS = 42, WORDS_MAX = 16 };

static struct hwi_command command = {.name = "try",
                                     .options = options,
                                     .defaults = &defaults,
                                     .values_bytes = sizeof defaults,
                                     .usage_status = USAGE_STATUS};

/* Parses the words up to NULL. The result is valid until the next call. */
static struct hwi_parsed parsed;
static char *argv[WORDS_MAX];

static const struct values *parse(bool words_end_options, const char *const *words)
{
  hwi_options_release(&parsed);
  memcpy(argv, words, sizeof argv);
  command.words_end_options = words_end_options;
  assert_int_equal(hwi_options_parse(&command, argv, &parsed), 0);
  return parsed.values;
}

#define WORDS(...) ((const char *const[WORDS_MAX]){__VA_ARGS__})

static void defaults_stay_without_options(void **state)
{
  (void)state;
  const struct values *values = parse(false, WORDS("a", "b"));
  assert_true(values->children);
  assert_int_equal(values->top, 10);
  assert_int_equal(parsed.word_count, 2);
  assert_string_equal(parsed.words[1], "b");
  assert_null(parsed.words[2]);
}

static void every_spelling_gives_the_value(void **state)
{
  (void)state;
  assert_int_equal(parse(false, WORDS("--top", "3"))->top, 3);
  assert_int_equal(parse(false, WORDS("--top=4"))->top, 4);
  assert_int_equal(parse(false, WORDS("-n", "5"))->top, 5);
  assert_int_equal(parse(false, WORDS("-n6"))->top, 6);
  assert_int_equal(parse(false, WORDS("-vjn7"))->top, 7);
  assert_string_equal(parse(false, WORDS("--output="))->output, "");
  assert_string_equal(parse(false, WORDS("-o", "-"))->output, "-");
  assert_string_equal(parse(false, WORDS("--output", "--top"))->output, "--top");
}

static void every_kind_stores_its_field(void **state)
{
  (void)state;
  const struct values *values = parse(false, WORDS("-v", "--no-children", "--json", "--cost=live", "--env", "A=1",
                                                   "--env=B=2", "--max-size=2MB", "--duration", "200ms"));
  assert_true(values->verbose);
  assert_false(values->children);
  assert_int_equal(values->format, 7);
  assert_int_equal(values->cost, 1);
  assert_int_equal(values->environment.count, 2);
  assert_string_equal(values->environment.items[1], "B=2");
  assert_int_equal(values->size, 2000000);
  assert_int_equal(values->duration, 200000000);
}

static void a_value_may_be_left_out(void **state)
{
  (void)state;
  assert_int_equal(parse(false, WORDS("--order"))->order, 5);
  assert_int_equal(parse(false, WORDS("--order=live"))->order, 1);
  assert_int_equal(parse(false, WORDS("--order", "live"))->order, 1);
  assert_int_equal(parsed.word_count, 0);
  assert_int_equal(parse(false, WORDS("--order", "lively"))->order, 5);
  assert_int_equal(parsed.word_count, 1); /* a trace may have this name */
  assert_int_equal(parse(false, WORDS("--order", "--", "live"))->order, 5);
  assert_int_equal(parsed.word_count, 1);
}

static void a_size_may_be_left_out(void **state)
{
  (void)state;
  assert_int_equal(parse(false, WORDS("--sample"))->sample, 7);
  assert_int_equal(parse(false, WORDS("--sample=64K"))->sample, 65536);
  assert_int_equal(parse(false, WORDS("--sample", "64K"))->sample, 65536);
  assert_int_equal(parsed.word_count, 0);
  assert_int_equal(parse(false, WORDS("--sample", "7z"))->sample, 7);
  assert_int_equal(parsed.word_count, 1); /* a command may have this name */
  assert_int_equal(parse(false, WORDS("--sample", "--", "64K"))->sample, 7);
  assert_int_equal(parsed.word_count, 1);
}

static void a_number_may_be_left_out(void **state)
{
  (void)state;
  assert_true(parse(false, WORDS("--classes"))->classes == UINT64_MAX);
  assert_int_equal(parse(false, WORDS("--classes=12"))->classes, 12);
  assert_int_equal(parse(false, WORDS("--classes", "12"))->classes, 12);
  assert_int_equal(parsed.word_count, 0);
  assert_true(parse(false, WORDS("--classes", "12.hwt"))->classes == UINT64_MAX);
  assert_int_equal(parsed.word_count, 1); /* a trace may have this name */
}

static void the_last_of_several_wins(void **state)
{
  (void)state;
  assert_int_equal(parse(false, WORDS("--top=1", "--top=2"))->top, 2);
}

static void words_and_options_may_be_mixed(void **state)
{
  (void)state;
  const struct values *values = parse(false, WORDS("trace", "-v", "--", "-v", "--top"));
  assert_true(values->verbose);
  assert_int_equal(values->top, 10);
  assert_int_equal(parsed.word_count, 3);
  assert_string_equal(parsed.words[2], "--top");
}

static void a_command_keeps_its_own_options(void **state)
{
  (void)state;
  const struct values *values = parse(true, WORDS("-v", "ls", "--help", "--top=1", "--", "-j"));
  assert_true(values->verbose);
  assert_int_equal(values->top, 10);
  assert_int_equal(values->format, 0);
  assert_false(parsed.help);
  assert_int_equal(parsed.word_count, 5);
  assert_string_equal(parsed.words[3], "--");
  parse(true, WORDS("--", "--strange"));
  assert_int_equal(parsed.word_count, 1);
  assert_string_equal(parsed.words[0], "--strange");
}

static void a_dash_alone_is_a_word(void **state)
{
  (void)state;
  parse(false, WORDS("-"));
  assert_int_equal(parsed.word_count, 1);
}

static void help_is_understood_everywhere(void **state)
{
  (void)state;
  parse(false, WORDS("x", "--help", "--nonsense"));
  assert_true(parsed.help);
  parse(false, WORDS("-vh"));
  assert_true(parsed.help);
}

/* Returns the message of hwi_options_parse on stderr about `words`. */
static const char *complaint(const char *const *words)
{
  static char text[512];
  memset(text, 0, sizeof text);
  memcpy(argv, words, sizeof argv);
  command.words_end_options = false;
  hwi_options_release(&parsed);
  FILE *saved = stderr;
  stderr = fmemopen(text, sizeof text, "w");
  assert_non_null(stderr);
  int status = hwi_options_parse(&command, argv, &parsed);
  fclose(stderr);
  stderr = saved;
  assert_int_equal(status, USAGE_STATUS);
  return text;
}

static void wrong_usage_says_what_and_what_to_do(void **state)
{
  (void)state;
  assert_string_equal(complaint(WORDS("--tpo=3")), "heapwright: try has no option --tpo; did you mean --top?\n");
  assert_string_equal(complaint(WORDS("--xyzzy")),
                      "heapwright: try has no option --xyzzy; 'heapwright help try' lists them\n");
  assert_string_equal(complaint(WORDS("-x")), "heapwright: try has no option -x; 'heapwright help try' lists them\n");
  assert_string_equal(complaint(WORDS("--top")), "heapwright: --top needs a value: --top N\n");
  assert_string_equal(complaint(WORDS("-n")), "heapwright: -n needs a value: -n N\n");
  assert_string_equal(complaint(WORDS("--top", "-1")), "heapwright: --top takes a whole number, not '-1'\n");
  assert_string_equal(complaint(WORDS("--verbose=1")), "heapwright: --verbose takes no value\n");
  assert_string_equal(complaint(WORDS("--cost", "pek")),
                      "heapwright: --cost takes one of peak, live, not 'pek'; did you mean 'peak'?\n");
  assert_string_equal(complaint(WORDS("--order=liv")),
                      "heapwright: --order takes one of peak, live, not 'liv'; did you mean 'live'?\n");
  assert_string_equal(complaint(WORDS("--max-size=9Q")),
                      "heapwright: --max-size takes a size such as 4096, 64K, 512MiB or 2GB, not '9Q'\n");
  assert_string_equal(complaint(WORDS("--duration=soon")),
                      "heapwright: --duration takes a time such as 5s, 200ms or 1.5m, not 'soon'\n");
}

/* --- suggestions --- */

static const char *suggest(const char *word)
{
  static const char *const known[] = {"record", "report", "control", "children", "max-size", "top", NULL};
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, word, strlen(word));
  for (const char *const *at = known; *at != NULL; at++)
    hwi_suggestion_offer(&suggestion, *at);
  return suggestion.best != NULL ? suggestion.best : "";
}

static void the_nearest_known_word_is_suggested(void **state)
{
  (void)state;
  assert_string_equal(suggest("reprot"), "report"); /* two adjacent letters swapped */
  assert_string_equal(suggest("recrod"), "record");
  assert_string_equal(suggest("repor"), "report");
  assert_string_equal(suggest("reportt"), "report");
  assert_string_equal(suggest("maxsize"), "max-size");
  assert_string_equal(suggest("child"), "children"); /* a prefix */
  assert_string_equal(suggest("tpo"), "top");
}

static void what_is_far_from_all_gets_no_suggestion(void **state)
{
  (void)state;
  assert_string_equal(suggest("frobnicate"), "");
  assert_string_equal(suggest("x"), "");
  assert_string_equal(suggest(""), "");
  assert_string_equal(suggest("a-word-that-is-much-longer-than-anything-that-is-known-here"), "");
}

static int release(void **state)
{
  (void)state;
  hwi_options_release(&parsed);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_stay_without_options),
      cmocka_unit_test(every_spelling_gives_the_value),
      cmocka_unit_test(every_kind_stores_its_field),
      cmocka_unit_test(a_value_may_be_left_out),
      cmocka_unit_test(a_size_may_be_left_out),
      cmocka_unit_test(a_number_may_be_left_out),
      cmocka_unit_test(the_last_of_several_wins),
      cmocka_unit_test(words_and_options_may_be_mixed),
      cmocka_unit_test(a_command_keeps_its_own_options),
      cmocka_unit_test(a_dash_alone_is_a_word),
      cmocka_unit_test(help_is_understood_everywhere),
      cmocka_unit_test(wrong_usage_says_what_and_what_to_do),
      cmocka_unit_test(the_nearest_known_word_is_suggested),
      cmocka_unit_test(what_is_far_from_all_gets_no_suggestion),
  };
  return cmocka_run_group_tests(tests, NULL, release);
}
