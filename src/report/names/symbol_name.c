/* symbol_name.c - shortens the name of a frame to a readable length */
#include "report/names/symbol_name.h"

#include <string.h>

#include "report/names/cxx_name.h"
#include "report/words/style.h"

static size_t skip(const char *name, const char *word)
{
  const size_t bytes = strlen(word);
  return strncmp(name, word, bytes) == 0 ? bytes : 0;
}

/* Returns how many bytes of words come before the name of a type or variable. */
static size_t words_before(const char *name)
{
  static const char *const kinds[] = {"struct ", "union ", "variable "};
  size_t bytes = 0;
  const char *of = skip(name, "member ") ? strstr(name, " of ") : NULL;
  if (of)
    bytes = (size_t)(of - name) + sizeof " of " - 1;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    bytes += skip(name + bytes, kinds[i]);
  return bytes;
}

/* Returns how many bytes of a name come before "[]", " *" or " and more" at its end. */
static size_t bytes_of_name(const char *name)
{
  static const char more[] = " and more";
  size_t bytes = strlen(name);
  if (bytes > sizeof more - 1 && strcmp(name + bytes - (sizeof more - 1), more) == 0)
    return bytes - (sizeof more - 1);
  while (bytes > 0 && strchr("[]* ", name[bytes - 1]))
    bytes--;
  return bytes;
}

static void add_data(struct hwi_line *line, const char *name, size_t cells, const char *ellipsis)
{
  const size_t before = words_before(name), bytes = bytes_of_name(name + before);
  const char *after = name + before + bytes;
  struct hwi_line words = {0}, middle = {0};
  hwi_line_printf(&words, "%.*s", (int)before, name);
  hwi_line_printf(&middle, "%.*s", (int)bytes, name + before);
  const size_t used = hwi_cells(hwi_line_text(&words)) + hwi_cells(after);
  if (strchr(hwi_line_text(&middle), '<') && used < cells) {
    hwi_line_clean(line, hwi_line_text(&words));
    hwi_cxx_name_add(line, hwi_line_text(&middle), cells - used, ellipsis);
    hwi_line_clean(line, after);
  } else {
    hwi_line_clear(&words);
    hwi_line_clean(&words, name);
    hwi_line_shorten(line, hwi_line_text(&words), cells, ellipsis);
  }
  hwi_line_release_part(line, &words);
  hwi_line_release_part(line, &middle);
}

void hwi_symbol_name_add(struct hwi_line *line, const struct hwi_symbol *symbol, size_t cells, const char *ellipsis)
{
  if (symbol->reason == HWI_SYMBOL_DATA)
    add_data(line, symbol->function, cells, ellipsis);
  else
    hwi_cxx_name_add(line, symbol->function, cells, ellipsis);
}
