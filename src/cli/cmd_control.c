/* cmd_control.c - heapwright control: switches a recording while it runs, or names a moment */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "launch/control.h"

struct values {
  bool only_this;
};

static const struct values defaults = {0};

static const struct hwi_option options[] = {
    {.name = "only-this", HWI_VALUE(ON, only_this), .help = "this process alone, not all of its run"},
    {.name = NULL},
};

static int run(const void *given, int word_count, char **words)
{
  static const char *const actions[] = {"on", "off", "mark"};
  enum { ACTIONS = sizeof actions / sizeof *actions };
  const struct values *values = given;
  struct hwi_control_request request = {.text = "mark", .only_this = values->only_this};
  if (word_count < 2)
    return hwi_fail(HWI_EXIT_TROUBLE, "control takes a process or a trace, and on, off or mark [TEXT]");
  int action = 0;
  while (action < ACTIONS && strcmp(words[1], actions[action]) != 0)
    action++;
  if (action == ACTIONS)
    return hwi_fail(HWI_EXIT_TROUBLE, "'%s' is not one of on, off and mark", words[1]);
  request.target = words[0];
  request.action = (enum hwi_control_action)action;
  int words_taken = 2;
  if (request.action == HWI_CONTROL_MARK && word_count > 2)
    request.text = words[words_taken++];
  if (word_count > words_taken)
    return hwi_fail(HWI_EXIT_TROUBLE, "'%s' is one word too many; a TEXT with blanks needs quotes", words[words_taken]);
  if (strlen(request.text) > HWI_CONTROL_TEXT_BYTES)
    return hwi_fail(HWI_EXIT_TROUBLE, "the text of a mark has at most %d bytes", HWI_CONTROL_TEXT_BYTES);
  struct hwi_controlled controlled;
  struct hwi_error error = {0};
  if (hwi_control(&request, &controlled, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (controlled.changed_count == 0)
    hwi_warn("recording is %s already", words[1]);
  return HWI_EXIT_OK;
}

const struct hwi_command hwi_command_control = {
    .name = "control",
    .summary = "switch a recording on or off while it runs, or name a moment",
    .usage = "[options] PID|TRACE on|off|mark [TEXT]",
    .details =
        "Reaches all processes of the run that PID or TRACE belongs to. While recording is off, frees of blocks that\n"
        "were recorded still are, so that no false leak results.\n"
        "\n"
        "examples:\n"
        "  heapwright control 4711 off                stop recording from here on\n"
        "  heapwright control app.hwt mark 'loaded'   name this moment\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
