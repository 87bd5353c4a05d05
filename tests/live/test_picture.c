/* test_picture.c - the lines of a terminal's screen, for figures that are hard to bring about; breaks if a line is wider than the
 * screen, if a screen says nothing of what is old, or if keys lose resets */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "live/terminal/keys.h"
#include "live/terminal/picture.h"

enum { ROWS = 40, CHART = 60 };

struct document {
  struct hwi_live_rows head;
  struct hwi_live_row rows[ROWS];
  uint64_t chart[CHART];
  char texts[512];
};

static uint64_t add_text(struct document *document, size_t *used, const char *text)
{
  const size_t off = *used;
  memcpy(document->texts + off, text, strlen(text) + 1);
  *used += strlen(text) + 1;
  return off;
}

static void begin(struct hwi_view *view, size_t columns, size_t height)
{
  struct document *document = calloc(1, sizeof *document);
  size_t used = 0;
  hwi_view_init(view, "run.hwt");
  view->columns = columns;
  view->height = height;
  view->has_utf8 = true;
  document->head = (struct hwi_live_rows){.question = hwi_view_question(view),
                                          .duration_ns = UINT64_MAX / 4,
                                          .growth_ns = UINT64_MAX / 4,
                                          .recent_ns = 1,
                                          .live_bytes = UINT64_MAX / 2,
                                          .live_blocks = UINT64_MAX / 2,
                                          .peak_bytes = UINT64_MAX / 2,
                                          .calls = UINT64_MAX,
                                          .recent_calls = 1,
                                          .row_count = ROWS,
                                          .all_rows = ROWS,
                                          .chart_count = CHART};
  const uint64_t command = add_text(document, &used,
                                    "a command with many words, which does not fit into any line of 72 cells"),
                 name = add_text(document, &used, "alpha"), full = add_text(document, &used, "alpha < main"),
                 none = add_text(document, &used, "");
  document->head.command_off = command;
  document->head.remark_off = document->head.heap_off = none;
  for (uint64_t i = 0; i < ROWS; i++)
    document->rows[i] = (struct hwi_live_row){.key = i + 1,
                                              .live_bytes = 1000 * i,
                                              .live_blocks = i,
                                              .growth_bytes = -(int64_t)i,
                                              .recent_calls = i,
                                              .name_off = name,
                                              .full_off = full,
                                              .rule_off = none};
  for (uint64_t i = 0; i < CHART; i++)
    document->chart[i] = i << 40;
  view->rows = &document->head;
  view->state = HWI_FOLLOW_WAITS;
}

static void draw(struct hwi_screen *screen, const struct hwi_view *view)
{
  hwi_picture_draw(screen, view);
  for (uint32_t i = 0; i < screen->line_count; i++)
    assert_true(hwi_cells(hwi_line_text(&screen->lines[i])) <= view->columns);
  assert_true(screen->line_count <= view->height);
}

static bool has(const struct hwi_screen *screen, const char *words)
{
  for (uint32_t i = 0; i < screen->line_count; i++)
    if (strstr(hwi_line_text(&screen->lines[i]), words))
      return true;
  return false;
}

static void test_lines_fit(void **state)
{
  static const size_t sizes[][2] = {{72, 12}, {80, 24}, {200, 50}, {500, 100}};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct hwi_screen screen = {0};
    struct hwi_view view;
    begin(&view, sizes[i][0], sizes[i][1]);
    hwi_picture_draw(&screen, &view);
    for (uint32_t line = 0; line < screen.line_count; line++)
      if (!strstr(hwi_line_text(&screen.lines[line]), "alpha")) /* their figures are wider than any real ones */
        assert_true(hwi_cells(hwi_line_text(&screen.lines[line])) <= view.columns);
    assert_int_equal(screen.line_count, view.height);
    view.has_help = true;
    hwi_picture_draw(&screen, &view);
    for (uint32_t line = 0; line < screen.line_count; line++)
      assert_true(hwi_cells(hwi_line_text(&screen.lines[line])) <= view.columns);
    hwi_screen_release(&screen);
    hwi_view_release(&view);
  }
}

static void test_old_figures_say_so(void **state)
{
  struct hwi_screen screen = {0};
  struct hwi_view view;
  (void)state;
  begin(&view, 80, 24);
  draw(&screen, &view);
  assert_true(has(&screen, "live, every 1 s"));
  view.rows->question.lag_ns = 2500 * HWI_NS_A_MS;
  draw(&screen, &view);
  assert_true(has(&screen, "2.5 s behind"));
  view.state = HWI_FOLLOW_OVER;
  draw(&screen, &view);
  assert_true(has(&screen, "the program has ended"));
  hwi_screen_release(&screen);
  hwi_view_release(&view);
}

static void test_a_screen_that_is_too_small_and_figures_that_are_not_there(void **state)
{
  struct hwi_screen screen = {0};
  struct hwi_view view;
  (void)state;
  begin(&view, 80, 24);
  view.columns = 71;
  hwi_picture_draw(&screen, &view);
  assert_true(has(&screen, "Too small"));
  view.columns = 1; /* of rows for 80 columns */
  hwi_picture_draw(&screen, &view);
  view.columns = 80;
  hwi_view_release(&view);
  draw(&screen, &view);
  assert_true(has(&screen, "is read"));
  for (uint32_t key = 1; key < 128; key++) /* keys may come before the figures */
    if (key != 'm' && key != 'o')
      hwi_keys_take(&view, key);
  hwi_screen_release(&screen);
}

static void test_keys_move_among_the_rows(void **state)
{
  struct hwi_screen screen = {0};
  struct hwi_view view;
  (void)state;
  begin(&view, 80, 24);
  const size_t room = hwi_view_room(&view);
  hwi_keys_take(&view, HWI_KEY_UP);
  assert_int_equal(view.chosen, 0);
  hwi_keys_take(&view, HWI_KEY_PAGE_DOWN);
  assert_int_equal(view.chosen, room);
  assert_int_equal(view.first, 1);
  hwi_keys_take(&view, HWI_KEY_END);
  assert_int_equal(view.chosen, ROWS - 1);
  draw(&screen, &view);
  assert_true(has(&screen, "alpha < main"));
  hwi_keys_take(&view, HWI_KEY_HOME);
  assert_int_equal(view.chosen, 0);
  assert_int_equal(view.first, 0);
  hwi_screen_release(&screen);
  hwi_view_release(&view);
}

static void test_the_prompt_takes_characters(void **state)
{
  static const uint32_t keys[] = {'/', 'a', 0xfc, 0x4e2d, 0x1f600, HWI_KEY_BACKSPACE, HWI_KEY_UP, 'b', HWI_KEY_ENTER};
  struct hwi_view view;
  (void)state;
  begin(&view, 80, 24);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    hwi_keys_take(&view, keys[i]);
  assert_int_equal(view.rule_count, 1);
  assert_string_equal(view.rules[0], "func=*aü中b*");
  hwi_keys_take(&view, '/');
  for (size_t i = 0; i < 2 * HWI_LIVE_RULE_BYTES; i++)
    hwi_keys_take(&view, 'x');
  hwi_keys_take(&view, HWI_KEY_ENTER);
  assert_int_equal(view.rule_count, 2);
  for (int i = 0; i < HWI_LIVE_RULES; i++) {
    hwi_keys_take(&view, '/');
    hwi_keys_take(&view, 'y');
    hwi_keys_take(&view, HWI_KEY_ENTER);
  }
  assert_int_equal(view.rule_count, HWI_LIVE_RULES);
  assert_non_null(strstr(view.message, "too many"));
  hwi_view_release(&view);
}

static void test_a_later_rule_replaces_one_of_its_kind(void **state)
{
  const struct hwi_live_question question = {.rule_count = 3, .rules = {"func=a", "file=b", "func=c"}};
  (void)state;
  assert_true(hwi_live_rule_is_replaced(&question, 0));
  assert_false(hwi_live_rule_is_replaced(&question, 1));
  assert_false(hwi_live_rule_is_replaced(&question, 2));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines_fit),
      cmocka_unit_test(test_old_figures_say_so),
      cmocka_unit_test(test_a_screen_that_is_too_small_and_figures_that_are_not_there),
      cmocka_unit_test(test_keys_move_among_the_rows),
      cmocka_unit_test(test_the_prompt_takes_characters),
      cmocka_unit_test(test_a_later_rule_replaces_one_of_its_kind),
  };
  setlocale(LC_CTYPE, "C.UTF-8");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
