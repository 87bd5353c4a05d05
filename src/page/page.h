/* page.h - writes the HTML page and its document (docs/page-data.md)
 *
 * document   the page's data, as JSON of at most DOCUMENT_BYTES_MAX for a recording of any length: of one run, or of an
 *            old and a new one to compare. The document of one run may also contain documents of other processes than
 *            the one that is shown first.
 * The recording is read twice: once for the profile, and once to follow over time the rows that the profile selects.
 */
#ifndef HWI_PAGE_PAGE_H
#define HWI_PAGE_PAGE_H

#include <stdio.h>

#include "page/slicer.h"
#include "report/report.h"

enum hwi_page_form {
  HWI_PAGE_DATA, /* the document alone */
  HWI_PAGE_HTML, /* the built page with the document in it: one self-contained file */
};

/* Other processes of the run, which the page can show, too. They are read one after another while they are written. */
enum { HWI_PAGE_OTHERS_MAX = 7 };

struct hwi_page_others {
  uint32_t count; /* more are left out */
  /* Makes the report of one process. A negative result means that it cannot be read; the page leaves it out. */
  int (*open)(void *context, uint32_t index, struct hwi_report *report);
  void (*close)(void *context, struct hwi_report *report); /* closes an opened report */
  void *context;
};

/* Each run is a whole run and has a replayer; its report options are ignored. */
struct hwi_page_request {
  const struct hwi_report *runs;
  int run_count;                        /* 1, or 2 for OLD and NEW */
  const struct hwi_page_others *others; /* for one run; NULL: none */
  enum hwi_page_form form;
};

/* Returns 0 or a negative status: no memory, or the status of the replay. The caller checks the stream for write
 * errors. */
int hwi_page_write(const struct hwi_page_request *request, FILE *out, struct hwi_error *error);

/* Writes the page of a running program, which asks its server for documents, with the token that the server wants. */
void hwi_page_write_live(const char *token, FILE *out);

#endif
