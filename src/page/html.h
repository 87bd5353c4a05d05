/* html.h - the built page (web/dist/page.html), which is a part of this program, with a document in it */
#ifndef HWI_PAGE_HTML_H
#define HWI_PAGE_HTML_H

#include <stddef.h>
#include <stdio.h>

/* The page's comment <!--heapwright-data--> becomes an element with a document in it: what is written between these two. */
void hwi_html_begin(FILE *out);
void hwi_html_end(FILE *out);

/* Each '<' of a part of the document is written as \u003c, so that no name can end the element. */
void hwi_html_escape(const char *text, size_t bytes, FILE *out);
size_t hwi_html_escaped_bytes(const char *text, size_t bytes); /* that this writes */

#endif
