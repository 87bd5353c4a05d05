/* document.h - writes the document of a run, as it is cut at the moment */
#ifndef HWI_PAGE_DOCUMENT_H
#define HWI_PAGE_DOCUMENT_H

#include "page/sites.h"
#include "page/slicer.h"
#include "report/text/written.h"

/* What a document goes without where it is too large for it, in this order. */
enum hwi_page_extra {
  HWI_PAGE_HANDOVERS_ALONG, /* what they were along time */
  HWI_PAGE_DURATIONS_ALONG, /* likewise */
  HWI_PAGE_THREADS_ALONE,   /* what each thread did of each stack and size, and how long its calls took */
  HWI_PAGE_EXTRAS
};

/* All that a document is made from. */
struct hwi_page {
  const struct hwi_report *report;
  struct hwi_named_frames names;
  struct hwi_page_cut cut;
  struct hwi_page_sizes sizes;
  struct hwi_page_threads threads;
  struct hwi_page_handovers handovers;
  struct hwi_page_slicer watch;
  struct hwi_page_matching matching;
  const struct hwi_written *others; /* documents of other processes of the run, `other_count` */
  uint32_t other_count;
  int extras_left_out; /* the first so many */
  bool is_other;       /* its document is one of another one's `others` */
};

/* 0 or a negative status (no memory). */
int hwi_page_document(struct hwi_page *page, FILE *out, struct hwi_error *error);

#endif
