/* html.c - the built page with a document in it */
#include "page/html.h"

#include <string.h>

/* web/dist/page.html, ended by NUL: the build embeds the file, see cmake/Page.cmake. */
extern const char hwi_page_template[];

static const char place[] = "<!--heapwright-data-->";
static const char element[] = "<script type=\"application/json\" id=\"heapwright-data\">", element_end[] = "</script>";
static const char escaped[] = "\\u003c"; /* a '<' */

static const char *find_place(void)
{
  return strstr(hwi_page_template, place); /* the build checks that the comment exists */
}

void hwi_html_begin(FILE *out)
{
  fwrite(hwi_page_template, 1, (size_t)(find_place() - hwi_page_template), out);
  fputs(element, out);
}

void hwi_html_end(FILE *out)
{
  fputs(element_end, out);
  fputs(find_place() + sizeof place - 1, out);
}

void hwi_html_escape(const char *text, size_t bytes, FILE *out)
{
  const char *end = text + bytes, *tag;
  while ((tag = memchr(text, '<', (size_t)(end - text)))) {
    fwrite(text, 1, (size_t)(tag - text), out);
    fputs(escaped, out);
    text = tag + 1;
  }
  fwrite(text, 1, (size_t)(end - text), out);
}

size_t hwi_html_escaped_bytes(const char *text, size_t bytes)
{
  const char *end = text + bytes;
  size_t sum = bytes;
  for (const char *at = text; (at = memchr(at, '<', (size_t)(end - at))); at++)
    sum += sizeof escaped - 1 - 1;
  return sum;
}
