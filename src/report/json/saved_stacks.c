/* saved_stacks.c - makes a profile's stacks from those of a saved report
 *
 * A report writes each recorded frame as the functions inlined there, innermost first, and then the function itself,
 * all with one address. So a frame ends with a function that is not inlined. An address has the same functions in
 * all stacks.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/blocks/sample.h"
#include "report/json/saved_tables.h"
#include "report/selection/entries.h"
#include "report/selection/figures.h"
#include "trace/grow.h"

int hwi_saved_no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to read a saved report");
}

/* A fraction is not a count; a number that is too large is limited. */
uint64_t hwi_saved_number(const json_t *object, const char *key)
{
  double value = json_number_value(json_object_get(object, key));
  return value <= 0 ? 0 : value >= 0x1p63 ? UINT64_C(1) << 63 : (uint64_t)value;
}

void hwi_saved_fields(void *to, const struct hwi_figure *fields, const json_t *from)
{
  for (; fields->key; fields++)
    *(uint64_t *)((char *)to + fields->off) = hwi_saved_number(from, fields->key);
}

/* --- modules --- */

static uint8_t digit(char letter)
{
  static const char digits[] = "0123456789abcdef";
  const char *at = letter != '\0' ? strchr(digits, letter) : NULL;
  return at ? (uint8_t)(at - digits) : 0;
}

static void read_build_id(struct hwi_module *module, const char *text)
{
  size_t bytes = text ? strlen(text) / 2 : 0;
  if (bytes > sizeof module->build_id)
    bytes = 0;
  module->build_id_bytes = (uint8_t)bytes;
  for (size_t i = 0; i < bytes; i++)
    module->build_id[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
}

int hwi_saved_modules(struct hwi_saved_tables *tables, const json_t *modules, struct hwi_error *error)
{
  size_t i;
  const json_t *item;
  json_array_foreach(modules, i, item)
  {
    struct hwi_module module = {.bias = hwi_saved_number(item, "bias"), .known = true};
    module.path = json_string_value(json_object_get(item, "path"));
    read_build_id(&module, json_string_value(json_object_get(item, "build_id")));
    if (module.path && hwi_frames_intern_module(&tables->frames, &module) == 0)
      return hwi_saved_no_memory(error);
  }
  return HW_OK;
}

/* If two builds of one file exist, returns the first; 0 if there is none. */
static uint32_t module_of(struct hwi_saved_tables *tables, const json_t *frame)
{
  const char *path = json_string_value(json_object_get(frame, "module"));
  if (!path)
    return 0;
  const struct hwi_profile_module *modules = tables->frames.modules;
  if (tables->last_module != 0 && strcmp(modules[tables->last_module].path, path) == 0)
    return tables->last_module;
  for (uint32_t i = 1; i < tables->frames.module_count; i++) {
    if (strcmp(modules[i].path, path) == 0)
      return tables->last_module = i;
  }
  return 0;
}

/* --- the names of addresses --- */

static enum hwi_symbol_reason reason_of(const char *text)
{
  for (int reason = HWI_SYMBOL_OK; text && reason <= HWI_SYMBOL_DATA; reason++) {
    if (strcmp(text, hwi_symbol_reason_text((enum hwi_symbol_reason)reason)) == 0)
      return (enum hwi_symbol_reason)reason;
  }
  return HWI_SYMBOL_OK;
}

/* Returns false if there is no memory. */
static bool read_text(struct hwi_saved_tables *tables, const json_t *object, const char *key, const char **text)
{
  const char *value = json_string_value(json_object_get(object, key));
  *text = hwi_store_string(&tables->store, value);
  return !value || *text;
}

static bool read_symbol(struct hwi_saved_tables *tables, struct hwi_symbol *symbol, const json_t *frame)
{
  *symbol = (struct hwi_symbol){.start = hwi_saved_number(frame, "function_start"),
                                .line = (uint32_t)hwi_saved_number(frame, "line"),
                                .inlined = json_is_true(json_object_get(frame, "inlined")),
                                .reason = reason_of(json_string_value(json_object_get(frame, "reason")))};
  return read_text(tables, frame, "function", &symbol->function) && read_text(tables, frame, "file", &symbol->file);
}

/* Adds the functions at the address that items [first, last] of a stack share. Returns false if there is no memory. */
static bool add_place(struct hwi_saved_tables *tables, const json_t *stack, size_t first, size_t last)
{
  const uint32_t count = (uint32_t)(last + 1 - first);
  if (!hwi_grow((void **)&tables->places, &tables->place_room, tables->place_count + 1, sizeof *tables->places))
    return false;
  struct hwi_symbol *symbols = hwi_store_take(&tables->store, count * sizeof *symbols);
  for (uint32_t i = 0; i < count; i++) {
    if (!symbols || !read_symbol(tables, &symbols[i], json_array_get(stack, first + i)))
      return false;
  }
  tables->places[tables->place_count++] = (struct hwi_saved_place){symbols, count};
  return true;
}

uint32_t hwi_saved_find(void *context, const struct hwi_symbol_module *module, uint64_t address, bool is_return_address,
                        const struct hwi_symbol **frames)
{
  static const struct hwi_symbol unknown = {.reason = HWI_SYMBOL_NO_MODULE};
  const struct hwi_saved_tables *tables = context;
  (void)is_return_address; /* the names in the report are already those of return addresses */
  uint32_t place = hwi_numbering_find(&tables->numbers, address, (uintptr_t)(module ? module->path : NULL));
  *frames = place != 0 ? tables->places[place].symbols : &unknown;
  return place != 0 ? tables->places[place].count : 1;
}

/* --- stacks --- */

/* Reads the frame whose last item is `last`; *first gets its first item. Returns 0 if there is no memory. */
static uint32_t read_frame(struct hwi_saved_tables *tables, const json_t *stack, size_t last, uint32_t caller,
                           size_t *first)
{
  const json_t *item = json_array_get(stack, last);
  struct hwi_frame frame = {.caller = caller, .address = hwi_saved_number(item, "address")};
  *first = last;
  if (json_object_get(item, "frames_left_out")) {
    frame.cut = true;
    frame.address = hwi_saved_number(item, "frames_left_out");
    return hwi_frames_intern(&tables->frames, &frame);
  }
  while (*first > 0 && json_is_true(json_object_get(json_array_get(stack, *first - 1), "inlined")))
    --*first;
  frame.module = module_of(tables, item);
  const char *module = frame.module != 0 ? tables->frames.modules[frame.module].path : NULL;
  uint32_t place = hwi_numbering_of(&tables->numbers, frame.address, (uintptr_t)module);
  if (place == 0 || (place == tables->place_count && !add_place(tables, stack, *first, last)))
    return 0;
  frame.address -= tables->frames.modules[frame.module].bias; /* hwi_frames_intern expects it without the bias */
  return hwi_frames_intern(&tables->frames, &frame);
}

static int read_frames(struct hwi_saved_tables *tables, struct hwi_stack *stack, const json_t *items,
                       struct hwi_error *error)
{
  for (size_t end = json_array_size(items), first; end > 0; end = first) {
    stack->frame = read_frame(tables, items, end - 1, stack->frame, &first);
    if (stack->frame == 0)
      return hwi_saved_no_memory(error);
  }
  return HW_OK;
}

static struct hwi_stack stack_of(const struct hwi_amount *amount, uint64_t failed_calls)
{
  return (struct hwi_stack){.calls = amount->calls,
                            .bytes = amount->bytes,
                            .temporary_calls = amount->temporary_calls,
                            .failed_calls = failed_calls,
                            .live_blocks = amount->live_blocks,
                            .live_bytes = amount->live_bytes,
                            .peak_blocks = amount->peak_blocks,
                            .peak_bytes = amount->peak_bytes,
                            .peak_usable = amount->peak_usable,
                            .variance = amount->variance};
}

static int add_stack(struct hwi_saved_tables *tables, const struct hwi_stack *stack, struct hwi_error *error)
{
  if (tables->stack_count >= UINT32_MAX - 1 ||
      !hwi_grow((void **)&tables->stacks, &tables->stack_room, tables->stack_count + 1, sizeof *tables->stacks))
    return hwi_saved_no_memory(error);
  tables->stacks[tables->stack_count++] = *stack;
  return HW_OK;
}

static void read_amount(struct hwi_amount *amount, const json_t *item)
{
  hwi_saved_fields(amount, hwi_amount_figures, item);
  for (const struct hwi_figure *error = hwi_amount_errors; error->key; error++)
    *(float *)((char *)amount + error->off) = (float)hwi_sample_variance_of(hwi_saved_number(item, error->key));
}

int hwi_saved_stacks(struct hwi_saved_tables *tables, const json_t *stacks, struct hwi_error *error)
{
  size_t i;
  const json_t *item;
  int status = HW_OK;
  json_array_foreach(stacks, i, item)
  {
    struct hwi_amount amount;
    read_amount(&amount, item);
    struct hwi_stack stack = stack_of(&amount, hwi_saved_number(item, "failed_calls"));
    stack.entry = hwi_entry_of_name(json_string_value(json_object_get(item, "entry")));
    status = read_frames(tables, &stack, json_object_get(item, "stack"), error);
    if (status == HW_OK)
      status = add_stack(tables, &stack, error);
    if (status < 0)
      break;
  }
  return status;
}

int hwi_saved_rest(struct hwi_saved_tables *tables, const struct hwi_totals *totals, const json_t *report,
                   struct hwi_error *error)
{
  const struct hwi_profile run = {.totals = *totals};
  struct hwi_amount rest = hwi_amount_of_run(&run);
  if (hwi_saved_number(report, "sample_bytes")) /* the calls of all stacks are estimates, too */
    read_amount(&rest, json_object_get(report, "selected"));
  uint64_t failed_calls = totals->failed_calls;
  for (size_t i = 1; i < tables->stack_count; i++) {
    struct hwi_amount amount = hwi_amount_of_stack(&tables->stacks[i]);
    hwi_amount_subtract(&rest, &amount);
    failed_calls -= tables->stacks[i].failed_calls;
  }
  for (const struct hwi_figure *field = hwi_amount_figures; field->key; field++) {
    uint64_t *figure = (uint64_t *)((char *)&rest + field->off);
    *figure = *figure > INT64_MAX ? 0 : *figure; /* a forged list may have more than its run */
  }
  struct hwi_stack stack = stack_of(&rest, failed_calls > INT64_MAX ? 0 : failed_calls);
  return add_stack(tables, &stack, error);
}
