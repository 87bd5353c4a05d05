/* document.h - writes the document of a run, as it is cut at the moment */
#ifndef HWI_PAGE_DOCUMENT_H
#define HWI_PAGE_DOCUMENT_H

#include "page/sites.h"
#include "page/watch.h"
#include "report/text/written.h"

/* All that a document is made from. */
struct hwi_page {
  const struct hwi_report *report;
  struct hwi_named_frames names;
  struct hwi_page_cut cut;
  struct hwi_page_sizes sizes;
  struct hwi_page_threads threads;
  struct hwi_page_handovers handovers;
  struct hwi_page_watch watch;
  struct hwi_page_matching matching;
  const struct hwi_written *others; /* documents of other processes of the run, `other_count` */
  uint32_t other_count;
};

/* 0 or a negative status (no memory). */
int hwi_page_document(struct hwi_page *page, FILE *out, struct hwi_error *error);

#endif
