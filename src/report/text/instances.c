/* instances.c - the worst instances of a scope: which one, when, how long, and what it did by block size */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/content/scopes.h"
#include "report/text/text.h"

enum { SIZES_SHOWN = 10, TEXT_CELLS = 60 };

/* --- block sizes --- */

static uint64_t magnitude(int64_t value)
{
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static void add_signed(struct hwi_line *line, int64_t value)
{
  hwi_line_printf(line, "%s%s", value < 0 ? "-" : "+", hwi_count_text(magnitude(value)).text);
}

static uint64_t weight(const struct hwi_instance_size *item)
{
  return magnitude(item->blocks) * item->size;
}

static int compare_weights(const void *left, const void *right)
{
  uint64_t a = weight(left), b = weight(right);
  return a > b ? -1 : a < b;
}

/* Adds "8 B -1, 16 B +2, ", ascending: the sizes with the most bytes. Adds the others to *blocks and *bytes. */
static void add_sizes(struct hwi_line *line, const struct hwi_instance_detail *detail, int64_t *blocks, int64_t *bytes)
{
  struct hwi_instance_size items[HWI_INSTANCE_SIZES_MAX];
  uint64_t least = 0;
  uint32_t count = detail->size_count, shown = 0;
  if (count > SIZES_SHOWN) {
    memcpy(items, detail->sizes, count * sizeof *items);
    qsort(items, count, sizeof *items, compare_weights);
    least = weight(&items[SIZES_SHOWN - 1]);
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct hwi_instance_size *item = &detail->sizes[i];
    if (weight(item) >= least && shown++ < SIZES_SHOWN) {
      hwi_line_printf(line, "%s B ", hwi_count_text(item->size).text);
      add_signed(line, item->blocks);
      hwi_line_puts(line, ", ");
    } else {
      *blocks += item->blocks;
      *bytes = (int64_t)((uint64_t)*bytes + item->size * (uint64_t)item->blocks);
    }
  }
}

static void add_detail(struct hwi_line *line, const struct hwi_instance *instance)
{
  const struct hwi_instance_detail *detail = instance->detail;
  int64_t blocks = detail->other_blocks, bytes = detail->other_bytes, inside = hwi_instance_inside_bytes(instance);
  add_sizes(line, detail, &blocks, &bytes);
  if (detail->has_others || detail->size_count > SIZES_SHOWN) {
    hwi_line_puts(line, "other sizes ");
    add_signed(line, blocks);
    hwi_line_puts(line, " (");
    add_signed(line, bytes);
    hwi_line_puts(line, " B), ");
  }
  hwi_line_puts(line, "total ");
  add_signed(line, detail->self_bytes);
  hwi_line_puts(line, " B");
  if (inside != 0) {
    hwi_line_puts(line, ", inside ");
    add_signed(line, inside);
    hwi_line_puts(line, " B");
  }
}

/* --- one instance --- */

static struct hwi_number value_text(const struct hwi_instance *instance, enum hwi_instance_measure measure)
{
  switch (measure) {
  case HWI_INSTANCE_DURATION:
    return hwi_short_time_text(instance->duration_ns);
  case HWI_INSTANCE_PEAK:
    return hwi_bytes_text(instance->peak_bytes);
  case HWI_INSTANCE_NET:
    return hwi_bytes_text(instance->net_bytes > 0 ? (uint64_t)instance->net_bytes : 0);
  case HWI_INSTANCE_BYTES:
    return hwi_bytes_text(instance->bytes);
  case HWI_INSTANCE_CALLS:
  case HWI_INSTANCE_MEASURES:
    break;
  }
  return hwi_count_text(instance->calls);
}

/* Adds the number or the text that the program gave the instance: `frame 1812`, `request "/index"`. */
static void add_name(struct hwi_text *text, const char *scope, const struct hwi_instance *instance)
{
  struct hwi_line name = {0}, *line = &text->line;
  hwi_line_clean(&name, scope);
  hwi_line_shorten(line, hwi_line_text(&name), TEXT_CELLS, hwi_style_ellipsis(text->style));
  hwi_line_clear(&name);
  if (instance->op == HW_SCOPE_BEGIN_NUMBER)
    hwi_line_printf(line, " %" PRIu64, instance->value);
  if (instance->op == HW_SCOPE_BEGIN_TEXT && instance->detail->text) {
    hwi_line_clean(&name, instance->detail->text);
    hwi_line_puts(line, " \"");
    hwi_line_shorten(line, hwi_line_text(&name), TEXT_CELLS, hwi_style_ellipsis(text->style));
    hwi_line_puts(line, "\"");
  } else if (instance->op == HW_SCOPE_BEGIN_TEXT) {
    hwi_line_puts(line, " (text not kept)");
  }
  hwi_line_release_part(line, &name);
}

static void print_instance(struct hwi_text *text, const char *scope, const struct hwi_instance *instance,
                           enum hwi_instance_measure measure)
{
  enum { VALUE_CELLS = HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS };
  struct hwi_line *line = &text->line;
  hwi_line_right(line, value_text(instance, measure).text, VALUE_CELLS);
  hwi_line_puts(line, "  ");
  add_name(text, scope, instance);
  hwi_line_printf(line, ", instance %s, thread \"", hwi_count_text(instance->sequence).text);
  hwi_line_clean(line, text->profile->threads[instance->thread].name);
  hwi_line_printf(line, "\", at %s", hwi_time_text(instance->begin_ns).text);
  hwi_line_printf(line, " for %s: ", hwi_short_time_text(instance->duration_ns).text);
  add_detail(line, instance);
  hwi_text_end_wrapped(text, VALUE_CELLS + 4, HWI_PLAIN);
}

/* Whether the instance, or a scope inside it, allocated or changed anything. */
static bool did_something(const struct hwi_instance *instance)
{
  const struct hwi_instance_detail *detail = instance->detail;
  return instance->calls > 0 || instance->net_bytes != 0 || detail->size_count > 0 || detail->has_others;
}

void hwi_text_instances(struct hwi_text *text, const struct hwi_scope *scope)
{
  const enum hwi_instance_measure measure = hwi_scope_measure(&text->report->options, text->cost);
  const struct hwi_worst *worst = scope->worst ? &scope->worst[measure] : NULL;
  for (uint32_t i = 0; worst && i < worst->count; i++)
    if (worst->items[i].detail && (measure == HWI_INSTANCE_DURATION || did_something(&worst->items[i])))
      print_instance(text, scope->name, &worst->items[i], measure);
}
