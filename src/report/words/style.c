/* style.c - the abilities of a text's output */
#include "report/words/style.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static unsigned columns_of(FILE *out, bool terminal)
{
  const char *variable = getenv("COLUMNS");
  unsigned long columns = variable ? strtoul(variable, NULL, 10) : 0;
  struct winsize size;
  if (columns == 0 && terminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  if (columns == 0)
    return HWI_COLUMNS_DEFAULT;
  if (columns < HWI_COLUMNS_MIN)
    return HWI_COLUMNS_MIN;
  return columns < HWI_COLUMNS_MAX ? (unsigned)columns : HWI_COLUMNS_MAX;
}

static bool is_set(const char *name)
{
  const char *value = getenv(name);
  return value && *value != '\0';
}

void hwi_style_init(struct hwi_style *style, FILE *out)
{
  const char *term = getenv("TERM");
  bool terminal = isatty(fileno(out)) == 1;
  *style = (struct hwi_style){
      .out = out,
      .columns = columns_of(out, terminal),
      .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
      .terminal = terminal,
      .colour = terminal && !is_set("NO_COLOR") && (!term || strcmp(term, "dumb") != 0),
  };
  if (!style->utf8)
    setlocale(LC_CTYPE, "C.UTF-8");
}

const char *hwi_style_begin(const struct hwi_style *style, enum hwi_emphasis emphasis)
{
  static const char *const sequences[] = {[HWI_PLAIN] = "\033[0m",
                                          [HWI_BOLD] = "\033[1m",
                                          [HWI_DIM] = "\033[2m",
                                          [HWI_ALARM] = "\033[1;31m",
                                          [HWI_CHART] = "\033[94m"};
  return style->colour ? sequences[emphasis] : "";
}

const char *hwi_style_hint(const struct hwi_style *style, const char *words)
{
  return style->paper ? "" : words;
}

const char *hwi_style_ellipsis(const struct hwi_style *style)
{
  return style->utf8 ? "…" : "...";
}

const char *hwi_style_plus_minus(const struct hwi_style *style)
{
  return style->utf8 ? "±" : "+-";
}
