/* json.h - writes JSON to a stream, so that a document of any size needs no memory
 *
 * jansson escapes the strings; bytes that are not UTF-8 become U+FFFD. Misuse (a key outside an object) is not
 * detected. No function returns a status: if there was no memory, `failed` is set; write errors are in the stream
 * (ferror). The caller checks both once, at the end.
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

/* `key`, here and below, is NULL in arrays. It must need no escapes. */
void hwi_json_begin_object(struct hwi_json *json, const char *key);
void hwi_json_end_object(struct hwi_json *json);
void hwi_json_begin_array(struct hwi_json *json, const char *key);
void hwi_json_end_array(struct hwi_json *json);

void hwi_json_number(struct hwi_json *json, const char *key, uint64_t value);
void hwi_json_signed(struct hwi_json *json, const char *key, int64_t value);
void hwi_json_print_real(FILE *out, double value);                        /* the number alone; it must be finite */
void hwi_json_real(struct hwi_json *json, const char *key, double value); /* finite, else null; as exact as a double */
void hwi_json_decimal(struct hwi_json *json, const char *key, double value); /* one decimal place */
void hwi_json_bool(struct hwi_json *json, const char *key, bool value);
void hwi_json_text(struct hwi_json *json, const char *key, const char *value); /* NULL: null */
/* `value` is not NULL. If it is wider than `cells` character cells, its middle is left out. */
void hwi_json_short_text(struct hwi_json *json, const char *key, const char *value, size_t cells);

/* Between these two, the caller writes the string to json->out: characters that need no escapes. */
void hwi_json_begin_text(struct hwi_json *json, const char *key);
void hwi_json_end_text(struct hwi_json *json);

/* Writes a value that was rendered before, or several with commas between. */
void hwi_json_raw(struct hwi_json *json, const char *text);

/* Returns `value` as a JSON string, or "null" if it is NULL; the caller frees it. Returns NULL if there is no
 * memory. */
char *hwi_json_quoted(const char *value);

#endif
