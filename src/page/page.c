/* page.c - writes the HTML page and its document
 *
 * The size of a document is known only after it is written. It is written into memory and, if it is too large, the
 * tree is reduced and it is written again. The events need not be read again, since the rows of a smaller tree are sums
 * of rows of a larger one. If thousands of stacks were active all the time, their series over time take most space:
 * then the slices of time become fewer before the nodes become too few. If many threads take most space, the figures by
 * thread are left out before the last nodes.
 */
#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "page/document.h"
#include "report/words/memory_stream.h"

enum { NODES_MAX = 65536, NODES_ENOUGH = 8192, NODES_FEW = 1024, NODES_LEAST = 64 };
enum { SLICES_ENOUGH = 32, DOCUMENT_BYTES_MAX = 2500000 };

/* --- the built page --- */

/* web/dist/page.html, ended by NUL: the build embeds the file, see cmake/Page.cmake. */
extern const char hwi_page_template[];

static const char place[] = "<!--heapwright-data-->";
static const char element[] = "<script type=\"application/json\" id=\"heapwright-data\">", element_end[] = "</script>";
static const char escaped[] = "\\u003c"; /* a '<' */

static const char *find_place(void)
{
  return strstr(hwi_page_template, place); /* the build checks that the comment exists */
}

/* The page's comment <!--heapwright-data--> is replaced by an element with the document, which is written between these
 * two calls. */
static void begin_html(FILE *out)
{
  fwrite(hwi_page_template, 1, (size_t)(find_place() - hwi_page_template), out);
  fputs(element, out);
}

static void end_html(FILE *out)
{
  fputs(element_end, out);
  fputs(find_place() + sizeof place - 1, out);
}

void hwi_page_write_live(const char *token, FILE *out)
{
  static const char policy[] = "default-src 'none';", connects[] = " connect-src 'self';";
  const char *data = find_place(), *allowed = strstr(hwi_page_template, policy) + sizeof policy - 1;
  fwrite(hwi_page_template, 1, (size_t)(allowed - hwi_page_template), out);
  fputs(connects, out);
  fwrite(allowed, 1, (size_t)(data - allowed), out);
  fprintf(out, "<script type=\"application/json\" id=\"heapwright-live\">{\"token\":\"%s\"}</script>", token);
  fputs(data + sizeof place - 1, out);
}

/* Writes a part of the document, each '<' as \u003c, so that no name can end the element. */
static void write_escaped(const char *text, size_t bytes, FILE *out)
{
  const char *end = text + bytes, *tag;
  while ((tag = memchr(text, '<', (size_t)(end - text)))) {
    fwrite(text, 1, (size_t)(tag - text), out);
    fputs(escaped, out);
    text = tag + 1;
  }
  fwrite(text, 1, (size_t)(end - text), out);
}

/* Returns how many bytes write_escaped writes. */
static size_t escaped_bytes(const char *text, size_t bytes)
{
  if (bytes == 0) /* without memory there may be no text */
    return 0;
  const char *end = text + bytes;
  size_t sum = bytes;
  for (const char *at = text; (at = memchr(at, '<', (size_t)(end - at))); at++)
    sum += sizeof escaped - 1 - 1;
  return sum;
}

/* --- the choice --- */

/* Chooses the scopes, unless no instances are wanted. Returns false if there is no memory. */
static bool begin_scopes(struct hwi_page *page, uint32_t instances_most)
{
  const struct hwi_profile *profile = page->report->profile;
  page->slicer.instances = &page->instances;
  if (instances_most > 0 && !hwi_page_scopes_init(&page->scopes, profile))
    return false;
  page->instances.most = page->scopes.profile ? instances_most : 0;
  page->instances.row_of = page->scopes.row_of;
  return page->instances.most == 0 || !profile->history ||
         hwi_instance_list_add_all(&page->instances, profile->instances);
}

/* The instances are written once, since a smaller document has the same. */
static bool write_instances(struct hwi_page *page)
{
  if (page->instances.most == 0)
    return true;
  FILE *out = hwi_memory_stream_begin(&page->instances_text);
  struct hwi_json json = {.out = out, .first = true};
  if (!out)
    return false;
  hwi_json_page_instances(&json, &page->scopes, &page->instances, page->threads.row_of);
  hwi_instance_list_release(&page->instances);
  return hwi_memory_stream_end(&page->instances_text, out) && !json.failed;
}

static int begin(struct hwi_page *page, const struct hwi_report *report, uint32_t instances_most,
                 struct hwi_error *error)
{
  page->report = report;
  int status = hwi_named_frames_init(&page->names, report, error);
  if (status == HW_OK)
    status = hwi_page_tree_init(&page->tree, &page->names, NODES_MAX, error);
  if (status < 0)
    return status;
  if (!hwi_page_sizes_init(&page->sizes, report->profile) || !hwi_page_threads_init(&page->threads, report->profile) ||
      !hwi_page_handovers_init(&page->handovers, &page->threads) || !begin_scopes(page, instances_most))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to choose what the page shows");
  page->slicer.tree = &page->tree;
  page->slicer.sizes = &page->sizes;
  page->slicer.threads = &page->threads;
  page->slicer.handovers = &page->handovers;
  status = hwi_page_slicer_run(&page->slicer, &report->replayer, error);
  if (status == HW_OK && !write_instances(page))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the instances of scopes");
  return status;
}

static void end(struct hwi_page *page)
{
  hwi_page_slicer_release(&page->slicer);
  hwi_memory_stream_release(&page->instances_text);
  hwi_instance_list_release(&page->instances);
  hwi_page_scopes_release(&page->scopes);
  hwi_page_handovers_release(&page->handovers);
  hwi_page_threads_release(&page->threads);
  hwi_page_sizes_release(&page->sizes);
  hwi_page_tree_release(&page->tree);
  hwi_named_frames_release(&page->names);
}

/* --- the document --- */

/* Replaces the content of `text`. */
static int write_document(struct hwi_page *page, struct hwi_memory_stream *text, struct hwi_error *error)
{
  FILE *out = hwi_memory_stream_begin(text);
  if (!out)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the page");
  int status = hwi_page_document(page, out, error);
  if (!hwi_memory_stream_end(text, out) && status == HW_OK)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the page");
  return status;
}

/* The size is nearly proportional to the nodes, except for a part that does not depend on them. If too few nodes would
 * be left, other things are reduced first. *done: the document became smaller; otherwise it cannot. */
static int make_smaller(struct hwi_page *page, double share, bool *done, struct hwi_error *error)
{
  const uint32_t count = page->tree.node_count, nodes = (uint32_t)(count * share);
  const bool is_fine = page->slicer.slices.count >= 2 * SLICES_ENOUGH,
             has_extras = page->extras_left_out < HWI_PAGE_EXTRAS;
  *done = true;
  if (nodes >= (is_fine ? NODES_ENOUGH : has_extras ? NODES_FEW : NODES_LEAST))
    return hwi_page_slicer_reduce(&page->slicer, nodes, error);
  if (is_fine)
    hwi_page_slicer_coarsen(&page->slicer);
  else if (has_extras)
    page->extras_left_out++;
  else if (count > NODES_LEAST)
    return hwi_page_slicer_reduce(&page->slicer, NODES_LEAST, error);
  else
    *done = false;
  return HW_OK;
}

/* Returns the bytes of the contained documents of other processes. */
static size_t bytes_of_others(const struct hwi_page *page)
{
  size_t sum = 0;
  for (uint32_t i = 0; i < page->other_count; i++)
    sum += escaped_bytes(page->others[i].text, page->others[i].bytes);
  return sum;
}

static size_t bytes_of_instances(const struct hwi_page *page)
{
  return escaped_bytes(page->instances_text.text, page->instances_text.bytes);
}

/* Reduces the document until it fits or cannot be reduced further. */
static int fit_document(struct hwi_page *page, size_t bytes_max, struct hwi_memory_stream *text, bool *fits,
                        struct hwi_error *error)
{
  const double margin = 0.95;
  const size_t own_instances = bytes_of_instances(page),
               fixed = bytes_of_others(page) + own_instances;  /* they cannot be reduced */
  bytes_max += own_instances + page->instance_bytes_of_others; /* instances have a limit of their own */
  for (bool done = true; done;) {
    int status = write_document(page, text, error);
    if (status < 0)
      return status;
    size_t bytes = escaped_bytes(text->text, text->bytes);
    *fits = bytes <= bytes_max;
    if (*fits)
      return HW_OK;
    status = make_smaller(page, (double)(bytes_max - fixed) / (double)(bytes - fixed) * margin, &done, error);
    if (status < 0)
      return status;
  }
  return HW_OK;
}

/* --- other processes --- */

enum { OTHERS_BYTES_MAX = DOCUMENT_BYTES_MAX / 2 };

struct others {
  struct hwi_memory_stream texts[HWI_PAGE_OTHERS_MAX];
  uint32_t count;
  size_t instance_bytes; /* part of the texts */
};

/* A process that cannot be read, or does not fit into its share of the space, is left out. Only missing memory is an
 * error. */
static int add_other(struct others *others, const struct hwi_page_others *source, uint32_t index,
                     struct hwi_error *error)
{
  struct hwi_report report;
  if (source->open(source->context, index, &report) < 0)
    return HW_OK;
  struct hwi_page page = {.is_other = true};
  uint32_t all = source->count < HWI_PAGE_OTHERS_MAX ? source->count : HWI_PAGE_OTHERS_MAX;
  int status = begin(&page, &report, HWI_PAGE_INSTANCES_OF_OTHERS_MAX, error);
  bool fits = false;
  if (status == HW_OK)
    status = fit_document(&page, OTHERS_BYTES_MAX / all, &others->texts[others->count], &fits, error);
  others->instance_bytes += status == HW_OK && fits ? bytes_of_instances(&page) : 0;
  end(&page);
  source->close(source->context, &report);
  if (status == HW_OK && fits)
    others->count++;
  else
    hwi_memory_stream_release(&others->texts[others->count]);
  return status == HW_ERR_MEMORY ? status : HW_OK;
}

static int add_others(struct others *others, const struct hwi_page_others *source, struct hwi_error *error)
{
  int status = HW_OK;
  for (uint32_t i = 0; source && i < source->count && i < HWI_PAGE_OTHERS_MAX && status == HW_OK; i++)
    status = add_other(others, source, i, error);
  return status;
}

/* --- one run, or two --- */

enum { RUNS_MAX = 2 };

struct pages {
  struct hwi_page items[RUNS_MAX];
  int count;
  struct hwi_identities identities;         /* of two runs */
  struct hwi_memory_stream texts[RUNS_MAX]; /* their documents */
  struct others others;                     /* of one run */
};

/* Gives equal frames of both runs the same numbers. */
static int match(struct pages *pages, struct hwi_error *error)
{
  const struct hwi_named_frames *const both[] = {&pages->items[0].names, &pages->items[1].names};
  for (int side = 0; side < pages->count; side++)
    pages->items[side].matching = (struct hwi_page_matching){&pages->identities, side};
  return hwi_identities_init(&pages->identities, both, error);
}

static int make_documents(struct pages *pages, const struct hwi_page_request *request, struct hwi_error *error)
{
  const uint32_t instances_most = pages->count > 1 ? 0 : HWI_PAGE_INSTANCES_MAX; /* a difference has no scopes */
  int status = add_others(&pages->others, request->others, error);
  for (int i = 0; i < pages->count && status == HW_OK; i++)
    status = begin(&pages->items[i], &request->runs[i], instances_most, error);
  pages->items[0].others = pages->others.texts;
  pages->items[0].other_count = pages->others.count;
  pages->items[0].instance_bytes_of_others = pages->others.instance_bytes;
  if (status == HW_OK && pages->count > 1)
    status = match(pages, error);
  for (int i = 0; i < pages->count && status == HW_OK; i++) {
    bool fits = false; /* ignored: a document that does not fit is written anyway */
    status = fit_document(&pages->items[i], DOCUMENT_BYTES_MAX / (size_t)pages->count, &pages->texts[i], &fits, error);
  }
  return status;
}

static void release(struct pages *pages)
{
  if (pages->items[0].matching.identities) /* released before the frames that it refers to */
    hwi_identities_release(&pages->identities);
  for (int i = 0; i < pages->count; i++) {
    end(&pages->items[i]);
    hwi_memory_stream_release(&pages->texts[i]);
  }
  for (uint32_t i = 0; i < HWI_PAGE_OTHERS_MAX; i++)
    hwi_memory_stream_release(&pages->others.texts[i]);
}

static void write_part(const char *bytes, size_t count, enum hwi_page_form form, FILE *out)
{
  if (form == HWI_PAGE_HTML)
    write_escaped(bytes, count, out);
  else
    fwrite(bytes, 1, count, out);
}

int hwi_page_write(const struct hwi_page_request *request, FILE *out, struct hwi_error *error)
{
  static const char *const before[] = {"{\"schema\":\"heapwright-page-diff/1\",\"old\":", ",\"new\":"};
  const enum hwi_page_form form = request->form;
  const int run_count = request->run_count;
  struct pages pages = {.count = run_count};
  int status = make_documents(&pages, request, error);
  if (status == HW_OK && form == HWI_PAGE_HTML)
    begin_html(out);
  for (int i = 0; i < run_count && status == HW_OK; i++) {
    fputs(run_count > 1 ? before[i] : "", out);
    write_part(pages.texts[i].text, pages.texts[i].bytes, form, out);
  }
  if (status == HW_OK)
    fputs(run_count > 1 ? "}\n" : "", out);
  if (status == HW_OK && form == HWI_PAGE_HTML)
    end_html(out);
  release(&pages);
  return status;
}
