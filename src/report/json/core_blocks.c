/* core_blocks.c - answers about single blocks of a core dump, as JSON */
#include "report/json/core_blocks.h"

#include "report/content/core_place_names.h"

static void write_names(struct hwi_json *json, const struct hwi_core_question *question,
                        const struct hwi_core_block *block)
{
  static const struct {
    const char *key;
    bool (*add)(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line);
  } members[] = {{"type", hwi_core_names_type},
                 {"type_member", hwi_core_names_member},
                 {"type_variable", hwi_core_names_variable},
                 {"allocated_by", hwi_core_names_stack}};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    struct hwi_line name = {0};
    if (members[i].add(&question->names, block, &name))
      hwi_json_text(json, members[i].key, hwi_line_text(&name));
    json->failed |= name.failed;
    hwi_line_release(&name);
  }
}

void hwi_json_core_block_members(struct hwi_json *json, const struct hwi_core_question *question, uint32_t number)
{
  const struct hwi_core_block *block = &question->graph->heap->blocks[number];
  hwi_json_number(json, "address", block->address);
  hwi_json_number(json, "bytes", hwi_core_block_bytes(block));
  hwi_json_text(json, "state", hwi_core_block_words(question->graph, number));
  write_names(json, question, block);
}

void hwi_json_core_block(struct hwi_json *json, const char *key, const struct hwi_core_question *question,
                         uint32_t number)
{
  hwi_json_begin_object(json, key);
  hwi_json_core_block_members(json, question, number);
  hwi_json_end_object(json);
}

void hwi_json_core_place(struct hwi_json *json, const struct hwi_core_question *question,
                         const struct hwi_core_place *place)
{
  struct hwi_core_place_name name;
  struct hwi_line line = {0};
  hwi_core_place_name_find(&question->names, question->graph, place, &name);
  hwi_core_place_name_add(&line, question->graph, &name);
  hwi_json_text(json, "place", hwi_line_text(&line));
  json->failed |= line.failed;
  hwi_line_release(&line);
  if (name.variable.name) {
    hwi_json_text(json, "variable", name.variable.name);
    hwi_json_number(json, "variable_off", name.variable.off);
    hwi_json_text(json, "module", name.module);
  }
  if (name.local) {
    hwi_json_text(json, "local_variable", name.local);
    hwi_json_number(json, "local_variable_off", name.local_off);
  }
  if (name.thread)
    hwi_json_number(json, "thread", name.thread->tid);
  if (!name.function)
    return;
  hwi_json_text(json, "function", name.function->function);
  if (name.function->file) {
    hwi_json_text(json, "file", name.function->file);
    hwi_json_number(json, "line", name.function->line);
  }
}

static void write_reference(struct hwi_json *json, const struct hwi_core_question *question,
                            const struct hwi_reference *reference)
{
  hwi_json_begin_object(json, NULL);
  hwi_json_core_place(json, question, &reference->place);
  if (reference->place.kind != HWI_CORE_PLACE_REGISTER)
    hwi_json_number(json, "address", reference->place.address);
  hwi_json_number(json, "to_off", reference->is_start ? 0 : reference->to_off);
  if (reference->place.kind == HWI_CORE_PLACE_BLOCK)
    hwi_json_core_block(json, "block", question, reference->place.block);
  hwi_json_end_object(json);
}

/* Only a live block has a chain. */
static int write_path(struct hwi_json *json, const struct hwi_core_question *question, uint32_t block, bool is_live,
                      struct hwi_error *error)
{
  struct hwi_path path = {0};
  const int status = is_live ? hwi_path_find(&path, question->graph, block, error) : 0;
  hwi_json_begin_array(json, "path");
  for (size_t i = 0; status == 0 && i < path.count; i++)
    write_reference(json, question, &path.steps[i]);
  hwi_json_end_array(json);
  hwi_path_release(&path);
  return status;
}

static int write_block_answer(struct hwi_json *json, const struct hwi_core_question *question, uint32_t block,
                              bool is_live, struct hwi_error *error)
{
  struct hwi_references references;
  hwi_json_core_block(json, "block", question, block);
  if (block > 0)
    hwi_json_core_block(json, "before", question, block - 1);
  if (block + 1 < question->graph->heap->block_count)
    hwi_json_core_block(json, "behind", question, block + 1);
  int status = hwi_references_find(&references, question->graph, block, question->most, error);
  if (status < 0)
    return status;
  hwi_json_number(json, "reference_count", references.total);
  hwi_json_begin_array(json, "references");
  for (size_t i = 0; i < references.count; i++)
    write_reference(json, question, &references.list[i]);
  hwi_json_end_array(json);
  hwi_references_release(&references);
  return write_path(json, question, block, is_live, error);
}

int hwi_json_core_finish(struct hwi_json *json, int status, struct hwi_error *error)
{
  hwi_json_end_object(json);
  fputc('\n', json->out);
  return status == 0 && json->failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory: the answer is not complete")
                                     : status;
}

static void begin(struct hwi_json *json, const struct hwi_core_question *question, const char *schema,
                  const struct hwi_core_place *place)
{
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "schema", schema);
  hwi_json_number(json, "address", place->address);
  hwi_json_core_place(json, question, place);
}

int hwi_core_path_json(const struct hwi_core_question *question, uint64_t address, FILE *out, struct hwi_error *error)
{
  struct hwi_json json = {.out = out, .first = true};
  struct hwi_core_place place;
  int status = 0;
  hwi_graph_place(question->graph, address, &place);
  begin(&json, question, "heapwright-path/1", &place);
  if (place.block != HWI_NO_BLOCK) {
    hwi_json_core_block(&json, "block", question, place.block);
    status = write_path(&json, question, place.block, place.kind == HWI_CORE_PLACE_BLOCK, error);
  }
  return hwi_json_core_finish(&json, status, error);
}

int hwi_core_who_json(const struct hwi_core_question *question, uint64_t address, FILE *out, struct hwi_error *error)
{
  struct hwi_json json = {.out = out, .first = true};
  struct hwi_core_place place;
  int status = 0;
  hwi_graph_place(question->graph, address, &place);
  begin(&json, question, "heapwright-who/1", &place);
  if (place.block != HWI_NO_BLOCK)
    status = write_block_answer(&json, question, place.block, place.kind == HWI_CORE_PLACE_BLOCK, error);
  return hwi_json_core_finish(&json, status, error);
}

int hwi_core_retained_json(const struct hwi_core_question *question, uint64_t unused, FILE *out,
                           struct hwi_error *error)
{
  (void)unused;
  struct hwi_json json = {.out = out, .first = true};
  struct hwi_retained retained;
  const int status = hwi_retained_find(&retained, question->graph, question->most, HWI_RETAINED_MEMORY_MOST, error);
  if (status < 0)
    return status;
  hwi_json_begin_object(&json, NULL);
  hwi_json_text(&json, "schema", "heapwright-retained/1");
  hwi_json_number(&json, "reached_blocks", retained.reached.blocks);
  hwi_json_number(&json, "reached_bytes", retained.reached.bytes);
  hwi_json_begin_array(&json, "retained");
  for (size_t i = 0; i < retained.count; i++) {
    const struct hwi_retainer *one = &retained.list[i];
    hwi_json_begin_object(&json, NULL);
    hwi_json_number(&json, "retained_blocks", one->retained.blocks);
    hwi_json_number(&json, "retained_bytes", one->retained.bytes);
    hwi_json_core_block(&json, "block", question, one->block);
    if (one->over != HWI_NO_BLOCK)
      hwi_json_number(&json, "retained_by", question->graph->heap->blocks[one->over].address);
    if (one->root.place.kind != HWI_CORE_PLACE_UNKNOWN) {
      hwi_json_begin_object(&json, "held_by");
      hwi_json_core_place(&json, question, &one->root.place);
      hwi_json_end_object(&json);
    }
    hwi_json_end_object(&json);
  }
  hwi_json_end_array(&json);
  hwi_retained_release(&retained);
  return hwi_json_core_finish(&json, 0, error);
}
