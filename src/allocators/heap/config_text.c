/* config_text.c - the fields of a general heap's config as text */
#include "allocators/heap/config.h"

#include <stdint.h>
#include <string.h>

#include "allocators/message.h"
#include "base/size_text.h"

enum { MOST_DIGITS = 32 }; /* of a number with its suffix */

static const char blanks[] = " \t";
static const char separators[] = ", \t"; /* of numbers */
static const char default_word[] = "default";

/* Reads the next number of a list, and moves *text past it. */
static bool read_number(const char **text, size_t bias, size_t *value)
{
  char word[MOST_DIGITS];
  size_t bytes = strcspn(*text, separators);
  uint64_t number;
  if (bytes >= sizeof word)
    return false;
  memcpy(word, *text, bytes);
  word[bytes] = 0;
  *text += bytes;
  return hwi_size_parse(word, &number) && !__builtin_add_overflow(number, bias, value);
}

/* Moves *text to the next number of a list, or to its end. Returns false if the list ends after a comma. */
static bool skip_separator(const char **text)
{
  *text += strspn(*text, blanks);
  if (**text != ',')
    return true;
  *text += 1 + strspn(*text + 1, blanks);
  return **text;
}

static bool read_list(size_t list[HW_HEAP_MOST_CLASSES], size_t *count, const char *text)
{
  size_t found = 0;
  text += strspn(text, blanks);
  do
    if (found == HW_HEAP_MOST_CLASSES || !read_number(&text, 0, &list[found++]) || !skip_separator(&text))
      return false;
  while (*text);
  *count = found;
  return true;
}

static bool read_word(const struct hwi_heap_field *field, const char *text, unsigned *value)
{
  for (unsigned i = 0; field->words[i]; i++)
    if (!strcmp(field->words[i], text)) {
      *value = i;
      return true;
    }
  return false;
}

static void set(struct hw_heap_config *config, size_t offset, const void *value, size_t bytes)
{
  memcpy((char *)config + offset, value, bytes);
}

static bool set_list(struct hwi_heap_settings *settings, const struct hwi_heap_field *field, const char *text)
{
  size_t found[HW_HEAP_MOST_CLASSES], count;
  const size_t *list = settings->lists[field - hwi_heap_fields];
  if (!read_list(found, &count, text))
    return false;
  memcpy(settings->lists[field - hwi_heap_fields], found, count * sizeof *found);
  set(&settings->config, field->offset, &list, sizeof list);
  set(&settings->config, field->count_offset, &count, sizeof count);
  return true;
}

static bool is_default(const struct hwi_heap_field *field, const char *text)
{
  return !strcmp(text, default_word) || (field->default_text && !strcmp(text, field->default_text));
}

bool hwi_heap_field_read(struct hwi_heap_settings *settings, const struct hwi_heap_field *field, const char *text)
{
  size_t number;
  unsigned word;
  if (is_default(field, text)) {
    hwi_heap_field_clear(settings, field);
    return true;
  }
  if (field->kind == HWI_FIELD_LIST)
    return set_list(settings, field, text);
  if (field->kind == HWI_FIELD_NUMBER) {
    if (!read_number(&text, field->bias, &number) || *text || (number == 0 && field->least > 0))
      return false;
    set(&settings->config, field->offset, &number, sizeof number);
    return true;
  }
  if (!read_word(field, text, &word))
    return false;
  bool flag = word;
  if (field->kind == HWI_FIELD_FLAG)
    set(&settings->config, field->offset, &flag, sizeof flag);
  else
    set(&settings->config, field->offset, &word, sizeof word);
  return true;
}

void hwi_heap_field_clear(struct hwi_heap_settings *settings, const struct hwi_heap_field *field)
{
  static const size_t nothing = 0;
  size_t bytes = field->kind == HWI_FIELD_FLAG   ? sizeof(bool)
                 : field->kind == HWI_FIELD_WORD ? sizeof(unsigned)
                                                 : sizeof nothing;
  set(&settings->config, field->offset, &nothing, bytes);
  if (field->kind == HWI_FIELD_LIST)
    set(&settings->config, field->count_offset, &nothing, sizeof nothing);
}

/* One number is for all classes. */
static size_t count_to_print(const size_t *list, size_t count)
{
  for (size_t i = 1; i < count; i++)
    if (list[i] != list[0])
      return count;
  return 1;
}

void hwi_heap_field_print(struct hwi_message *line, const struct hw_heap_config *config,
                          const struct hwi_heap_field *field)
{
  if (field->kind == HWI_FIELD_LIST) {
    const size_t *list = hwi_heap_field_list(config, field);
    size_t count = list ? count_to_print(list, hwi_heap_field_count(config, field)) : 0;
    for (size_t i = 0; i < count; i++) {
      hwi_message_text(line, i ? "," : "");
      hwi_message_number(line, list[i]);
    }
    return;
  }
  size_t value = hwi_heap_field_value(config, field);
  if (field->words)
    hwi_message_text(line, field->words[value]);
  else if (value == 0 && field->least > 0)
    hwi_message_text(line, default_word);
  else
    hwi_message_number(line, value - field->bias);
}
