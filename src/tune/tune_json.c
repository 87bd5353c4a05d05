/* tune_json.c - the recommended pools for programs */
#include "report/json/json.h"
#include "tune/tune.h"

#define SCHEMA "heapwright-tune/1"

static void write_process(struct hwi_json *json, const struct hwi_tuned *tuned)
{
  const struct hwi_trace_info *info = tuned->image->info;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "command", info->command);
  hwi_json_number(json, "pid", info->header.pid);
  hwi_json_text(json, "trace", info->path);
  hwi_json_number(json, "pool_bytes", tuned->pool_bytes);
  hwi_json_number(json, "asked_bytes", tuned->figures.asked_bytes);
  hwi_json_number(json, "rounding_bytes", hwi_tuned_rounding(tuned));
  hwi_json_number(json, "fragmentation_bytes", hwi_tuned_fragmentation(tuned));
  hwi_json_number(json, "tables_bytes", tuned->figures.tables_bytes);
  hwi_json_number(json, "margin_bytes", hwi_tuned_margin(tuned));
  hwi_json_number(json, "requests", tuned->figures.request_count);
  hwi_json_bool(json, "inherits_unknown", tuned->inherits_unknown);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

int hwi_tune_json(const struct hwi_tune *tune, FILE *out, struct hwi_error *error)
{
  struct hwi_json json = {.out = out, .first = true};
  hwi_json_begin_object(&json, NULL);
  hwi_json_text(&json, "schema", SCHEMA);
  hwi_json_number(&json, "pool_bytes", tune->processes->pool_bytes);
  hwi_json_number(&json, "margin_percent", tune->margin_percent);
  hwi_json_number(&json, "replays", tune->passes);
  hwi_json_begin_array(&json, "processes");
  for (size_t i = 0; i < tune->count; i++)
    write_process(&json, &tune->processes[i]);
  hwi_json_end_array(&json);
  hwi_json_end_object(&json);
  fputc('\n', out);
  return json.failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory: the answer is not complete") : HW_OK;
}
