/* document.h - writes the document of a run, with the current tree */
#ifndef HWI_PAGE_DOCUMENT_H
#define HWI_PAGE_DOCUMENT_H

#include "page/sites.h"
#include "page/slicer.h"
#include "report/words/memory_stream.h"

/* Parts that a document leaves out if it is too large, in this order. */
enum hwi_page_extra {
  HWI_PAGE_HANDOVERS_ALONG, /* handovers over time */
  HWI_PAGE_DURATIONS_ALONG, /* durations over time */
  HWI_PAGE_THREADS_ALONE,   /* figures of each thread by stack and size, and its durations */
  HWI_PAGE_EXTRAS
};

/* Everything a document is made from. */
struct hwi_page {
  const struct hwi_report *report;
  struct hwi_named_frames names;
  struct hwi_page_tree tree;
  struct hwi_page_sizes sizes;
  struct hwi_page_threads threads;
  struct hwi_page_handovers handovers;
  struct hwi_page_scopes scopes;
  struct hwi_instance_list instances;
  struct hwi_memory_stream instances_text; /* the member "instances"; empty: none */
  struct hwi_page_slicer slicer;
  struct hwi_page_matching matching;
  const struct hwi_memory_stream *others; /* documents of other processes of the run, `other_count` */
  uint32_t other_count;
  size_t instance_bytes_of_others; /* part of them */
  int extras_left_out;             /* number of extras left out, from the first */
  bool is_other;                   /* its document is an element of another document's `others` */
};

/* Returns 0, or a negative status if there is no memory. */
int hwi_page_document(struct hwi_page *page, FILE *out, struct hwi_error *error);

#endif
