/* page.h - the document behind the HTML page, and the page with it (docs/page-data.md)
 *
 * document   all that the page shows, as JSON of at most DOCUMENT_BYTES_MAX, whatever the recordings' length: of one run, or of
 *            an old and a new one to be compared.
 * The recording is read twice: for the profile, and to follow along time what the profile found to matter.
 */
#ifndef HWI_PAGE_PAGE_H
#define HWI_PAGE_PAGE_H

#include <stdio.h>

#include "page/watch.h"
#include "report/report.h"

enum hwi_page_form {
  HWI_PAGE_DATA, /* the document alone */
  HWI_PAGE_HTML, /* the built page with the document in it: one file, which needs no other */
};

/* Of `run_count` runs: 1, or 2, which are OLD and NEW; each is whole and has a replayer, and of its options none counts. 0 or a
 * negative status (no memory, or what the replay said); whether writing worked is for the caller to ask of the stream. */
int hwi_page_write(const struct hwi_report *runs, int run_count, enum hwi_page_form form, FILE *out,
                   struct hwi_error *error);

#endif
