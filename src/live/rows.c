/* rows.c - the document that a terminal shows: figures by row, with their names */
#include "live/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "live/row_names.h"
#include "live/row_table.h"
#include "page/rss.h"
#include "profile/blocks/sample.h"
#include "report/content/evidence.h"
#include "report/names/stack_label.h"
#include "report/selection/figures.h"

static size_t kind_bytes(const char *rule)
{
  return strcspn(rule, "=");
}

bool hwi_live_rule_is_replaced(const struct hwi_live_question *question, uint32_t rule)
{
  for (uint32_t i = rule + 1; i < question->rule_count; i++)
    if (kind_bytes(question->rules[i]) == kind_bytes(question->rules[rule]) &&
        memcmp(question->rules[i], question->rules[rule], kind_bytes(question->rules[i])) == 0)
      return true;
  return false;
}

struct document {
  struct hwi_row_table table;
  uint64_t *lines; /* of frames: offsets into the texts */
  struct hwi_line texts;
};

static uint64_t add_text(struct document *document, const char *text)
{
  const uint64_t off = document->texts.bytes;
  hwi_line_add(&document->texts, text, strlen(text) + 1);
  return off;
}

static void remark(struct document *document)
{
  struct hwi_line line = {0};
  for (uint32_t i = 0; i < document->table.filter.rule_count && line.bytes == 0; i++)
    if (!document->table.filter.rules[i].name.matched)
      hwi_narrowing_explain(&line, &document->table.filter.rules[i], "this run");
  document->table.head.remark_off = add_text(document, hwi_line_text(&line));
  hwi_line_release_part(&document->texts, &line);
}

/* --- names --- */

static struct hwi_row_names names_of(struct document *document)
{
  return (struct hwi_row_names){&document->table.frames, document->table.question,
                                document->table.question->has_utf8 ? "…" : "..."};
}

static void add_rule(struct document *document, struct hwi_line *rule, uint32_t index)
{
  const struct hwi_profile *profile = document->table.profile;
  const struct hwi_symbol *symbol;
  uint32_t module;
  switch (document->table.question->by) {
  case HWI_LIVE_BY_FUNCTION:
    symbol = hwi_row_function(&document->table.frames, index, &module);
    if (symbol && symbol->function)
      hwi_line_printf(rule, "func=%s", symbol->function);
    break;
  case HWI_LIVE_BY_THREAD:
    hwi_line_printf(rule, "thread=%" PRIu32, profile->threads[index].tid);
    break;
  case HWI_LIVE_BY_SIZE:
    hwi_line_printf(rule, "size=%" PRIu64, profile->sizes[index].size);
    break;
  case HWI_LIVE_BY_CLASS:
    hwi_line_printf(rule, "size=%" PRIu64 "..%" PRIu64, hwi_size_class_least(index), hwi_size_class_most(index));
    break;
  case HWI_LIVE_BY_PROCESS:
    hwi_line_printf(rule, HWI_LIVE_PID_RULE "%" PRIu32, hwi_row_pid(profile, index));
    break;
  default:
    break;
  }
}

static void add_name(struct document *document, struct hwi_line *name, uint32_t index, size_t cells)
{
  const struct hwi_row_names names = names_of(document);
  switch (document->table.question->by) {
  case HWI_LIVE_BY_FUNCTION:
    hwi_row_function_add(name, &names, index, cells);
    break;
  case HWI_LIVE_BY_THREAD:
    hwi_row_thread_add(name, &names, index, cells);
    break;
  case HWI_LIVE_BY_SIZE:
    hwi_row_size_add(name, document->table.profile->sizes[index].size);
    break;
  case HWI_LIVE_BY_CLASS:
    hwi_row_class_add(name, index);
    break;
  default:
    hwi_row_process_add(name, &names, &document->table.profile->images[index], cells);
    break;
  }
}

/* Returns the stacks' names, which differ; NULL if there is no memory. The caller frees the list. */
static struct hwi_stack_label *label_stacks(struct document *document, size_t cells)
{
  const struct hwi_row_names names = names_of(document);
  const struct hwi_stack_label_words words = {&document->table.frames, names.ellipsis};
  struct hwi_stack_label *labels = calloc((size_t)document->table.head.row_count + 1, sizeof *labels);
  for (uint32_t i = 0; i < document->table.head.row_count && labels; i++)
    labels[i] = (struct hwi_stack_label){.stack = document->table.order[i], .cells = cells};
  if (labels && hwi_stack_labels_distinguish(&words, labels, document->table.head.row_count))
    return labels;
  free(labels);
  return NULL;
}

static uint64_t add_label(struct document *document, const struct hwi_stack_label *label)
{
  const struct hwi_row_names names = names_of(document);
  const struct hwi_stack_label_words words = {&document->table.frames, names.ellipsis};
  struct hwi_line name = {0};
  hwi_stack_label_add(&name, &words, label);
  const uint64_t off = add_text(document, hwi_line_text(&name));
  hwi_line_release_part(&document->texts, &name);
  return off;
}

/* Returns false if there is no memory. */
static bool name_stacks(struct document *document)
{
  const uint64_t none = add_text(document, "");
  struct hwi_stack_label *labels = label_stacks(document, document->table.question->cells),
                         *full = label_stacks(document, document->table.question->width);
  for (uint32_t i = 0; i < document->table.head.row_count && labels && full; i++) {
    struct hwi_live_row *row = &document->table.rows[document->table.order[i]];
    row->name_off = add_label(document, &labels[i]);
    row->full_off = add_label(document, &full[i]);
    row->rule_off = none;
  }
  const bool done = labels && full;
  free(labels);
  free(full);
  return done;
}

static void name_row(struct document *document, uint32_t row, struct hwi_line *line)
{
  const uint32_t index = document->table.index_of_row[row];
  hwi_line_clear(line);
  add_name(document, line, index, document->table.question->cells);
  document->table.rows[row].name_off = add_text(document, hwi_line_text(line));
  hwi_line_clear(line);
  add_name(document, line, index, document->table.question->width);
  const char *full = hwi_line_text(line); /* sizes are aligned in their column */
  document->table.rows[row].full_off = add_text(document, full + strspn(full, " "));
  hwi_line_clear(line);
  add_rule(document, line, index);
  document->table.rows[row].rule_off = add_text(document, line->bytes < HWI_LIVE_RULE_BYTES ? hwi_line_text(line) : "");
}

static bool name_rows(struct document *document)
{
  if (document->table.question->by == HWI_LIVE_BY_STACK)
    return name_stacks(document);
  struct hwi_line line = {0};
  for (uint32_t i = 0; i < document->table.head.row_count; i++)
    name_row(document, document->table.order[i], &line);
  hwi_line_release_part(&document->texts, &line);
  return true;
}

/* Returns false if there is no memory. */
static bool add_frames(struct document *document)
{
  const struct hwi_row_names names = names_of(document);
  struct hwi_line line = {0};
  uint32_t stack = 1;
  while (stack < document->table.profile->stack_count &&
         document->table.stack_keys[stack] != document->table.question->stack)
    stack++;
  if (document->table.question->stack == 0 || stack >= document->table.profile->stack_count)
    return true;
  if (hwi_named_frames_load(&document->table.frames, stack, NULL) < 0)
    return false;
  document->lines = calloc((size_t)document->table.frames.count + 1, sizeof *document->lines);
  for (uint32_t i = 0; i < document->table.frames.count && document->lines; i++) {
    hwi_line_clear(&line);
    hwi_row_frame_add(&line, &names, &document->table.frames.items[i]);
    document->lines[document->table.head.line_count++] = add_text(document, hwi_line_text(&line));
  }
  hwi_line_release_part(&document->texts, &line);
  return document->lines;
}

/* --- the head --- */

static void note_silence(void *context, const struct hwi_silence *silence)
{
  *(bool *)context |= silence->to_ns == UINT64_MAX;
}

static void count_processes(struct document *document)
{
  struct hwi_live_rows *head = &document->table.head;
  for (uint32_t i = 0; i < document->table.profile->image_count; i++) {
    const struct hwi_image *image = &document->table.profile->images[i];
    bool is_off = false;
    if (!image->counted)
      continue;
    if (!image->info->being_written) {
      head->ended_count++;
      continue;
    }
    head->process_count++;
    hwi_evidence_silences(image->info, note_silence, &is_off);
    head->is_off |= is_off;
  }
}

/* Counts the threads of processes that go on; of all, if none does. */
static uint32_t count_threads(const struct document *document)
{
  const struct hwi_profile *profile = document->table.profile;
  uint32_t count = 0;
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    const struct hwi_image *image = &profile->images[profile->threads[i].image];
    count += image->info && image->info->being_written;
  }
  return document->table.head.process_count > 0 ? count : profile->thread_count;
}

static void fill_head(struct document *document)
{
  const struct hwi_profile *profile = document->table.profile;
  struct hwi_live_rows *head = &document->table.head;
  const struct hwi_slice *now = &profile->history[profile->history_count - 1].slice;
  struct hwi_page_rss rss;
  uint32_t counted;
  const struct hwi_image *image = hwi_head_image(profile, &counted);
  hwi_page_rss_init(&rss, profile);
  count_processes(document);
  head->duration_ns = profile->duration_ns;
  head->question = *document->table.question;
  head->live_bytes = now->live_bytes;
  head->live_blocks = now->live_blocks;
  head->peak_bytes = profile->totals.peak_bytes;
  head->calls = profile->totals.allocation_calls;
  head->sample_bytes = profile->sample_bytes;
  const struct hwi_variance variance = hwi_amount_of_run(profile).variance;
  head->live_bytes_error = hwi_sample_error(variance.live_bytes);
  head->peak_bytes_error = hwi_sample_error(variance.peak_bytes);
  head->calls_error = profile->calls_are_exact ? 0 : hwi_sample_error(variance.calls);
  head->rss_bytes = rss.count > 0 ? rss.points[rss.count - 1].rss_bytes : 0;
  head->thread_count = count_threads(document);
  head->pid = image ? image->info->header.pid : 0;
  struct hwi_line command = {0};
  if (image)
    hwi_line_clean(&command, image->info->command && *image->info->command != '\0' ? image->info->command
                             : image->info->exe                                    ? image->info->exe
                                                                                   : "");
  head->heap_off = add_text(document, profile->heap ? profile->heap : "");
  head->command_off = add_text(document, hwi_line_text(&command));
  hwi_line_release_part(&document->texts, &command);
}

/* --- the document --- */

static void write_document(struct document *document, FILE *out)
{
  uint64_t chart[HWI_LIVE_CHART_MAX] = {0};
  struct hwi_live_rows *head = &document->table.head;
  head->chart_count = document->table.question->chart_count < HWI_LIVE_CHART_MAX ? document->table.question->chart_count
                                                                                 : HWI_LIVE_CHART_MAX;
  if (head->chart_count > 0)
    hwi_row_table_chart(&document->table, chart, head->chart_count);
  fwrite(head, sizeof *head, 1, out);
  for (uint32_t i = 0; i < head->row_count; i++)
    fwrite(&document->table.rows[document->table.order[i]], sizeof *document->table.rows, 1, out);
  fwrite(chart, sizeof *chart, head->chart_count, out);
  if (head->line_count > 0)
    fwrite(document->lines, sizeof *document->lines, head->line_count, out);
  fwrite(document->texts.text, 1, document->texts.bytes, out);
}

int hwi_live_rows_write(const struct hwi_report *report, const struct hwi_live_question *question, FILE *out,
                        struct hwi_error *error)
{
  struct document document = {.lines = NULL};
  int status = hwi_row_table_init(&document.table, report, question, error);
  if (status == 0) {
    fill_head(&document);
    remark(&document);
    if (!name_rows(&document) || !add_frames(&document) || document.texts.failed)
      status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for names");
  }
  if (status == 0)
    write_document(&document, out);
  hwi_row_table_release(&document.table);
  hwi_line_release(&document.texts);
  free(document.lines);
  return status;
}
