/* heaptrack_interpreted.c - heaptrack's interpreted recordings, which `heaptrack` writes by default
 *
 * Lines: strings (s, from format 3 on with their length), instruction pointers (i ADDRESS MODULE and for each function
 * there, innermost first, FUNCTION FILE LINE: numbers of strings, 0 for none), nodes of the tree of stacks (t POINTER
 * PARENT), pairs of size and stack (a SIZE NODE), allocations (+ PAIR) and frees (- PAIR). Numbers are hexadecimal;
 * pairs are numbered from 0, all others from 1.
 *
 * The file has no addresses of blocks: each allocation gets a new one, and a free ends the latest block of its pair, so
 * that calls, bytes, peak and leaks are the same as heaptrack's. It has no load addresses of modules either: each
 * module gets an artificial address range, with an address for each function at each place, and a file with their names
 * (names_file.h), which is stored next to the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "export/import/foreign.h"
#include "export/import/names_file.h"
#include "report/names/named_frames.h"
#include "symbols/symbol_files.h"
#include "trace/grow.h"

enum { SIZED_STRINGS_FROM = 3, BLOCK_STEP = 16, FIRST_BLOCK = 1 << 16, NONE = 0 };
#define MODULE_BYTES (UINT64_C(1) << 36) /* size of a module's address range */

struct module {
  uint32_t path; /* string */
  uint8_t build_id[HWI_NAMES_BUILD_ID_BYTES];
  struct hwi_named_place *places;
  size_t count, capacity;
};

/* Functions at an address: consecutive places of a module. */
struct pointer {
  uint32_t module; /* from 1; 0: none, and `first` is an address */
  uint32_t count;
  uint64_t first;
};

struct pair {
  uint64_t size;
  uint32_t node;
  uint64_t *live; /* addresses of its live blocks, the latest last */
  size_t live_count, live_capacity;
};

struct interpreted {
  uint64_t version, page_bytes;
  char *program;  /* the first word of the command; NULL: none, or its module was found */
  char **strings; /* [1, string_count] */
  size_t string_count, string_capacity;
  struct module *modules; /* [0, module_count): module i has number i + 1 in the trace */
  size_t module_count, module_capacity;
  struct pointer *pointers; /* [1, pointer_count] */
  size_t pointer_count, pointer_capacity;
  uint32_t *nodes; /* [1, node_count]: the trace's node of the innermost function */
  size_t node_count, node_capacity;
  uint32_t made_nodes; /* number of nodes in the trace */
  struct pair *pairs;
  size_t pair_count, pair_capacity;
  uint64_t next_block;
};

static void *create(void)
{
  struct interpreted *from = calloc(1, sizeof *from);
  if (from)
    from->next_block = FIRST_BLOCK;
  return from;
}

static void destroy(void *reader)
{
  struct interpreted *from = reader;
  for (size_t i = 1; i <= from->string_count; i++)
    free(from->strings[i]);
  for (size_t i = 0; i < from->module_count; i++)
    free(from->modules[i].places);
  for (size_t i = 0; i < from->pair_count; i++)
    free(from->pairs[i].live);
  free(from->program);
  free(from->strings);
  free(from->modules);
  free(from->pointers);
  free(from->nodes);
  free(from->pairs);
  free(from);
}

/* Makes space for one more item. Returns false if there is no memory, and sets the trace's status. */
#define GROW(from, trace, items, count, capacity)                                                         \
  (hwi_grow((void **)&(from)->items, &(from)->capacity, (size_t)(from)->count + 2, sizeof *(from)->items) \
       ? true                                                                                             \
       : ((trace)->status = HW_ERR_MEMORY, false))

/* --- names --- */

static bool take_string(struct interpreted *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t bytes = 0;
  if (from->version >= SIZED_STRINGS_FROM && !hwi_heaptrack_number(&at, &bytes))
    return false;
  at += *at == ' ';
  if (!GROW(from, trace, strings, string_count, string_capacity))
    return false;
  char *text = strdup(at);
  if (!text) {
    trace->status = HW_ERR_MEMORY;
    return false;
  }
  from->strings[++from->string_count] = text;
  return true;
}

/* Returns a string, or NULL if it is "" or unknown. */
static const char *string(const struct interpreted *from, uint64_t number)
{
  return number > 0 && number <= from->string_count && from->strings[number][0] != '\0' ? from->strings[number] : NULL;
}

/* The module with the name of the command is the executable. */
static void note_executable(struct interpreted *from, struct hwi_synthetic *trace, const char *path)
{
  if (!from->program || strcmp(hwi_base_name(path), hwi_base_name(from->program)) != 0)
    return;
  hwi_synthetic_record(trace, HW_RECORD_EXE, path, strlen(path));
  free(from->program);
  from->program = NULL;
}

/* Returns the number of the module with that path, or 0 if there is no memory or there are too many. */
static uint32_t find_module(struct interpreted *from, struct hwi_synthetic *trace, uint32_t path)
{
  for (size_t i = from->module_count; i-- > 0;) {
    if (from->modules[i].path == path)
      return (uint32_t)i + 1;
  }
  struct module made = {.path = path};
  if (from->module_count >= UINT16_MAX || !GROW(from, trace, modules, module_count, module_capacity))
    return 0;
  uint32_t number = (uint32_t)from->module_count + 1;
  memcpy(made.build_id, trace->header.run_id, sizeof trace->header.run_id);
  memcpy(made.build_id + sizeof trace->header.run_id, &number, sizeof number);
  from->modules[from->module_count++] = made;
  const struct hwi_synthetic_module place = {.path = from->strings[path],
                                             .start = number * MODULE_BYTES,
                                             .end = (number + 1) * MODULE_BYTES,
                                             .bias = number * MODULE_BYTES,
                                             .build_id = made.build_id,
                                             .build_id_bytes = sizeof made.build_id};
  hwi_synthetic_module(trace, number, &place);
  note_executable(from, trace, place.path);
  return number;
}
static_assert(sizeof((struct hw_trace_header *)0)->run_id + sizeof(uint32_t) == HWI_NAMES_BUILD_ID_BYTES,
              "a build-id is the run's and the module's number");

static bool add_place(struct module *module, const struct hwi_named_place *place)
{
  if (module->count == UINT32_MAX ||
      !hwi_grow((void **)&module->places, &module->capacity, module->count + 1, sizeof *module->places))
    return false;
  module->places[module->count++] = *place;
  return true;
}

/* Reads the functions at a pointer, at least one. */
static bool take_places(struct interpreted *from, struct hwi_synthetic *trace, struct pointer *pointer, char *at)
{
  struct module *module = &from->modules[pointer->module - 1];
  uint64_t function = 0, file = 0, line = 0;
  pointer->first = module->count;
  do {
    bool given =
        hwi_heaptrack_number(&at, &function) && hwi_heaptrack_number(&at, &file) && hwi_heaptrack_number(&at, &line);
    if (!given && pointer->count > 0)
      break;
    const struct hwi_named_place place = {.function = given ? string(from, function) : NULL,
                                          .file = given ? string(from, file) : NULL,
                                          .line = line <= UINT32_MAX ? (uint32_t)line : 0};
    if (!add_place(module, &place)) {
      trace->status = HW_ERR_MEMORY;
      return false;
    }
    pointer->count++;
  } while (*at == ' ');
  return true;
}

static bool take_pointer(struct interpreted *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t address, path;
  struct pointer pointer = {0};
  if (!hwi_heaptrack_number(&at, &address) || !hwi_heaptrack_number(&at, &path) || path > from->string_count ||
      from->pointer_count == UINT32_MAX)
    return false;
  if (path != NONE)
    pointer.module = find_module(from, trace, (uint32_t)path);
  if (pointer.module == 0)
    pointer = (struct pointer){.count = 1, .first = address};
  else if (!take_places(from, trace, &pointer, at))
    return false;
  if (!GROW(from, trace, pointers, pointer_count, pointer_capacity))
    return false;
  from->pointers[++from->pointer_count] = pointer;
  return true;
}

/* --- stacks --- */

/* In the trace, a stack has a node for each function, including inlined ones. */
static bool take_node(struct interpreted *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t number, parent;
  if (!hwi_heaptrack_number(&at, &number) || !hwi_heaptrack_number(&at, &parent) || number == 0 ||
      number > from->pointer_count || parent > from->node_count)
    return false;
  const struct pointer *pointer = &from->pointers[number];
  if (pointer->count > UINT32_MAX - 1 - from->made_nodes || !GROW(from, trace, nodes, node_count, node_capacity))
    return false;
  uint32_t node = parent > 0 ? from->nodes[parent] : 0;
  for (uint32_t i = pointer->count; i-- > 0;) {
    uint64_t address = pointer->first + 1;
    if (pointer->module != 0)
      address = pointer->module * MODULE_BYTES + HWI_PLACE_FIRST + (pointer->first + i) * HWI_PLACE_BYTES + 1;
    hwi_synthetic_node(trace, ++from->made_nodes,
                       &(struct hwi_node){.parent = node, .module = pointer->module, .address = address});
    node = from->made_nodes;
  }
  from->nodes[++from->node_count] = node;
  return true;
}

/* --- events --- */

static bool take_pair(struct interpreted *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t size, node;
  if (!hwi_heaptrack_number(&at, &size) || !hwi_heaptrack_number(&at, &node) || node > from->node_count ||
      !GROW(from, trace, pairs, pair_count, pair_capacity))
    return false;
  from->pairs[from->pair_count++] = (struct pair){.size = size, .node = node > 0 ? from->nodes[node] : 0};
  return true;
}

static bool take_allocation(struct interpreted *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t number;
  if (!hwi_heaptrack_number(&at, &number) || number >= from->pair_count)
    return false;
  struct pair *pair = &from->pairs[number];
  if (!GROW(pair, trace, live, live_count, live_capacity))
    return false;
  pair->live[pair->live_count++] = from->next_block;
  hwi_synthetic_alloc(trace, pair->node, pair->size, from->next_block);
  from->next_block += BLOCK_STEP;
  return true;
}

static bool take_free(struct interpreted *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t number;
  if (!hwi_heaptrack_number(&at, &number) || number >= from->pair_count || from->pairs[number].live_count == 0)
    return false;
  struct pair *pair = &from->pairs[number];
  hwi_synthetic_free(trace, pair->live[--pair->live_count]);
  return true;
}

static bool take(void *reader, struct hwi_synthetic *trace, char *line)
{
  struct interpreted *from = reader;
  uint64_t tool;
  char *at = line + 1;
  switch (line[0]) {
  case 'v':
    return hwi_heaptrack_number(&at, &tool) && hwi_heaptrack_number(&at, &from->version);
  case 's':
    return take_string(from, trace, at);
  case 'X':
    if (!from->program && *at == ' ')
      from->program = strndup(at + 1, strcspn(at + 1, " "));
    return hwi_heaptrack_take_common(&from->page_bytes, trace, line);
  case 'i':
    return take_pointer(from, trace, at);
  case 't':
    return take_node(from, trace, at);
  case 'a':
    return take_pair(from, trace, at);
  case '+':
    return take_allocation(from, trace, at);
  case '-':
    return take_free(from, trace, at);
  default:
    return hwi_heaptrack_take_common(&from->page_bytes, trace, line);
  }
}

/* Writes the names, one file for each module. */
static int finish(void *reader, const char *folder)
{
  const struct interpreted *from = reader;
  int status = HW_OK;
  for (size_t i = 0; i < from->module_count && status == HW_OK; i++) {
    const struct module *module = &from->modules[i];
    char *path = hwi_symbol_file_place(folder, module->build_id, sizeof module->build_id);
    status = path ? hwi_names_file_write(path, module->build_id, module->places, (uint32_t)module->count) : HW_ERR_IO;
    free(path);
  }
  return status;
}

static bool recognizes(const char *line, const char *kinds)
{
  return hwi_heaptrack_is_interpreted(line, kinds);
}

const struct hwi_foreign_format hwi_foreign_interpreted = {
    .tool = "heaptrack",
    .missing =
        "threads, times finer than its clock's 10 ms, which calls were reallocations and, in interpreted recordings, "
        "which block a free is of (the latest of its stack and size is taken)",
    .takes_cut_lines = true,
    .recognizes = recognizes,
    .create = create,
    .destroy = destroy,
    .take = take,
    .finish = finish,
};
