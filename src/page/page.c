/* page.c - the document behind the HTML page, and the page with it
 *
 * How large a document becomes is known when it is written: it is written into memory, and where it is too large, cut lower and
 * written again. What was followed along time need not be read again, for the rows of a lower cut are sums of those of a
 * higher one. Where thousands of stacks were active all the time, it is what they did along time that takes the room: then
 * the slices of time become fewer before the nodes become too few.
 */
#include "page/page.h"

#include <stdlib.h>

#include "page/document.h"
#include "page/html.h"
#include "report/text/written.h"

enum { NODES_MAX = 65536, NODES_ENOUGH = 8192, NODES_LEAST = 64, SLICES_ENOUGH = 32, DOCUMENT_BYTES_MAX = 2500000 };

/* --- the choice --- */

static int begin(struct hwi_page *page, const struct hwi_report *report, struct hwi_error *error)
{
  page->report = report;
  int status = hwi_named_frames_init(&page->names, report, error);
  if (status == HW_OK)
    status = hwi_page_cut_init(&page->cut, &page->names, NODES_MAX, error);
  if (status < 0)
    return status;
  if (!hwi_page_sizes_init(&page->sizes, report->profile) || !hwi_page_threads_init(&page->threads, report->profile))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to choose what the page shows");
  page->watch.cut = &page->cut;
  page->watch.sizes = &page->sizes;
  page->watch.threads = &page->threads;
  return hwi_page_watch_run(&page->watch, &report->replayer, error);
}

static void end(struct hwi_page *page)
{
  hwi_page_watch_release(&page->watch);
  hwi_page_threads_release(&page->threads);
  hwi_page_sizes_release(&page->sizes);
  hwi_page_cut_release(&page->cut);
  hwi_named_frames_release(&page->names);
}

/* --- the document --- */

/* In place of what is there. */
static int write_document(struct hwi_page *page, struct hwi_written *text, struct hwi_error *error)
{
  FILE *out = hwi_written_begin(text);
  if (out == NULL)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the page");
  int status = hwi_page_document(page, out, error);
  if (!hwi_written_end(text, out) && status == HW_OK)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the page");
  return status;
}

/* The size is nearly proportional to the nodes, but for what is there without any. */
static int make_smaller(struct hwi_page *page, double share, struct hwi_error *error)
{
  uint32_t nodes = (uint32_t)(page->cut.node_count * share);
  uint32_t enough = page->cut.node_count < NODES_ENOUGH ? page->cut.node_count : NODES_ENOUGH;
  if (nodes >= enough || page->watch.slices.count < 2 * SLICES_ENOUGH)
    return hwi_page_watch_lower(&page->watch, nodes, error);
  hwi_page_watch_coarsen(&page->watch);
  return HW_OK;
}

/* Less and less, until it fits. */
static int fit_document(struct hwi_page *page, size_t bytes_max, struct hwi_written *text, struct hwi_error *error)
{
  const double margin = 0.95;
  for (;;) {
    int status = write_document(page, text, error);
    if (status < 0)
      return status;
    size_t bytes = hwi_html_escaped_bytes(text->text, text->bytes);
    if (bytes <= bytes_max || page->cut.node_count <= NODES_LEAST)
      return HW_OK;
    status = make_smaller(page, (double)bytes_max / (double)bytes * margin, error);
    if (status < 0)
      return status;
  }
}

/* --- one run, or two --- */

enum { RUNS_MAX = 2 };

struct pages {
  struct hwi_page items[RUNS_MAX];
  int count;
  struct hwi_identities identities;   /* of two */
  struct hwi_written texts[RUNS_MAX]; /* their documents */
};

/* So that both know the same frames by the same numbers. */
static int match(struct pages *pages, struct hwi_error *error)
{
  const struct hwi_named_frames *const both[] = {&pages->items[0].names, &pages->items[1].names};
  for (int side = 0; side < pages->count; side++)
    pages->items[side].matching = (struct hwi_page_matching){&pages->identities, side};
  return hwi_identities_init(&pages->identities, both, error);
}

static int make_documents(struct pages *pages, const struct hwi_report *runs, struct hwi_error *error)
{
  int status = HW_OK;
  for (int i = 0; i < pages->count && status == HW_OK; i++)
    status = begin(&pages->items[i], &runs[i], error);
  if (status == HW_OK && pages->count > 1)
    status = match(pages, error);
  for (int i = 0; i < pages->count && status == HW_OK; i++)
    status = fit_document(&pages->items[i], DOCUMENT_BYTES_MAX / (size_t)pages->count, &pages->texts[i], error);
  return status;
}

static void release(struct pages *pages)
{
  if (pages->items[0].matching.identities != NULL) /* before the frames that it is about */
    hwi_identities_release(&pages->identities);
  for (int i = 0; i < pages->count; i++) {
    end(&pages->items[i]);
    hwi_written_release(&pages->texts[i]);
  }
}

static void write_part(const char *bytes, size_t count, enum hwi_page_form form, FILE *out)
{
  if (form == HWI_PAGE_HTML)
    hwi_html_escape(bytes, count, out);
  else
    fwrite(bytes, 1, count, out);
}

int hwi_page_write(const struct hwi_report *runs, int run_count, enum hwi_page_form form, FILE *out,
                   struct hwi_error *error)
{
  static const char *const before[] = {"{\"schema\":\"heapwright-page-diff/1\",\"old\":", ",\"new\":"};
  struct pages pages = {.count = run_count};
  int status = make_documents(&pages, runs, error);
  if (status == HW_OK && form == HWI_PAGE_HTML)
    hwi_html_begin(out);
  for (int i = 0; i < run_count && status == HW_OK; i++) {
    fputs(run_count > 1 ? before[i] : "", out);
    write_part(pages.texts[i].text, pages.texts[i].bytes, form, out);
  }
  if (status == HW_OK)
    fputs(run_count > 1 ? "}\n" : "", out);
  if (status == HW_OK && form == HWI_PAGE_HTML)
    hwi_html_end(out);
  release(&pages);
  return status;
}
