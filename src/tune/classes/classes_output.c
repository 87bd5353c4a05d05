/* classes_output.c - prints a table of size classes, and what it saves: as text and as JSON, for a config file and for C */
#include <inttypes.h>
#include <math.h>

#include "report/content/evidence.h"
#include "report/json/json.h"
#include "tune/classes/classes.h"
#include "tune/tune_text.h"

#define SCHEMA "heapwright-classes/1"

enum { AMOUNT_CELLS = HWI_TUNE_AMOUNT_CELLS, SHARE_CELLS = HWI_TUNE_SHARE_CELLS };

static const char *const table_names[HWI_CLASS_TABLES] = {"this table", "the default", "powers of two"};
static const char *const table_keys[HWI_CLASS_TABLES] = {"tuned", "default", "powers_of_two"};

static uint64_t whole(double bytes)
{
  return bytes > 0 ? (uint64_t)(bytes + 0.5) : 0;
}

static uint64_t above(uint64_t a, uint64_t b)
{
  return a > b ? a - b : 0;
}

static uint64_t rounding_of(const struct hwi_class_needs *needs, const struct hwi_class_cost *cost)
{
  return above(whole(cost->block_bytes), needs->recorded.asked_bytes);
}

/* The sum of the parts as they are printed. */
static uint64_t at_peak(const struct hwi_class_needs *needs, const struct hwi_class_cost *cost)
{
  return needs->recorded.asked_bytes + rounding_of(needs, cost) + whole(cost->end_bytes) + whole(cost->part_bytes);
}

/* --- text --- */

void hwi_classes_list(const struct hwi_classes *classes, struct hwi_line *line)
{
  const struct hwi_class_table *table = &classes->tables[HWI_CLASSES_TUNED];
  for (size_t i = 0; i < table->count; i++)
    hwi_line_printf(line, "%s%zu", i ? "," : "", table->bytes[i]);
}

static void print_titles(struct hwi_text *text)
{
  static const char *const titles[] = {"at the peak", "waste", "", "over time", "waste", ""};
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
    hwi_line_right(&text->line, titles[i], i % 3 == 2 ? SHARE_CELLS : AMOUNT_CELLS);
  hwi_text_end(text, HWI_DIM);
}

static void add_amounts(struct hwi_text *text, uint64_t bytes, uint64_t asked)
{
  hwi_line_right(&text->line, hwi_bytes_text(bytes).text, AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(above(bytes, asked)).text, AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_share_text(above(bytes, asked), bytes).text, SHARE_CELLS);
}

static void print_tables(struct hwi_text *text, const struct hwi_classes *classes)
{
  const struct hwi_class_needs *needs = &classes->needs;
  print_titles(text);
  for (size_t i = 0; i < HWI_CLASS_TABLES; i++) {
    add_amounts(text, at_peak(needs, &needs->costs[i]), needs->recorded.asked_bytes);
    add_amounts(text, whole(needs->costs[i].mean_bytes), whole(needs->recorded.mean_asked_bytes));
    hwi_line_printf(&text->line, "  %s", table_names[i]);
    hwi_line_printf(&text->line, ", %zu", classes->tables[i].count);
    hwi_text_end(text, i == HWI_CLASSES_TUNED ? HWI_BOLD : HWI_PLAIN);
  }
}

static void print_parts(struct hwi_text *text, const struct hwi_classes *classes)
{
  const struct hwi_class_needs *needs = &classes->needs;
  const struct hwi_class_cost *cost = &needs->costs[HWI_CLASSES_TUNED];
  const uint64_t asked = needs->recorded.asked_bytes, all = at_peak(needs, cost);
  hwi_tune_print_part(text, asked, all, "requested, in blocks of at most 32 KiB, when these were most");
  hwi_tune_print_part(text, rounding_of(needs, cost), all, "rounding, up to the next class");
  hwi_tune_print_part(text, whole(cost->end_bytes), all, "ends of pages that are too short for a block");
  hwi_tune_print_part(text, whole(cost->part_bytes), all, "partly filled pages, one of each class that a thread uses");
}

/* Adds "0.8 MB (6.1 %)". */
static void add_difference(struct hwi_line *line, double ours, double other)
{
  const uint64_t bytes = whole(ours < other ? other - ours : ours - other);
  hwi_line_puts(line, hwi_bytes_text(bytes).text);
  if (bytes)
    hwi_line_printf(line, " (%s)", hwi_share_text(bytes, whole(other)).text);
}

/* The tables that the tuned one is compared with. */
static const struct {
  enum hwi_class_tables table;
  const char *name;
} others[] = {{HWI_CLASSES_DEFAULT, "the default table"}, {HWI_CLASSES_POWERS, "powers of two"}};

enum { OTHERS = sizeof others / sizeof *others };

/* Adds a sentence, without its "Against". */
static void add_saving(struct hwi_line *line, const struct hwi_class_cost *costs, size_t number)
{
  const struct hwi_class_cost *ours = &costs[HWI_CLASSES_TUNED], *cost = &costs[others[number].table];
  const double peak = hwi_class_peak_bytes(ours), other_peak = hwi_class_peak_bytes(cost);
  const bool saves = peak <= other_peak, saves_mean = ours->mean_bytes <= cost->mean_bytes;
  hwi_line_printf(line, " %s it %s ", others[number].name, saves ? "saves" : "needs");
  add_difference(line, peak, other_peak);
  hwi_line_printf(line, "%s at the peak%s ", saves ? "" : " more",
                  saves == saves_mean ? " and"
                  : saves_mean        ? ", and saves"
                                      : ", and needs");
  add_difference(line, ours->mean_bytes, cost->mean_bytes);
  hwi_line_printf(line, "%s over time.", saves_mean ? "" : " more");
}

static size_t saving_count(const struct hwi_classes *classes)
{
  return classes->check_name ? 2 * OTHERS : OTHERS;
}

/* Adds one of the sentences: first those of the recording, then those of the one with which the table is checked. */
static void add_sentence(struct hwi_line *line, const struct hwi_classes *classes, size_t number)
{
  if (number < OTHERS) {
    hwi_line_puts(line, "Against");
    add_saving(line, classes->needs.costs, number);
  } else {
    hwi_line_puts(line, "In ");
    hwi_line_clean(line, classes->check_name);
    hwi_line_printf(line, "%s%s, against", classes->check_sample_bytes ? ", a sample" : "",
                    classes->check_is_whole ? "" : ", of which a part is missing");
    add_saving(line, classes->check.costs, number - OTHERS);
  }
}

static void print_savings(struct hwi_text *text, const struct hwi_classes *classes)
{
  for (size_t i = 0; i < saving_count(classes); i++) {
    add_sentence(&text->line, classes, i);
    hwi_text_end_wrapped(text, 0, HWI_PLAIN);
  }
}

static void print_count(struct hwi_text *text, const struct hwi_classes *classes)
{
  const size_t count = classes->tables[HWI_CLASSES_TUNED].count;
  if (classes->is_chosen && count < classes->best_count)
    hwi_line_printf(&text->line,
                    "%zu is the smallest number of classes whose cost is within %.2f %% of the least, that of %zu.",
                    count, 100 * HWI_CLASSES_TOLERANCE, classes->best_count);
  else if (count == classes->best_count)
    hwi_line_puts(&text->line, "No other number of classes costs less.");
  else
    hwi_line_printf(&text->line, "The cost is %.1f %% above the least, that of %zu classes.",
                    100 * (classes->objective / classes->best_objective - 1), classes->best_count);
  if (classes->bound < classes->objective)
    hwi_line_printf(
        &text->line,
        " Another table of %zu may cost up to %.2f %% less: with so many aligned sizes, not all were tried.", count,
        ceil(1e4 * (1 - classes->bound / classes->objective)) / 100);
  hwi_text_end_wrapped(text, 0, HWI_PLAIN);
}

bool hwi_classes_are_few(const struct hwi_classes *classes)
{
  return classes->needs.recorded.seen_count < HWI_CLASSES_FEW_REQUESTS;
}

void hwi_classes_say_few(const struct hwi_classes *classes, struct hwi_line *line)
{
  const uint64_t count = classes->needs.recorded.seen_count;
  hwi_line_printf(line,
                  "The recording has only %" PRIu64 " request%s of at most 32 KiB: the table is not worth much, since "
                  "another run may have other sizes. Record at least %d.",
                  count, count == 1 ? "" : "s", HWI_CLASSES_FEW_REQUESTS);
}

static const char sample_note[] =
    "The recording is a sample: all figures are estimates, and sizes that are rare may be "
    "missing.";

/* What the figures are of. */
static void print_notes(struct hwi_text *text, const struct hwi_classes *classes)
{
  hwi_line_printf(&text->line, "Larger blocks, %s at that time, have pages of their own.",
                  hwi_bytes_text(classes->needs.recorded.large_bytes).text);
  hwi_text_end_wrapped(text, 0, HWI_PLAIN);
  if (classes->profile->sample_bytes) {
    hwi_line_puts(&text->line, sample_note);
    hwi_text_end_wrapped(text, 0, HWI_ALARM);
  }
  if (hwi_classes_are_few(classes)) {
    hwi_classes_say_few(classes, &text->line);
    hwi_text_end_wrapped(text, 0, HWI_ALARM);
  }
  hwi_tune_print_doubt(text, HWI_TUNE_CLASSES_DOUBT);
}

int hwi_classes_text(const struct hwi_classes *classes, const struct hwi_style *style, struct hwi_error *error)
{
  struct hwi_text text = {.profile = classes->profile, .style = style};
  hwi_line_puts(&text.line, HWI_CLASSES_VARIABLE "=");
  hwi_classes_list(classes, &text.line);
  hwi_text_end(&text, HWI_BOLD);
  hwi_text_blank(&text);
  print_tables(&text, classes);
  hwi_text_blank(&text);
  print_parts(&text, classes);
  hwi_text_blank(&text);
  print_savings(&text, classes);
  print_count(&text, classes);
  print_notes(&text, classes);
  bool failed = text.line.failed;
  hwi_line_release(&text.line);
  return failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory to print the answer") : HW_OK;
}

/* --- JSON --- */

static void write_sizes(struct hwi_json *json, const char *key, const struct hwi_class_table *table)
{
  hwi_json_begin_array(json, key);
  for (size_t i = 0; i < table->count; i++)
    hwi_json_number(json, NULL, table->bytes[i]);
  hwi_json_end_array(json);
}

static void write_table(struct hwi_json *json, const struct hwi_classes *classes, const struct hwi_class_needs *needs,
                        size_t number)
{
  const struct hwi_class_cost *cost = &needs->costs[number];
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "name", table_keys[number]);
  if (needs == &classes->needs)
    write_sizes(json, "class_bytes", &classes->tables[number]);
  hwi_json_number(json, "peak_bytes", at_peak(needs, cost));
  hwi_json_number(json, "rounding_bytes", rounding_of(needs, cost));
  hwi_json_number(json, "page_end_bytes", whole(cost->end_bytes));
  hwi_json_number(json, "partly_filled_bytes", whole(cost->part_bytes));
  hwi_json_number(json, "mean_bytes", whole(cost->mean_bytes));
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

static void write_needs(struct hwi_json *json, const struct hwi_classes *classes, const struct hwi_class_needs *needs)
{
  const struct hwi_recorded_demand *recorded = &needs->recorded;
  hwi_json_number(json, "asked_bytes", recorded->asked_bytes);
  hwi_json_number(json, "mean_asked_bytes", whole(recorded->mean_asked_bytes));
  hwi_json_number(json, "large_bytes", recorded->large_bytes);
  hwi_json_begin_array(json, "tables");
  for (size_t i = 0; i < HWI_CLASS_TABLES; i++)
    write_table(json, classes, needs, i);
  hwi_json_end_array(json);
}

static void write_check(struct hwi_json *json, const struct hwi_classes *classes)
{
  hwi_json_begin_object(json, "check");
  hwi_json_text(json, "recording", classes->check_name);
  hwi_json_number(json, "sample_bytes", classes->check_sample_bytes);
  hwi_json_number(json, "requests", classes->check.recorded.request_count);
  hwi_json_bool(json, "whole_run", classes->check_is_whole);
  write_needs(json, classes, &classes->check);
  hwi_json_end_object(json);
}

int hwi_classes_json(const struct hwi_classes *classes, FILE *out, struct hwi_error *error)
{
  const struct hwi_recorded_demand *recorded = &classes->needs.recorded;
  uint32_t processes;
  hwi_head_image(classes->profile, &processes);
  struct hwi_json json = {.out = out, .first = true};
  hwi_json_begin_object(&json, NULL);
  hwi_json_text(&json, "schema", SCHEMA);
  hwi_json_number(&json, "class_count", classes->tables[HWI_CLASSES_TUNED].count);
  hwi_json_bool(&json, "is_chosen", classes->is_chosen);
  hwi_json_number(&json, "best_class_count", classes->best_count);
  hwi_json_number(&json, "cost_bytes", whole(classes->objective));
  hwi_json_number(&json, "cost_bound_bytes", whole(classes->bound));
  hwi_json_number(&json, "best_cost_bytes", whole(classes->best_objective));
  hwi_json_number(&json, "sample_bytes", classes->profile->sample_bytes);
  hwi_json_number(&json, "processes", processes);
  hwi_json_number(&json, "threads", recorded->demand.owner_count);
  hwi_json_number(&json, "requests", recorded->request_count);
  hwi_json_bool(&json, "few_requests", hwi_classes_are_few(classes));
  hwi_json_bool(&json, "whole_run", hwi_tune_is_whole(classes->profile));
  write_needs(&json, classes, &classes->needs);
  if (classes->check_name)
    write_check(&json, classes);
  hwi_json_end_object(&json);
  fputc('\n', out);
  return json.failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory: the answer is not complete") : HW_OK;
}

/* --- for the heap --- */

static void write_joined(FILE *out, const struct hwi_class_table *table, const char *between)
{
  for (size_t i = 0; i < table->count; i++)
    fprintf(out, "%s%zu", i ? between : "", table->bytes[i]);
}

/* Writes what the table is worth as comments, each of which is a line that begins like this. */
static int write_worth(const struct hwi_classes *classes, const char *begin, FILE *out, struct hwi_error *error)
{
  struct hwi_line line = {0};
  for (size_t i = 0; i < saving_count(classes); i++) {
    hwi_line_clear(&line);
    add_sentence(&line, classes, i);
    fprintf(out, "%s%s\n", begin, hwi_line_text(&line));
  }
  if (classes->profile->sample_bytes)
    fprintf(out, "%s%s\n", begin, sample_note);
  if (!hwi_tune_is_whole(classes->profile))
    fprintf(out, "%s%s\n", begin, HWI_TUNE_CLASSES_DOUBT);
  bool failed = line.failed;
  hwi_line_release(&line);
  return failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory to write the answer") : HW_OK;
}

int hwi_classes_config(const struct hwi_classes *classes, FILE *out, struct hwi_error *error)
{
  const struct hwi_class_table *table = &classes->tables[HWI_CLASSES_TUNED];
  fprintf(out, "# made by heapwright tune --classes %zu, for HEAPWRIGHT_HEAP_CONFIG\n", table->count);
  int status = write_worth(classes, "# ", out, error);
  fputs("class_bytes ", out);
  write_joined(out, table, " ");
  fputc('\n', out);
  return status;
}

int hwi_classes_c(const struct hwi_classes *classes, FILE *out, struct hwi_error *error)
{
  const struct hwi_class_table *table = &classes->tables[HWI_CLASSES_TUNED];
  fprintf(out,
          "// made by heapwright tune --classes %zu: for the members class_bytes and class_count of struct "
          "hw_heap_config\n",
          table->count);
  int status = write_worth(classes, "// ", out, error);
  fprintf(out, "static const size_t class_bytes[%zu] = {", table->count);
  write_joined(out, table, ", ");
  fputs("};\n", out);
  return status;
}
