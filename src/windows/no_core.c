/* no_core.c - the tool for Windows reads no core dumps: no report has the memory of a process, so that these functions are not called
 */
#include "export/import/foreign.h"
#include "memory/image/core_file.h"
#include "report/json/members.h"
#include "report/text/text.h"

bool hwi_core_file_is(const char *path)
{
  (void)path;
  return false;
}

/* A recording of another tool is not recognised either. */
const struct hwi_foreign_format *hwi_foreign_format_of(const char *path)
{
  (void)path;
  return NULL;
}

void hwi_json_core(struct hwi_json *json, const struct hwi_report *report)
{
  (void)json, (void)report;
}

int hwi_json_core_leaks(struct hwi_json *json, const struct hwi_report *report, const struct hwi_json_stacks *stacks,
                        struct hwi_error *error)
{
  (void)json, (void)report, (void)stacks, (void)error;
  return HW_OK;
}

void hwi_text_core(struct hwi_text *text, const struct hwi_core *core)
{
  (void)text, (void)core;
}

int hwi_text_core_leaks(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_error *error)
{
  (void)text, (void)frames, (void)error;
  return HW_OK;
}

void hwi_text_core_contents(struct hwi_text *text, const struct hwi_core *core)
{
  (void)text, (void)core;
}

void hwi_text_core_parts(struct hwi_text *text, const struct hwi_core *core)
{
  (void)text, (void)core;
}

void hwi_text_core_last_calls(struct hwi_text *text, const struct hwi_core *core)
{
  (void)text, (void)core;
}
