/* keys.c - what each key does to the view */
#include "live/terminal/keys.h"

#include <stdio.h>
#include <string.h>

#include "launch/control.h"
#include "live/terminal/picture.h"
#include "report/selection/narrowing.h"

/* --- rows --- */

static void move_to(struct hwi_view *view, size_t row)
{
  if (view->stack == 0) {
    hwi_view_choose(view, row);
    view->wants_figures |= !view->is_paused; /* rows further down may not be there yet */
    return;
  }
  const size_t count = view->rows ? view->rows->line_count : 0, room = hwi_view_room(view);
  const size_t last = count > room ? count - room : 0;
  view->first_frame = row < last ? row : last;
}

static void move_by(struct hwi_view *view, bool is_down, size_t rows)
{
  const size_t now = view->stack == 0 ? view->chosen : view->first_frame;
  move_to(view, is_down ? now + rows : now > rows ? now - rows : 0);
}

static void await_rows(struct hwi_view *view)
{
  view->wants_figures = view->awaits_rows = true;
}

static void show_rows(struct hwi_view *view, enum hwi_live_by by)
{
  view->by = by;
  view->stack = 0;
  view->has_chosen = false;
  view->chosen = view->first = 0;
  await_rows(view);
}

static void sort_by_next(struct hwi_view *view, int step)
{
  static const enum hwi_live_column order[] = {HWI_LIVE_GROWTH, HWI_LIVE_GROWTH_RATE, HWI_LIVE_BYTES,
                                               HWI_LIVE_BLOCKS, HWI_LIVE_CALL_RATE,   HWI_LIVE_PEAK,
                                               HWI_LIVE_CALLS};
  enum { COUNT = sizeof order / sizeof *order };
  int at = 0;
  while (order[at] != view->sort)
    at++;
  view->sort = order[(at + COUNT + step) % COUNT];
  view->has_chosen = false;
  await_rows(view);
}

/* --- rules --- */

static void say(struct hwi_view *view, const char *text)
{
  snprintf(view->message, sizeof view->message, "%s", text);
}

/* Returns whether the rule is valid. */
static bool add_rule(struct hwi_view *view, const char *rule)
{
  struct hwi_error error = {0};
  const struct hwi_report_options options = {.only = {.items = {rule}, .count = 1}};
  if (view->rule_count == HWI_LIVE_RULES) {
    say(view, "There are too many filters; Esc takes the last one away.");
    return false;
  }
  if (strncmp(rule, HWI_LIVE_PID_RULE, strlen(HWI_LIVE_PID_RULE)) != 0 && hwi_narrowing_check(&options, &error) < 0) {
    say(view, error.text);
    return false;
  }
  snprintf(view->rules[view->rule_count++], sizeof *view->rules, "%s", rule);
  return true;
}

static void add_filter(struct hwi_view *view)
{
  char rule[HWI_LIVE_RULE_BYTES + sizeof "func=**"];
  if (view->input[0] == '\0')
    return;
  if (strchr(view->input, '='))
    snprintf(rule, sizeof rule, "%s", view->input);
  else
    snprintf(rule, sizeof rule, "func=*%s*", view->input);
  rule[HWI_LIVE_RULE_BYTES - 1] = '\0';
  if (add_rule(view, rule))
    show_rows(view, view->by);
}

static void open_row(struct hwi_view *view)
{
  if (view->stack != 0 || !view->rows || view->chosen >= view->rows->row_count)
    return;
  const struct hwi_live_row *row = &hwi_live_row_list(view->rows)[view->chosen];
  const char *rule = hwi_live_text(view->rows, row->rule_off);
  if (view->rows->question.by == HWI_LIVE_BY_STACK && row->key == 0) {
    say(view, "The frames of this stack are not known.");
  } else if (view->rows->question.by == HWI_LIVE_BY_STACK) {
    view->stack = row->key;
    view->first_frame = 0;
    await_rows(view);
  } else if (*rule == '\0') {
    say(view, "This row has no name by which its stacks can be chosen.");
  } else if (add_rule(view, rule)) {
    show_rows(view, HWI_LIVE_BY_STACK);
  }
}

static void go_back(struct hwi_view *view)
{
  if (view->stack != 0) {
    view->stack = 0;
    await_rows(view);
  } else if (view->rule_count > 0) {
    view->rule_count--;
    show_rows(view, view->by);
  }
}

/* --- the recording --- */

static void control(struct hwi_view *view, enum hwi_control_action action, const char *text)
{
  const struct hwi_control_request request = {.target = view->trace, .action = action, .text = text};
  struct hwi_controlled controlled;
  struct hwi_error error = {0};
  if (hwi_control(&request, &controlled, &error) < 0)
    say(view, error.text);
  else if (action == HWI_CONTROL_MARK)
    snprintf(view->message, sizeof view->message, "The mark '%.200s' is set.", text);
  else
    say(view, action == HWI_CONTROL_ON ? "Recording is on." : "Recording is off; frees still count.");
}

static void switch_recording(struct hwi_view *view)
{
  if (view->rows)
    control(view, view->rows->is_off ? HWI_CONTROL_ON : HWI_CONTROL_OFF, "");
  view->wants_figures = true;
}

/* --- time --- */

static void undo_reset(struct hwi_view *view)
{
  if (view->reset_count == 0)
    say(view, "There is no reset to undo.");
  else
    view->reset_count--;
  view->wants_figures = true;
}

static void change_interval(struct hwi_view *view, int step)
{
  static const uint32_t intervals[] = {100, 200, 500, 1000, 2000, 5000, 10000};
  enum { COUNT = sizeof intervals / sizeof *intervals };
  int at = 0;
  while (intervals[at] != view->interval_ms)
    at++;
  at += step;
  if (at >= 0 && at < COUNT)
    view->interval_ms = intervals[at];
}

/* --- the keys --- */

static size_t character_bytes(uint32_t key, char bytes[4])
{
  if (key < 0x80) {
    bytes[0] = (char)key;
    return 1;
  }
  const size_t count = key < 0x800 ? 2 : key < 0x10000 ? 3 : 4;
  for (size_t i = count; i-- > 1; key >>= 6)
    bytes[i] = (char)(0x80 | (key & 0x3f));
  bytes[0] = (char)((0xf00 >> count & 0xf0) | key);
  return count;
}

static void end_prompt(struct hwi_view *view)
{
  const enum hwi_view_prompt prompt = view->prompt;
  view->prompt = HWI_PROMPT_NONE;
  if (prompt == HWI_PROMPT_FILTER)
    add_filter(view);
  else
    control(view, HWI_CONTROL_MARK, view->input[0] != '\0' ? view->input : "mark");
}

static void take_in_prompt(struct hwi_view *view, uint32_t key)
{
  enum { DELETE = 0x7f };
  char bytes[4];
  size_t used = strlen(view->input);
  if (key == HWI_KEY_ENTER) {
    end_prompt(view);
  } else if (key == HWI_KEY_ESCAPE) {
    view->prompt = HWI_PROMPT_NONE;
  } else if (key == HWI_KEY_BACKSPACE || key == DELETE) {
    while (used > 0 && ((unsigned char)view->input[--used] & 0xc0) == 0x80)
      ; /* the later bytes of a character */
    view->input[used] = '\0';
  } else if (key >= ' ' && key < HWI_KEY_BEYOND_UNICODE) {
    const size_t count = character_bytes(key, bytes);
    if (used + count < sizeof view->input) {
      memcpy(view->input + used, bytes, count);
      view->input[used + count] = '\0';
    }
  }
}

static void begin_prompt(struct hwi_view *view, enum hwi_view_prompt prompt)
{
  view->prompt = prompt;
  view->input[0] = '\0';
}

static void move(struct hwi_view *view, uint32_t key)
{
  const size_t room = hwi_view_room(view);
  switch (key) {
  case HWI_KEY_UP:
    move_by(view, false, 1);
    break;
  case HWI_KEY_DOWN:
    move_by(view, true, 1);
    break;
  case HWI_KEY_PAGE_UP:
    move_by(view, false, room);
    break;
  case HWI_KEY_PAGE_DOWN:
    move_by(view, true, room);
    break;
  case HWI_KEY_HOME:
    move_to(view, 0);
    break;
  case HWI_KEY_END:
    move_to(view, SIZE_MAX);
    break;
  default:
    break;
  }
}

static void choose_rows(struct hwi_view *view, uint32_t key)
{
  const uint32_t by = view->by, last = HWI_LIVE_BYS - 1;
  switch (key) {
  case HWI_KEY_TAB:
    show_rows(view, (enum hwi_live_by)(by == last ? 0 : by + 1));
    break;
  case HWI_KEY_BACK_TAB:
    show_rows(view, (enum hwi_live_by)(by == 0 ? last : by - 1));
    break;
  case '<':
  case HWI_KEY_LEFT:
    sort_by_next(view, -1);
    break;
  case '>':
  case HWI_KEY_RIGHT:
    sort_by_next(view, 1);
    break;
  case '/':
    begin_prompt(view, HWI_PROMPT_FILTER);
    break;
  case HWI_KEY_ENTER:
    open_row(view);
    break;
  case HWI_KEY_ESCAPE:
    go_back(view);
    break;
  default:
    if (key > '0' && key <= '0' + HWI_LIVE_BYS)
      show_rows(view, (enum hwi_live_by)(key - '1'));
    else
      move(view, key);
  }
}

void hwi_keys_take(struct hwi_view *view, uint32_t key)
{
  view->wants_redraw = true;
  if (key == HWI_KEY_RESIZE) {
    view->wants_figures = true; /* names have another width */
    return;
  }
  view->message[0] = '\0';
  if (view->prompt != HWI_PROMPT_NONE) {
    take_in_prompt(view, key);
    return;
  }
  if (view->has_help) {
    view->has_help = false;
    view->wants_end = key == 'q';
    return;
  }
  switch (key) {
  case 'q':
    view->wants_end = true;
    break;
  case '?':
    view->has_help = true;
    break;
  case ' ':
    view->is_paused = !view->is_paused;
    view->wants_figures |= !view->is_paused;
    break;
  case 'r':
    view->wants_reset = true;
    break;
  case 'u':
    undo_reset(view);
    break;
  case '+':
    change_interval(view, -1);
    break;
  case '-':
    change_interval(view, 1);
    break;
  case 'm':
    begin_prompt(view, HWI_PROMPT_MARK);
    break;
  case 'o':
    switch_recording(view);
    break;
  default:
    choose_rows(view, key);
  }
}
