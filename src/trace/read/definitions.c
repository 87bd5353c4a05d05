/* definitions.c - the definitions in a trace: nodes, modules, threads */
#include "trace/read/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "trace/decode.h"
#include "trace/grow.h"
#include "trace/read/tool_area.h"
#include "trace/table.h"

struct hwi_definitions *hwi_definitions_create(uint32_t first_node, uint32_t first_module, uint64_t limit)
{
  struct hwi_definitions *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->references = 1;
  made->first_node = first_node ? first_node : 1;
  made->first_module = first_module ? first_module : 1;
  made->limit = limit < UINT32_MAX ? limit : UINT32_MAX;
  return made;
}

void hwi_definitions_expect(struct hwi_definitions *definitions, uint64_t nodes)
{
  const uint64_t room = UINT32_MAX - definitions->limit;
  definitions->limit += nodes < room ? nodes : room;
}

struct hwi_definitions *hwi_definitions_share(struct hwi_definitions *definitions)
{
  if (definitions)
    definitions->references++;
  return definitions;
}

static void release_nodes(struct hwi_definitions *d)
{
  hwi_table_release(d->nodes, d->node_capacity * sizeof *d->nodes);
  d->nodes = NULL;
  d->node_count = d->node_capacity = 0;
}

static void release(struct hwi_definitions *d)
{
  release_nodes(d);
  for (size_t i = 0; i < d->module_count; i++)
    free((char *)d->modules[i].path);
  free(d->modules);
  hwi_hash_table_release(&d->thread_indices);
  free(d->threads);
  for (size_t i = 0; i < d->note_count; i++)
    free((char *)d->notes[i].text);
  free(d->notes);
  for (size_t i = 0; i < d->name_count; i++)
    free(d->names[i]);
  free(d->names);
  hwi_hash_table_release(&d->name_indices);
  hwi_instance_texts_release(&d->texts);
  hwi_call_counts_release(&d->call_counts);
  free(d->command.bytes);
  free(d->exe.bytes);
  free(d->cwd.bytes);
  free(d->environment.bytes);
  free(d);
}

void hwi_definitions_destroy(struct hwi_definitions *definitions)
{
  while (definitions && --definitions->references == 0) {
    struct hwi_definitions *parent = definitions->parent;
    release(definitions);
    definitions = parent;
  }
}

void hwi_definitions_forget(struct hwi_definitions *definitions)
{
  if (definitions->references > 1) /* forked images still use them */
    return;
  release_nodes(definitions);
}

static bool add_node(void *context, uint32_t number, const struct hwi_node *node)
{
  struct hwi_definitions *d = context;
  if (number < d->first_node || number - d->first_node >= d->limit)
    return false;
  size_t index = number - d->first_node;
  if (!hwi_table_grow((void **)&d->nodes, &d->node_capacity, index + 1, sizeof *d->nodes)) {
    d->no_memory = true;
    return true; /* the following events are still valid */
  }
  if (index >= d->node_count)
    d->node_count = index + 1;
  if (!d->nodes[index].known) {
    d->nodes[index] = *node;
    d->nodes[index].known = true;
  }
  return true;
}

struct hwi_node hwi_definitions_node(const struct hwi_definitions *d, uint32_t number)
{
  while (d && number && number < d->first_node)
    d = d->parent;
  if (!d || number < d->first_node || number - d->first_node >= d->node_count)
    return (struct hwi_node){.known = false};
  return d->nodes[number - d->first_node];
}

const struct hwi_module *hwi_definitions_module(const struct hwi_definitions *d, uint32_t number)
{
  static const struct hwi_module unknown = {.path = ""};
  while (d && number && number < d->first_module)
    d = d->parent;
  if (!d || number < d->first_module || number - d->first_module >= d->module_count)
    return &unknown;
  const struct hwi_module *module = &d->modules[number - d->first_module];
  return module->known ? module : &unknown;
}

const struct hwi_thread *hwi_definitions_thread(const struct hwi_definitions *d, uint32_t number)
{
  static const struct hwi_thread unknown = {.policy = UINT8_MAX};
  uint32_t index = hwi_hash_table_first(&d->thread_indices, number)->number;
  return index ? &d->threads[index - 1] : &unknown;
}

const char *hwi_definitions_name(const struct hwi_definitions *d, uint32_t number)
{
  uint32_t index = hwi_hash_table_first(&d->name_indices, number)->number;
  return index ? d->names[index - 1] : NULL;
}

/* --- records --- */

static char *copy_text(struct hwi_definitions *d, const uint8_t *from, size_t bytes)
{
  char *made = malloc(bytes + 1);
  if (!made) {
    d->no_memory = true;
    return NULL;
  }
  memcpy(made, from, bytes);
  made[bytes] = 0;
  return made;
}

/* The recorder assumes that relative paths start at the folder in which the program began, but the program may have
 * left it. */
static char *path_of(struct hwi_definitions *d, uint64_t start, const struct hwi_payload *p)
{
  char *path = copy_text(d, p->at, (size_t)(p->end - p->at));
  bool is_guess = path && d->tool && d->cwd.count && !strncmp(path, d->cwd.bytes, d->cwd.count);
  const char *seen = is_guess ? hwi_tool_area_file(d->tool, start, path) : NULL;
  if (!seen)
    return path;
  free(path);
  return copy_text(d, (const uint8_t *)seen, strlen(seen));
}

static bool add_module(struct hwi_definitions *d, struct hwi_payload *p)
{
  uint64_t number = hwi_payload_varint(p);
  struct hwi_module module = {.known = true};
  module.start = hwi_payload_varint(p);
  module.end = module.start + hwi_payload_varint(p);
  module.bias = hwi_payload_varint(p);
  module.build_id_bytes = hwi_payload_byte(p);
  if (p->bad || module.build_id_bytes > sizeof module.build_id || module.build_id_bytes > p->end - p->at)
    return false;
  memcpy(module.build_id, p->at, module.build_id_bytes);
  p->at += module.build_id_bytes;
  if (number < d->first_module || number - d->first_module >= d->limit / 8) /* a MODULE record has more than 8 bytes */
    return false;
  size_t index = number - d->first_module;
  if (index >= d->module_capacity &&
      !hwi_grow((void **)&d->modules, &d->module_capacity, index + 1, sizeof *d->modules)) {
    d->no_memory = true;
    return true;
  }
  if (index >= d->module_count)
    d->module_count = index + 1;
  if (d->modules[index].known)
    return true;
  module.path = path_of(d, module.start, p);
  if (module.path)
    d->modules[index] = module;
  return true;
}

/* Adds a thread. Returns its index plus 1, or 0 if there is no memory. */
static uint32_t new_thread(struct hwi_definitions *d, uint32_t number)
{
  if (d->thread_count >= UINT32_MAX - 1 ||
      !hwi_grow((void **)&d->threads, &d->thread_capacity, d->thread_count + 1, sizeof *d->threads) ||
      !hwi_hash_table_add(&d->thread_indices, number, (uint32_t)d->thread_count + 1))
    return 0;
  return (uint32_t)++d->thread_count;
}

static bool add_thread(struct hwi_definitions *d, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct hwi_thread made;
  uint32_t number;
  if (!hwi_payload_thread(payload, bytes, &number, &made))
    return false;
  *thread = number;
  uint32_t index = hwi_hash_table_first(&d->thread_indices, number)->number;
  if (index) {
    const struct hwi_thread *before = &d->threads[index - 1];
    made.renamed = before->renamed || strncmp(before->name, made.name, sizeof made.name) != 0;
  } else {
    index = new_thread(d, number);
  }
  if (!index) {
    d->no_memory = true;
    return true;
  }
  d->threads[index - 1] = made; /* the latest name and policy are used */
  if (number >= d->thread_end && number < UINT32_MAX)
    d->thread_end = number + 1;
  return true;
}

static bool add_note(struct hwi_definitions *d, struct hwi_payload *p)
{
  uint8_t kind = hwi_payload_byte(p);
  if (p->bad)
    return false;
  size_t bytes = (size_t)(p->end - p->at);
  for (size_t i = 0; i < d->note_count; i++)
    if (d->notes[i].kind == kind && strlen(d->notes[i].text) == bytes && !memcmp(d->notes[i].text, p->at, bytes))
      return true;
  if (d->note_count == d->note_capacity &&
      !hwi_grow((void **)&d->notes, &d->note_capacity, d->note_count + 1, sizeof *d->notes)) {
    d->no_memory = true;
    return true;
  }
  char *text = copy_text(d, p->at, strnlen((const char *)p->at, bytes));
  if (text)
    d->notes[d->note_count++] = (struct hwi_note){.kind = kind, .text = text};
  return true;
}

/* Names after the first NAMES_MAX_BYTES bytes are dropped. */
static bool add_name(struct hwi_definitions *d, struct hwi_payload *p)
{
  enum { NAMES_MAX_BYTES = 64 << 20 };
  uint64_t number = hwi_payload_varint(p);
  size_t bytes = (size_t)(p->end - p->at);
  if (p->bad || number > UINT32_MAX)
    return false;
  if (bytes > NAMES_MAX_BYTES - d->name_bytes || hwi_definitions_name(d, (uint32_t)number))
    return true;
  char *name = copy_text(d, p->at, bytes);
  if (!name)
    return true;
  if (!hwi_grow((void **)&d->names, &d->name_capacity, d->name_count + 1, sizeof *d->names) ||
      !hwi_hash_table_add(&d->name_indices, (uint32_t)number, (uint32_t)d->name_count + 1)) {
    free(name);
    d->no_memory = true;
    return true;
  }
  d->names[d->name_count++] = name;
  d->name_bytes += bytes;
  return true;
}

static bool add_instance_text(struct hwi_definitions *d, struct hwi_payload *p)
{
  uint64_t number = hwi_payload_varint(p);
  if (!p->bad && number <= UINT32_MAX)
    d->no_memory |= !hwi_instance_texts_add(&d->texts, (uint32_t)number, p->at, (size_t)(p->end - p->at));
  return !p->bad;
}

/* The first text of a kind stays. */
static void set_text(struct hwi_definitions *d, struct hwi_definition_text *text, const struct hwi_payload *p)
{
  if (text->bytes)
    return;
  text->bytes = copy_text(d, p->at, (size_t)(p->end - p->at));
  text->count = text->bytes ? (size_t)(p->end - p->at) : 0;
}

static bool add_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct hwi_definitions *d = context;
  struct hwi_payload p = {payload, payload + bytes, false};
  switch (type) {
  case HW_RECORD_MODULE:
    return add_module(d, &p);
  case HW_RECORD_THREAD:
    return add_thread(d, payload, bytes, thread);
  case HW_RECORD_NOTE:
    return add_note(d, &p);
  case HW_RECORD_COMMAND:
    set_text(d, &d->command, &p);
    return true;
  case HW_RECORD_EXE:
    set_text(d, &d->exe, &p);
    return true;
  case HW_RECORD_CWD:
    set_text(d, &d->cwd, &p);
    return true;
  case HW_RECORD_ENV:
    set_text(d, &d->environment, &p);
    return true;
  case HW_RECORD_RSS: {
    uint64_t rss = hwi_payload_varint(&p);
    if (!p.bad && rss > d->rss_peak_bytes)
      d->rss_peak_bytes = rss;
    return !p.bad;
  }
  case HW_RECORD_EXIT:
    d->exited = true;
    return true;
  case HW_RECORD_NAME:
    return add_name(d, &p);
  case HW_RECORD_TEXT:
    return add_instance_text(d, &p);
  case HW_RECORD_COUNTS: {
    struct hwi_chunk_counts ignored;
    d->no_memory |= !hwi_call_counts_take(&d->call_counts, payload, bytes, &ignored);
    return true;
  }
  default: /* of a later version */
    return true;
  }
}

struct hwi_definition_sink hwi_definitions_sink(struct hwi_definitions *definitions)
{
  return (struct hwi_definition_sink){definitions, add_node, add_record};
}
