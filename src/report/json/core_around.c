/* core_around.c - what is around an address in a core dump, as JSON */
#include "report/content/core_around.h"
#include "report/content/core_place_names.h"
#include "report/json/core_blocks.h"

static void write_bytes(struct hwi_json *json, const char *key, const struct hwi_core_question *question,
                        uint64_t address, uint64_t count)
{
  struct hwi_line line = {0};
  hwi_core_around_add_bytes(&line, question->graph->memory, address,
                            count < HWI_AROUND_BYTES ? count : HWI_AROUND_BYTES);
  hwi_json_text(json, key, hwi_line_text(&line));
  json->failed |= line.failed;
  hwi_line_release(&line);
}

static void write_suspect(struct hwi_json *json, const struct hwi_core_question *question, uint32_t suspect)
{
  const struct hwi_core_block *block = &question->graph->heap->blocks[suspect];
  const uint64_t bytes = hwi_core_block_bytes(block), shown = bytes < HWI_AROUND_BYTES ? bytes : HWI_AROUND_BYTES;
  hwi_json_begin_object(json, "suspect");
  hwi_json_core_block_members(json, question, suspect);
  write_bytes(json, "last_bytes", question, hwi_core_block_end(block) - shown, shown);
  write_bytes(json, "bytes_behind", question, hwi_core_block_end(block), HWI_AROUND_BYTES);
  hwi_json_end_object(json);
}

static void write_damages(struct hwi_json *json, const struct hwi_core_question *question,
                          const struct hwi_core_around *around)
{
  hwi_json_begin_array(json, "damage");
  for (size_t i = 0; i < around->damage_count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "address", around->damages[i].damage->address);
    hwi_json_text(json, "text", around->damages[i].damage->text);
    if (around->damages[i].suspect != HWI_NO_BLOCK)
      write_suspect(json, question, around->damages[i].suspect);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_blocks(struct hwi_json *json, const struct hwi_core_question *question,
                         const struct hwi_core_around *around)
{
  hwi_json_begin_array(json, "blocks");
  for (uint32_t block = around->first; block < around->end; block++) {
    const struct hwi_core_block *of = &question->graph->heap->blocks[block];
    hwi_json_begin_object(json, NULL);
    hwi_json_core_block_members(json, question, block);
    write_bytes(json, "first_bytes", question, of->address, hwi_core_block_bytes(of));
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_registers(struct hwi_json *json, const struct hwi_core_question *question,
                            const struct hwi_core_around *around)
{
  static const char *const kinds[] = {"in a block", "behind a block", "text", "poison"};
  const struct hwi_memory *memory = question->graph->memory;
  hwi_json_begin_array(json, "registers");
  for (size_t i = 0; i < around->register_count; i++) {
    const struct hwi_around_register *found = &around->registers[i];
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "register", hwi_core_register_name(&memory->threads[0], found->reg));
    hwi_json_number(json, "value", found->value);
    hwi_json_text(json, "kind", kinds[found->kind]);
    if (found->kind == HWI_AROUND_IN_BLOCK || found->kind == HWI_AROUND_BEHIND_BLOCK)
      hwi_json_core_block(json, "block", question, found->block);
    if (found->list)
      hwi_json_text(json, "free_list", found->list);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}

static void write_place(struct hwi_json *json, const struct hwi_core_question *question,
                        const struct hwi_core_around *around)
{
  const uint32_t block = around->place.block;
  hwi_json_core_place(json, question, &around->place);
  if (block != HWI_NO_BLOCK)
    hwi_json_core_block(json, "block", question, block);
  if (around->behind != HWI_NO_BLOCK)
    hwi_json_core_block(json, "behind", question, around->behind);
  if (around->list)
    hwi_json_text(json, "free_list", around->list);
  hwi_json_bool(json, "use_after_free", hwi_core_around_is_use_after_free(around));
  hwi_json_bool(json, "fault", around->is_fault);
  hwi_json_bool(json, "stack_overflow", around->is_fault && around->crash.cause == HWI_CRASH_OVERFLOW);
  hwi_json_text(json, "signal_cause", around->crash.is_known ? hwi_crash_cause_names[around->crash.cause] : NULL);
  if (around->is_found) {
    hwi_json_begin_object(json, "found_in");
    hwi_json_core_place(json, question, &around->from);
    hwi_json_end_object(json);
  }
}

int hwi_core_around_json(const struct hwi_core_question *question, uint64_t address, FILE *out, struct hwi_error *error)
{
  const struct hwi_memory *memory = question->graph->memory;
  struct hwi_json json = {.out = out, .first = true};
  struct hwi_core_around around;
  hwi_core_around_find(&around, question, address);
  hwi_json_begin_object(&json, NULL);
  hwi_json_text(&json, "schema", "heapwright-around/1");
  hwi_json_number(&json, "address", address);
  hwi_json_number(&json, "signal", (uint64_t)memory->signal);
  write_place(&json, question, &around);
  write_damages(&json, question, &around);
  write_blocks(&json, question, &around);
  write_registers(&json, question, &around);
  return hwi_json_core_finish(&json, 0, error);
}
