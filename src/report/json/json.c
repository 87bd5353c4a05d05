/* json.c - writes JSON to a stream */
#include "report/json/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/words/line.h"

static void separate(struct hwi_json *json, const char *key)
{
  if (!json->first)
    fputc(',', json->out);
  json->first = false;
  if (key)
    fprintf(json->out, "\"%s\":", key);
}

void hwi_json_begin_object(struct hwi_json *json, const char *key)
{
  separate(json, key);
  fputc('{', json->out);
  json->first = true;
}

void hwi_json_end_object(struct hwi_json *json)
{
  fputc('}', json->out);
  json->first = false;
}

void hwi_json_begin_array(struct hwi_json *json, const char *key)
{
  separate(json, key);
  fputs(key ? "[\n" : "[", json->out); /* in a long list, each item is a line */
  json->first = true;
}

void hwi_json_end_array(struct hwi_json *json)
{
  fputc(']', json->out);
  json->first = false;
}

void hwi_json_number(struct hwi_json *json, const char *key, uint64_t value)
{
  separate(json, key);
  fprintf(json->out, "%" PRIu64, value);
}

void hwi_json_signed(struct hwi_json *json, const char *key, int64_t value)
{
  separate(json, key);
  fprintf(json->out, "%" PRId64, value);
}

void hwi_json_print_real(FILE *out, double value)
{
  enum { BYTES = 40 };
  char text[BYTES];
  snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value)
    snprintf(text, sizeof text, "%.17g", value);
  fputs(text, out);
}

void hwi_json_real(struct hwi_json *json, const char *key, double value)
{
  separate(json, key);
  if (isfinite(value))
    hwi_json_print_real(json->out, value);
  else
    fputs("null", json->out);
}

void hwi_json_decimal(struct hwi_json *json, const char *key, double value)
{
  separate(json, key);
  fprintf(json->out, "%.1f", value);
}

void hwi_json_bool(struct hwi_json *json, const char *key, bool value)
{
  separate(json, key);
  fputs(value ? "true" : "false", json->out);
}

char *hwi_json_quoted(const char *value)
{
  if (!value)
    return strdup("null");
  json_t *string = json_string(value);
  if (!string) { /* not UTF-8 */
    struct hwi_line line = {0};
    hwi_line_replace_invalid(&line, value);
    string = json_string(hwi_line_text(&line));
    hwi_line_release(&line);
  }
  char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
  json_decref(string);
  return text;
}

void hwi_json_text(struct hwi_json *json, const char *key, const char *value)
{
  char *text = hwi_json_quoted(value);
  separate(json, key);
  fputs(text ? text : "null", json->out);
  json->failed |= !text;
  free(text);
}

void hwi_json_short_text(struct hwi_json *json, const char *key, const char *value, size_t cells)
{
  struct hwi_line whole = {0}, line = {0};
  if (strlen(value) > cells) {
    hwi_line_replace_invalid(&whole, value);
    hwi_line_shorten(&line, hwi_line_text(&whole), cells, "…");
  }
  hwi_json_text(json, key, line.bytes > 0 ? hwi_line_text(&line) : value);
  json->failed |= whole.failed || line.failed;
  hwi_line_release(&whole);
  hwi_line_release(&line);
}

void hwi_json_begin_text(struct hwi_json *json, const char *key)
{
  separate(json, key);
  fputc('"', json->out);
}

void hwi_json_end_text(struct hwi_json *json)
{
  fputc('"', json->out);
}

void hwi_json_raw(struct hwi_json *json, const char *text)
{
  separate(json, NULL);
  fputs(text, json->out);
}
