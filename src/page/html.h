/* html.h - the built page (web/dist/page.html), which is embedded in this program, with a document inserted */
#ifndef HWI_PAGE_HTML_H
#define HWI_PAGE_HTML_H

#include <stddef.h>
#include <stdio.h>

/* The page's comment <!--heapwright-data--> is replaced by an element with the document, which the caller writes
 * between these two calls. */
void hwi_html_begin(FILE *out);
void hwi_html_end(FILE *out);

/* Writes a part of the document, each '<' as \u003c, so that no name can end the element. */
void hwi_html_escape(const char *text, size_t bytes, FILE *out);
size_t hwi_html_escaped_bytes(const char *text, size_t bytes); /* returns how many bytes it writes */

#endif
