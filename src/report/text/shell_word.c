/* shell_word.c - words as a shell reads them */
#include "report/text/shell_word.h"

#include <string.h>

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
