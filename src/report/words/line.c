/* line.c - builds a line of text, and measures its width on a terminal */
#define _GNU_SOURCE
#include "report/words/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/base_name.h"
#include "report/words/number.h"

void hwi_line_release(struct hwi_line *line)
{
  free(line->text);
  *line = (struct hwi_line){0};
}

void hwi_line_release_part(struct hwi_line *line, struct hwi_line *part)
{
  line->failed |= part->failed;
  hwi_line_release(part);
}

void hwi_line_clear(struct hwi_line *line)
{
  line->bytes = 0;
  if (line->text)
    line->text[0] = '\0';
}

const char *hwi_line_text(const struct hwi_line *line)
{
  return line->text ? line->text : "";
}

static bool make_room(struct hwi_line *line, size_t bytes)
{
  enum { ROOM_MIN = 256 };
  if (line->bytes + bytes < line->room)
    return true;
  size_t room = (line->bytes + bytes + 1) * 2;
  char *text = realloc(line->text, room < ROOM_MIN ? ROOM_MIN : room);
  if (!text) {
    line->failed = true;
    return false;
  }
  line->text = text;
  line->room = room < ROOM_MIN ? ROOM_MIN : room;
  return true;
}

void hwi_line_add(struct hwi_line *line, const char *text, size_t bytes)
{
  if (!make_room(line, bytes))
    return;
  memcpy(line->text + line->bytes, text, bytes);
  line->bytes += bytes;
  line->text[line->bytes] = '\0';
}

void hwi_line_puts(struct hwi_line *line, const char *text)
{
  hwi_line_add(line, text, strlen(text));
}

void hwi_line_printf(struct hwi_line *line, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int bytes = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (bytes < 0 || !make_room(line, (size_t)bytes))
    return;
  va_start(arguments, format);
  vsnprintf(line->text + line->bytes, (size_t)bytes + 1, format, arguments);
  va_end(arguments);
  line->bytes += (size_t)bytes;
}

void hwi_line_repeat(struct hwi_line *line, const char *text, size_t times)
{
  for (; times > 0; times--)
    hwi_line_puts(line, text);
}

void hwi_line_counted(struct hwi_line *line, uint64_t count, const char *noun)
{
  hwi_line_printf(line, "%s %s%s", hwi_count_text(count).text, noun, count == 1 ? "" : "s");
}

/* --- UTF-8 --- */

/* Returns the length of the character at `text` (1 to 4), and its code point; 0 if there is no valid one. */
static size_t decode(const char *text, uint32_t *point)
{
  const unsigned char *at = (const unsigned char *)text;
  static const struct {
    unsigned char mask, lead, bytes;
    uint32_t smallest;
  } forms[] = {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if ((at[0] & forms[i].mask) != forms[i].lead)
      continue;
    uint32_t value = at[0] & (unsigned char)~forms[i].mask;
    for (size_t k = 1; k < forms[i].bytes; k++) {
      if ((at[k] & 0xc0) != 0x80)
        return 0;
      value = value << 6 | (at[k] & 0x3f);
    }
    bool surrogate = value >= 0xd800 && value <= 0xdfff;
    if (value < forms[i].smallest || surrogate || value > 0x10ffff)
      return 0;
    *point = value;
    return forms[i].bytes;
  }
  return 0;
}

static bool is_control(uint32_t point)
{
  bool bidirectional = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029 || bidirectional;
}

void hwi_line_clean(struct hwi_line *line, const char *text)
{
  while (*text != '\0') {
    uint32_t point;
    size_t bytes = decode(text, &point);
    if (bytes > 0 && !is_control(point)) {
      hwi_line_add(line, text, bytes);
    } else if (*text == '\n' || *text == '\t') {
      hwi_line_puts(line, *text == '\n' ? "\\n" : "\\t");
    } else {
      bytes = bytes > 0 ? bytes : 1;
      for (size_t i = 0; i < bytes; i++)
        hwi_line_printf(line, "\\x%02x", (unsigned char)text[i]);
    }
    text += bytes > 0 ? bytes : 1;
  }
}

void hwi_line_replace_invalid(struct hwi_line *line, const char *text)
{
  while (*text != '\0') {
    uint32_t point;
    size_t bytes = decode(text, &point);
    if (bytes > 0)
      hwi_line_add(line, text, bytes);
    else
      hwi_line_puts(line, "\xef\xbf\xbd");
    text += bytes > 0 ? bytes : 1;
  }
}

/* Returns the cells of the character at `text`, and stores its length. */
static size_t character_cells(const char *text, size_t *bytes)
{
  uint32_t point;
  *bytes = decode(text, &point);
  if (*bytes == 0) {
    *bytes = 1;
    return 1;
  }
  int width = wcwidth((wchar_t)point);
  return width >= 0 ? (size_t)width : 1;
}

size_t hwi_cells(const char *text)
{
  size_t cells = 0, bytes;
  for (; *text != '\0'; text += bytes)
    cells += character_cells(text, &bytes);
  return cells;
}

size_t hwi_cells_prefix(const char *text, size_t cells)
{
  const char *at = text;
  for (size_t bytes; *at != '\0'; at += bytes) {
    size_t width = character_cells(at, &bytes);
    if (width > cells)
      break;
    cells -= width;
  }
  return (size_t)(at - text);
}

/* --- fields --- */

void hwi_line_pad(struct hwi_line *line, size_t cells)
{
  const char *text = hwi_line_text(line);
  const char *last = strrchr(text, '\n');
  last = last ? last + 1 : text;
  size_t used = hwi_cells(last);
  if (used < cells)
    hwi_line_repeat(line, " ", cells - used);
  else if (used > 0)
    hwi_line_puts(line, " ");
}

void hwi_line_right(struct hwi_line *line, const char *text, size_t cells)
{
  size_t used = hwi_cells(text);
  hwi_line_repeat(line, " ", used < cells ? cells - used : 0);
  hwi_line_puts(line, text);
}

void hwi_line_left(struct hwi_line *line, const char *text, size_t cells)
{
  size_t used = hwi_cells(text);
  hwi_line_puts(line, text);
  hwi_line_repeat(line, " ", used < cells ? cells - used : 0);
}

void hwi_line_shorten(struct hwi_line *line, const char *text, size_t cells, const char *ellipsis)
{
  size_t all = hwi_cells(text), mark = hwi_cells(ellipsis);
  if (all <= cells) {
    hwi_line_puts(line, text);
    return;
  }
  if (cells <= mark) {
    hwi_line_add(line, text, hwi_cells_prefix(text, cells));
    return;
  }
  size_t head = (cells - mark) / 2, tail = cells - mark - head;
  hwi_line_add(line, text, hwi_cells_prefix(text, head));
  hwi_line_puts(line, ellipsis);
  const char *rest = text + hwi_cells_prefix(text, all - tail);
  while (hwi_cells(rest) > tail) { /* the cut is within a wide character */
    size_t bytes;
    character_cells(rest, &bytes);
    rest += bytes;
  }
  hwi_line_puts(line, rest);
}

void hwi_line_path(struct hwi_line *line, const char *path, unsigned source_line, size_t cells, const char *ellipsis)
{
  struct hwi_line whole = {0};
  hwi_line_clean(&whole, path);
  if (source_line > 0)
    hwi_line_printf(&whole, ":%u", source_line);
  const char *text = hwi_line_text(&whole), *best = hwi_base_name(text);
  for (const char *at = best; at > text && hwi_cells(at) <= cells; at--) {
    if (at[-1] == '/')
      best = at;
  }
  if (hwi_cells(text) <= cells)
    best = text;
  hwi_line_shorten(line, best, cells, ellipsis);
  hwi_line_release_part(line, &whole);
}

/* --- words of a shell --- */

static bool needs_quotes(const char *word)
{
  static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  return *word == '\0' || word[strspn(word, harmless)] != '\0';
}

/* Whether a terminal shows it as it is. */
static bool is_clean(const char *word)
{
  struct hwi_line clean = {0};
  hwi_line_clean(&clean, word);
  bool same = strcmp(hwi_line_text(&clean), word) == 0;
  hwi_line_release(&clean);
  return same;
}

static void add_quoted(struct hwi_line *line, const char *word)
{
  hwi_line_puts(line, "'");
  for (size_t bytes; *word != '\0'; word += bytes) {
    bytes = strcspn(word, "'");
    hwi_line_add(line, word, bytes);
    if (word[bytes] == '\'') {
      hwi_line_puts(line, "'\\''");
      bytes++;
    }
  }
  hwi_line_puts(line, "'");
}

/* Octal escapes have three digits, so that a digit after one cannot belong to it. */
static void add_escaped(struct hwi_line *line, const char *word)
{
  hwi_line_puts(line, "$'");
  for (; *word != '\0'; word++) {
    unsigned char byte = (unsigned char)*word;
    if (byte == '\'' || byte == '\\' || byte > 0x7e || byte < ' ')
      hwi_line_printf(line, "\\%03o", byte);
    else
      hwi_line_add(line, word, 1);
  }
  hwi_line_puts(line, "'");
}

void hwi_line_shell_word(struct hwi_line *line, const char *word)
{
  if (!needs_quotes(word))
    hwi_line_puts(line, word);
  else if (is_clean(word))
    add_quoted(line, word);
  else
    add_escaped(line, word);
}
