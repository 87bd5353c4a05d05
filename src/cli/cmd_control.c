/* cmd_control.c - heapwright control: switches a recording while it runs, names a moment, or saves what there is */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "launch/control.h"
#include "launch/save.h"
#include "report/words/number.h"

struct values {
  bool only_this;
  const char *output;
};

static const struct values defaults = {0};

static const struct hwi_option options[] = {
    {.name = "only-this", HWI_VALUE(ON, only_this), .help = "this process alone, not all of its run"},
    {.name = "output", .letter = 'o', HWI_VALUE(TEXT, output), .value = "FILE", .help = "for save: the trace to make"},
    {.name = NULL},
};

static int save(const struct values *values, const char *target)
{
  struct hwi_saved saved;
  struct hwi_error error = {0};
  char *path = NULL;
  if (!values->output || values->output[0] == '\0')
    return hwi_fail(HWI_EXIT_TROUBLE, "save needs -o FILE");
  if (values->only_this)
    return hwi_fail(HWI_EXIT_TROUBLE, "save saves all of the run: leave --only-this out");
  int status = hwi_control_find(target, &path, &error);
  if (status == 0)
    status = hwi_save(path, values->output, &saved, &error);
  free(path);
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  hwi_warn("%s events up to %s in %s", hwi_count_text(saved.event_count).text, hwi_time_text(saved.until_ns).text,
           hwi_bytes_text(saved.packed_bytes).text);
  if (!saved.goes_on)
    hwi_warn("info: the program had ended, so this is the whole recording");
  return HWI_EXIT_OK;
}

static int run(const void *given, int word_count, char **words)
{
  static const char *const actions[] = {"on", "off", "mark", "save"};
  enum { ACTIONS = sizeof actions / sizeof *actions, SAVE = ACTIONS - 1 };
  const struct values *values = given;
  struct hwi_control_request request = {.text = "mark", .only_this = values->only_this};
  if (word_count < 2)
    return hwi_fail(HWI_EXIT_TROUBLE, "control takes a process or a trace, and on, off, mark [TEXT] or save");
  int action = 0;
  while (action < ACTIONS && strcmp(words[1], actions[action]) != 0)
    action++;
  if (action == ACTIONS)
    return hwi_fail(HWI_EXIT_TROUBLE, "'%s' is not one of on, off, mark and save", words[1]);
  request.target = words[0];
  request.action = (enum hwi_control_action)action;
  int words_taken = 2;
  if (action == HWI_CONTROL_MARK && word_count > 2)
    request.text = words[words_taken++];
  if (word_count > words_taken)
    return hwi_fail(HWI_EXIT_TROUBLE, "'%s' is one word too many; a TEXT with blanks needs quotes", words[words_taken]);
  if (strlen(request.text) > HWI_CONTROL_TEXT_BYTES)
    return hwi_fail(HWI_EXIT_TROUBLE, "the text of a mark has at most %d bytes", HWI_CONTROL_TEXT_BYTES);
  if (action == SAVE)
    return save(values, words[0]);
  if (values->output)
    return hwi_fail(HWI_EXIT_TROUBLE, "-o is only for save");
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
    .summary = "switch a recording on or off while it runs, name a moment, or save it so far",
    .usage = "[options] PID|TRACE on|off|mark [TEXT]|save",
    .details =
        "Reaches all processes of the run that PID or TRACE belongs to. While recording is off, frees of blocks that\n"
        "were recorded still are, so that no false leak results. Save makes a trace of what was recorded so far,\n"
        "which every command reads, and disturbs nothing.\n"
        "\n"
        "examples:\n"
        "  heapwright control 4711 off                stop recording from here on\n"
        "  heapwright control app.hwt mark 'loaded'   name this moment\n"
        "  heapwright control 4711 save -o now.hwt    make a trace of what there is now\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
