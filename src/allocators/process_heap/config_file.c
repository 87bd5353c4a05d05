/* config_file.c - the config of a process's heap from a file */
#include "allocators/process_heap/config_file.h"

#include <string.h>

#include "allocators/message.h"
#include "platform/os.h"

enum { FILE_BYTES = 64 << 10, MOST_WRONG_LINES = 10, FIRST_PRINTABLE = ' ', LAST_PRINTABLE = '~' };

static const char blanks[] = " \t\r", separators[] = " \t\r="; /* of a name and its value */

struct reading {
  struct hwi_heap_settings *settings;
  struct hwi_config_lines *lines;
  unsigned line, wrong_lines;
};

/* --- reports --- */

void hwi_config_lines_print(struct hwi_message *message, const struct hwi_config_lines *lines, unsigned line)
{
  hwi_message_text(message, lines->path);
  hwi_message_text(message, ":");
  hwi_message_number(message, line);
  hwi_message_text(message, ": ");
}

/* `name` may be "". */
static void report(struct reading *reading, const char *name, const char *what)
{
  struct hwi_message message;
  hwi_message_begin(&message);
  hwi_config_lines_print(&message, reading->lines, reading->line);
  hwi_message_text(&message, name);
  hwi_message_text(&message, *name ? " " : "");
  hwi_message_text(&message, what);
  hwi_message_text(&message, "; the line has no effect");
  hwi_message_print(&message);
  reading->wrong_lines++;
}

static void report_file(const char *path, const char *what, long error)
{
  struct hwi_message message;
  hwi_message_begin(&message);
  hwi_message_text(&message, HWI_HEAP_CONFIG_VARIABLE "=");
  hwi_message_text(&message, path);
  hwi_message_text(&message, what);
  if (error < 0)
    hwi_message_error(&message, error);
  hwi_message_print(&message);
}

/* --- lines --- */

static bool is_text(const char *text, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++)
    if ((text[i] < FIRST_PRINTABLE || text[i] > LAST_PRINTABLE) && (!text[i] || !strchr(blanks, text[i])))
      return false;
  return true;
}

static void read_field(struct reading *reading, const char *name, const char *value)
{
  const struct hwi_heap_field *field = hwi_heap_field_find(name);
  if (!field)
    report(reading, name, "is no field of a heap's config");
  else if (!*value)
    report(reading, name, "has no value");
  else if (reading->lines->of[field - hwi_heap_fields])
    report(reading, name, "was set in an earlier line");
  else if (field->kind != HWI_FIELD_LIST && strpbrk(value, blanks))
    report(reading, name, "must be one value");
  else if (!hwi_heap_field_read(reading->settings, field, value))
    report(reading, name, hwi_heap_field_text_rule(field));
  else
    reading->lines->of[field - hwi_heap_fields] = reading->line;
}

/* `text` is followed by a NUL. */
static void read_line(struct reading *reading, char *text, size_t bytes)
{
  char *comment = (char *)memchr(text, '#', bytes);
  if (comment)
    bytes = (size_t)(comment - text);
  if (!is_text(text, bytes)) {
    report(reading, "", "this is not text");
    return;
  }
  while (bytes > 0 && strchr(blanks, text[bytes - 1]))
    bytes--;
  text[bytes] = 0;
  char *name = text + strspn(text, blanks), *end = name + strcspn(name, separators);
  if (!*name)
    return;
  if (end == name) {
    report(reading, "", "there is no name before the =");
    return;
  }
  char *value = end + strspn(end, blanks);
  value += *value == '=';
  value += strspn(value, blanks);
  *end = 0;
  read_field(reading, name, value);
}

/* --- the file --- */

static void read_lines(struct reading *reading, char *text, size_t bytes)
{
  for (char *end; bytes > 0; bytes -= (size_t)(end - text), text = end) {
    char *newline = (char *)memchr(text, '\n', bytes);
    end = newline ? newline + 1 : text + bytes;
    reading->line++;
    read_line(reading, text, (size_t)((newline ? newline : end) - text));
    if (reading->wrong_lines == MOST_WRONG_LINES) {
      report_file(reading->lines->path, " has many wrong lines: the rest of it is not read", 0);
      return;
    }
  }
}

void hwi_config_file_read(struct hwi_heap_settings *settings, struct hwi_config_lines *lines, const char *path)
{
  struct reading reading = {.settings = settings, .lines = lines};
  char *text = (char *)hwi_os_map(FILE_BYTES);
  long bytes = text ? hwi_os_read_file(path, text, FILE_BYTES) : 0;
  *lines = (struct hwi_config_lines){.path = path};
  if (!text)
    report_file(path, ": there is no memory to read it", 0);
  else if (bytes < 0)
    report_file(path, " cannot be read", bytes);
  else if (bytes == FILE_BYTES)
    report_file(path, " is larger than 64 KiB: it is not read", 0);
  else
    read_lines(&reading, text, (size_t)bytes);
  if (text)
    hwi_os_unmap(text, FILE_BYTES);
}
