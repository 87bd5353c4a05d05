/* check_json.c - verdicts as JSON */
#include <stdlib.h>

#include "compare/blame.h"
#include "report/content/evidence.h"
#include "report/json/frames.h"

#define SCHEMA "heapwright-check/1"

struct writer {
  struct hwi_json json;
  struct hwi_check *check;
  struct hwi_json_frames frames;
};

static void write_blame(struct writer *writer, const struct hwi_verdict *verdict)
{
  struct hwi_json *json = &writer->json;
  struct hwi_blames blames = {0};
  if (verdict->state == HWI_VERDICT_FAILED)
    json->failed |= hwi_blames_init(&blames, writer->check, verdict, NULL) < 0;
  hwi_json_begin_array(json, "stacks");
  for (size_t i = 0; i < blames.count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "figure", blames.items[i].figure);
    if (verdict->growth)
      hwi_json_number(json, "growth", blames.items[i].growth);
    hwi_json_begin_array(json, "stack");
    hwi_json_frames_write(&writer->frames, json, blames.items[i].stack);
    hwi_json_end_array(json);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  hwi_blames_release(&blames);
}

static void write_verdict(struct writer *writer, const struct hwi_verdict *verdict)
{
  static const char *const states[] = {"ok", "failed", "unknown"};
  struct hwi_json *json = &writer->json;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "rule", verdict->budget->text);
  hwi_json_text(json, "verdict", states[verdict->state]);
  hwi_json_text(json, "figure_of", hwi_budget_figure_name(verdict->budget));
  hwi_json_number(json, "figure", verdict->measure->figure);
  hwi_json_number(json, "limit", verdict->limit);
  if (verdict->budget->limit.kind != HWI_LIMIT_FIGURE)
    hwi_json_number(json, "baseline", verdict->baseline);
  hwi_json_text(json, "why", verdict->why);
  hwi_json_begin_array(json, "notes");
  for (size_t i = 0; i < verdict->note_count; i++)
    hwi_json_text(json, NULL, verdict->notes[i]);
  hwi_json_end_array(json);
  write_blame(writer, verdict);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

static void write_check(struct writer *writer)
{
  static const char *const states[] = {"ok", "failed", "unknown"};
  struct hwi_json *json = &writer->json;
  const struct hwi_check *check = writer->check;
  const struct hwi_image *image = hwi_largest_image(check->report.profile, NULL);
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "schema", SCHEMA);
  if (image) {
    hwi_json_text(json, "trace", image->info->path);
    hwi_json_text(json, "command", image->info->command);
  }
  hwi_json_text(json, "verdict", states[hwi_check_state(check)]);
  hwi_json_begin_array(json, "rules");
  for (size_t i = 0; i < check->budgets->count; i++)
    write_verdict(writer, &check->verdicts[i]);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

int hwi_check_json(struct hwi_check *check, FILE *out, struct hwi_error *error)
{
  struct writer writer = {.json = {.out = out, .first = true}, .check = check};
  int status = hwi_json_frames_init(&writer.frames, &check->frames, error);
  if (status == HW_OK) {
    write_check(&writer);
    if (writer.json.failed)
      status = hwi_error_set(error, HW_ERR_MEMORY, "no memory: the verdicts are not complete");
    hwi_json_frames_release(&writer.frames);
  }
  return status;
}
