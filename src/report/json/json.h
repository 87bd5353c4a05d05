/* json.h - writes JSON as it goes, so that a document of any size needs no memory
 *
 * Strings go through jansson; bytes that are no UTF-8 become U+FFFD. Misuse (a key outside an object) is the caller's.
 * Nothing returns a status: whether there was memory is in `failed`, whether writing worked in the stream (ferror). Both are to be
 * asked once, at the end.
 */
#ifndef HWI_REPORT_JSON_JSON_H
#define HWI_REPORT_JSON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hwi_json {
  FILE *out;
  bool first;  /* in the innermost array or object: no comma yet */
  bool failed; /* no memory for a string */
};

/* `key`, here and below: NULL in arrays. It is borrowed, and needs no escape. */
void hwi_json_begin_object(struct hwi_json *json, const char *key);
void hwi_json_end_object(struct hwi_json *json);
void hwi_json_begin_array(struct hwi_json *json, const char *key);
void hwi_json_end_array(struct hwi_json *json);

void hwi_json_number(struct hwi_json *json, const char *key, uint64_t value);
void hwi_json_signed(struct hwi_json *json, const char *key, int64_t value);
void hwi_json_bool(struct hwi_json *json, const char *key, bool value);
void hwi_json_text(struct hwi_json *json, const char *key, const char *value); /* NULL: null */
/* With its middle left out where it is wider than so many character cells; not NULL. */
void hwi_json_short_text(struct hwi_json *json, const char *key, const char *value, size_t cells);

/* A string that the caller writes to json->out between the two: characters that need no escape. */
void hwi_json_begin_text(struct hwi_json *json, const char *key);
void hwi_json_end_text(struct hwi_json *json);

/* A value that was rendered before, or several with commas between. */
void hwi_json_raw(struct hwi_json *json, const char *text);

/* `value` as a JSON string, or "null" where it is NULL; to be freed. NULL: no memory. */
char *hwi_json_quoted(const char *value);

#endif
