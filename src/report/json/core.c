/* core.c - the members of a report on a core dump about its heap */
#include "memory/types/block_types.h"
#include "memory/types/contents.h"
#include "report/content/core_leaks.h"
#include "report/content/core_pins.h"
#include "report/content/core_sums.h"
#include "report/json/members.h"

static void write_sum(struct hwi_json *json, const char *blocks_key, const char *bytes_key,
                      const struct hwi_core_heap_sum *sum)
{
  hwi_json_number(json, blocks_key, sum->blocks);
  hwi_json_number(json, bytes_key, sum->bytes);
}

static void write_sums(struct hwi_json *json, const struct hwi_core_sums *sums)
{
  write_sum(json, "live_blocks", "live_bytes", &sums->live);
  write_sum(json, "cached_blocks", "cached_bytes", &sums->cached);
  write_sum(json, "free_blocks", "free_bytes", &sums->free);
  hwi_json_number(json, "top_bytes", sums->top.bytes);
  hwi_json_number(json, "own_bytes", sums->own.bytes);
  hwi_json_number(json, "system_bytes", sums->system_bytes);
  hwi_json_number(json, "understood_bytes", sums->understood_bytes);
}

static void write_parts(struct hwi_json *json, const struct hwi_core_heap *heap)
{
  hwi_json_begin_array(json, "parts");
  for (size_t i = 0; i < heap->part_count; i++) {
    const struct hwi_core_sums sums = hwi_core_sums_of_part(&heap->parts[i]);
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "name", heap->parts[i].name);
    hwi_json_number(json, "address", heap->parts[i].address);
    hwi_json_bool(json, "nested", heap->parts[i].is_nested);
    write_sums(json, &sums);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_pin_owners(struct hwi_json *json, const struct hwi_core_names *names, const struct hwi_pin *pin)
{
  struct hwi_pin_owner owners[HWI_PIN_OWNERS_MAX];
  const size_t count = hwi_pin_owners_find(names, pin, owners);
  hwi_json_begin_array(json, "owners");
  for (size_t i = 0; i < count; i++) {
    struct hwi_line stack = {0};
    hwi_json_begin_object(json, NULL);
    write_sum(json, "blocks", "bytes", &(struct hwi_core_heap_sum){owners[i].blocks, owners[i].bytes});
    hwi_json_text(json, "allocated_by",
                  hwi_core_names_stack(names, owners[i].block, &stack) ? hwi_line_text(&stack) : NULL);
    hwi_json_end_object(json);
    json->failed |= stack.failed;
    hwi_line_release(&stack);
  }
  hwi_json_end_array(json);
}

static void write_fragmentation(struct hwi_json *json, const struct hwi_report *report)
{
  struct hwi_fragmentation fragmentation;
  hwi_fragmentation_find(&fragmentation, report->core->heap);
  hwi_json_number(json, "free_page_bytes", fragmentation.page_bytes);
  hwi_json_begin_array(json, "pins");
  for (size_t i = 0; i < fragmentation.pin_count; i++) {
    const struct hwi_pin *pin = &fragmentation.pins[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "address", pin->address);
    write_sum(json, "blocks", "bytes", &(struct hwi_core_heap_sum){pin->blocks, pin->bytes});
    hwi_json_number(json, "held_bytes", pin->held_bytes);
    write_pin_owners(json, report->core_names, pin);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_damage(struct hwi_json *json, const struct hwi_core_heap *heap)
{
  hwi_json_number(json, "damages", heap->damage_count);
  hwi_json_begin_array(json, "damage");
  for (size_t i = 0; i < heap->damage_count && i < HWI_DAMAGES_MAX; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "address", heap->damages[i].address);
    hwi_json_text(json, "text", heap->damages[i].text);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_duplicate(struct hwi_json *json, const struct hwi_core *core, const struct hwi_duplicate *duplicate)
{
  struct hwi_memory_reader reader = {.memory = core->memory};
  char text[HWI_CONTENT_TEXT_BYTES];
  const unsigned char *bytes = hwi_memory_bytes(&reader, duplicate->address, duplicate->bytes);
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "address", duplicate->address);
  hwi_json_number(json, "block_bytes", duplicate->bytes);
  hwi_json_number(json, "copies", duplicate->copies);
  if (bytes) {
    hwi_content_text(text, bytes, duplicate->bytes);
    hwi_json_text(json, "text", text[0] ? text : NULL);
  }
  hwi_json_end_object(json);
}

static void write_contents(struct hwi_json *json, const struct hwi_core *core)
{
  const struct hwi_core_contents *contents = core->contents;
  hwi_json_begin_array(json, "contents");
  for (int i = 0; i < HWI_CONTENTS; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "content", hwi_content_names[i]);
    write_sum(json, "blocks", "bytes", &contents->sums[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  write_sum(json, "duplicate_blocks", "duplicate_bytes", &contents->duplicates);
  hwi_json_begin_array(json, "duplicates");
  for (size_t i = 0; i < contents->most_count; i++)
    write_duplicate(json, core, &contents->most[i]);
  hwi_json_end_array(json);
}

static void write_left_out(struct hwi_json *json, const struct hwi_memory *memory)
{
  hwi_json_begin_array(json, "left_out");
  for (size_t i = 0; i < memory->note_count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "bytes", memory->notes[i].bytes);
    hwi_json_text(json, "text", memory->notes[i].text);
    if (memory->notes[i].filter)
      hwi_json_number(json, "coredump_filter", memory->notes[i].filter);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

void hwi_json_core(struct hwi_json *json, const struct hwi_report *report)
{
  const struct hwi_core *core = report->core;
  const struct hwi_core_sums sums = hwi_core_sums_of(core);
  hwi_json_text(json, "allocator", core->heap->allocator);
  hwi_json_core_crash(json, report);
  hwi_json_text(json, "abort_message", core->abort_message[0] ? core->abort_message : NULL);
  write_left_out(json, core->memory);
  hwi_json_number(json, "stop_ns", core->stop_ns);
  if (core->recording) {
    hwi_json_text(json, "recording", core->recording);
    hwi_json_number(json, "recorded_blocks", core->recorded_blocks);
  }
  hwi_json_core_last_calls(json, report);
  write_sums(json, &sums);
  hwi_json_decimal(json, "understood_percent", hwi_core_understood_percent(&sums));
  write_parts(json, core->heap);
  write_fragmentation(json, report);
  write_damage(json, core->heap);
  if (core->types)
    hwi_json_bool(json, "types_complete", !core->types->is_cut);
  if (core->contents)
    write_contents(json, core);
}

/* --- leaks --- */

static void write_leak(struct hwi_json *json, const struct hwi_core_leak *leak, const struct hwi_json_stacks *stacks)
{
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "blocks", leak->blocks);
  hwi_json_number(json, "bytes", leak->bytes);
  if (leak->block_bytes)
    hwi_json_number(json, "block_bytes", leak->block_bytes);
  hwi_json_bool(json, "direct", leak->kind == HWI_LEAK_DIRECT);
  hwi_json_bool(json, "cycle", leak->kind == HWI_LEAK_CYCLE);
  hwi_json_number(json, "address", leak->address);
  stacks->write(stacks->context, json, leak->stack);
  hwi_json_end_object(json);
}

int hwi_json_core_leaks(struct hwi_json *json, const struct hwi_report *report, const struct hwi_json_stacks *stacks,
                        struct hwi_error *error)
{
  const struct hwi_leaks *leaks = report->core->leaks;
  struct hwi_core_leaks groups;
  int status = hwi_core_leaks_group(&groups, report, error);
  hwi_json_begin_array(json, "leaks");
  for (size_t i = 0; status == 0 && i < groups.count; i++)
    write_leak(json, &groups.list[i], stacks);
  hwi_json_end_array(json);
  write_sum(json, "leaked_blocks", "leaked_bytes", &groups.all);
  write_sum(json, "by_interior_blocks", "by_interior_bytes", &leaks->by_interior);
  write_sum(json, "from_below_blocks", "from_below_bytes", &leaks->from_below);
  write_sum(json, "from_freed_blocks", "from_freed_bytes", &leaks->from_freed);
  hwi_json_number(json, "unknown_bytes", report->core->graph->unknown_bytes);
  if (report->suppressions) {
    write_sum(json, "suppressed_blocks", "suppressed_bytes", &leaks->suppressed);
    hwi_json_suppressions(json, report->suppressions);
  }
  if (status == 0)
    hwi_core_leaks_release(&groups);
  return status;
}
