/* page.h - the document behind the HTML page, and the page with it (docs/page-data.md)
 *
 * document   all that the page shows, as JSON of at most DOCUMENT_BYTES_MAX, whatever the recordings' length: of one run, or of
 *            an old and a new one to be compared.
 *            Of one run it may hold documents of other processes beside the one that it opens with.
 * The recording is read twice: for the profile, and to follow along time what the profile found to matter.
 */
#ifndef HWI_PAGE_PAGE_H
#define HWI_PAGE_PAGE_H

#include <stdio.h>

#include "page/slicer.h"
#include "report/report.h"

enum hwi_page_form {
  HWI_PAGE_DATA, /* the document alone */
  HWI_PAGE_HTML, /* the built page with the document in it: one file, which needs no other */
};

/* Other processes of the run, each of which the page can be turned to. They are read one after another, when they are written. */
enum { HWI_PAGE_OTHERS_MAX = 7 };

struct hwi_page_others {
  uint32_t count; /* more are left out */
  /* Makes the report of one of them. Below 0: it cannot be had, and the page does without it. */
  int (*open)(void *context, uint32_t index, struct hwi_report *report);
  void (*close)(void *context, struct hwi_report *report); /* of one that was opened */
  void *context;
};

/* Each run is whole and has a replayer; of its options none counts. */
struct hwi_page_request {
  const struct hwi_report *runs;
  int run_count;                        /* 1, or 2, which are OLD and NEW */
  const struct hwi_page_others *others; /* of one run; NULL: none */
  enum hwi_page_form form;
};

/* 0 or a negative status (no memory, or what the replay said); whether writing worked is for the caller to ask of the stream. */
int hwi_page_write(const struct hwi_page_request *request, FILE *out, struct hwi_error *error);

#endif
