/* heaptrack.c - heaptrack's raw recordings (heaptrack --raw)
 *
 * Lines: modules (m LENGTH PATH BIAS and pairs of offset and size; "m 1 -" starts a new list; the path "x" is the
 * executable), nodes of the tree of stacks (t ADDRESS PARENT, numbered from 1), allocations (+ SIZE NODE POINTER),
 * frees (- POINTER), moments in milliseconds (c), RSS in pages (R), the executable (x LENGTH PATH) and its command (X).
 * Numbers are hexadecimal. heaptrack's addresses are within the call instruction, ours are after it.
 */
#include <stdlib.h>
#include <string.h>

#include "export/import/foreign.h"
#include "trace/grow.h"

enum { HEXADECIMAL = 16, NS_PER_MS = 1000000 };

struct module {
  char *path; /* owned; place.path is the same */
  struct hwi_synthetic_module place;
};

struct heaptrack {
  struct module *modules; /* module i has number i + 1 */
  size_t module_count, module_capacity;
  uint32_t *loaded; /* numbers of the modules in the latest list, ordered by start address */
  size_t loaded_count, loaded_capacity;
  uint32_t node_count;
  uint64_t page_bytes;
  char *exe;
};

static void *create(void)
{
  return calloc(1, sizeof(struct heaptrack));
}

static void destroy(void *reader)
{
  struct heaptrack *from = reader;
  for (size_t i = 0; i < from->module_count; i++)
    free(from->modules[i].path);
  free(from->modules);
  free(from->loaded);
  free(from->exe);
  free(from);
}

/* Reads the next number of a line and moves *at after it. */
bool hwi_heaptrack_number(char **at, uint64_t *value)
{
  while (**at == ' ')
    ++*at;
  char *end;
  *value = strtoull(*at, &end, HEXADECIMAL);
  if (end == *at || **at == '-' || (*end != ' ' && *end != '\0'))
    return false;
  *at = end;
  return true;
}

/* Reads the next text of a line: its length, then the text. Returns NULL if there is none, or no memory. */
static char *next_text(char **at)
{
  uint64_t bytes;
  if (!hwi_heaptrack_number(at, &bytes) || **at != ' ' || bytes > strlen(*at + 1))
    return NULL;
  char *text = strndup(*at + 1, (size_t)bytes);
  *at += 1 + bytes;
  return text;
}

/* --- modules --- */

static const struct hwi_synthetic_module *loaded_place(const struct heaptrack *from, size_t i)
{
  return &from->modules[from->loaded[i] - 1].place;
}

/* Returns how many loaded modules start at or before the address. */
static size_t count_before(const struct heaptrack *from, uint64_t address)
{
  size_t low = 0, high = from->loaded_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (loaded_place(from, middle)->start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Adds the module to the list. Returns false if there is no memory. */
static bool load_module(struct heaptrack *from, uint32_t number)
{
  if (!hwi_grow((void **)&from->loaded, &from->loaded_capacity, from->loaded_count + 1, sizeof *from->loaded))
    return false;
  size_t at = count_before(from, from->modules[number - 1].place.start);
  if (at > 0 && from->loaded[at - 1] == number)
    return true;
  memmove(&from->loaded[at + 1], &from->loaded[at], (from->loaded_count++ - at) * sizeof *from->loaded);
  from->loaded[at] = number;
  return true;
}

/* Returns the module's number, which is created if there is none, or 0 if there is no memory. *taken: the members of
 * `module` are now owned by the list. */
static uint32_t find_module(struct heaptrack *from, struct hwi_synthetic *trace, struct module *module, bool *taken)
{
  *taken = false;
  for (size_t i = 0; i < from->module_count; i++) {
    const struct module *known = &from->modules[i];
    if (known->place.bias == module->place.bias && known->place.start == module->place.start &&
        strcmp(known->path, module->path) == 0)
      return (uint32_t)i + 1;
  }
  if (!hwi_grow((void **)&from->modules, &from->module_capacity, from->module_count + 1, sizeof *from->modules))
    return 0;
  *taken = true;
  from->modules[from->module_count++] = *module;
  hwi_synthetic_module(trace, (uint32_t)from->module_count, &module->place);
  return (uint32_t)from->module_count;
}

static bool take_module(struct heaptrack *from, struct hwi_synthetic *trace, char *at)
{
  struct module module = {.path = next_text(&at), .place.start = UINT64_MAX};
  if (!module.path)
    return false;
  if (strcmp(module.path, "-") == 0) {
    from->loaded_count = 0;
    free(module.path);
    return true;
  }
  if (strcmp(module.path, "x") == 0 && from->exe) {
    free(module.path);
    module.path = strdup(from->exe);
  }
  bool known = module.path && hwi_heaptrack_number(&at, &module.place.bias);
  struct hwi_synthetic_module *place = &module.place;
  place->path = module.path;
  for (uint64_t offset, bytes; known && hwi_heaptrack_number(&at, &offset) && hwi_heaptrack_number(&at, &bytes);) {
    uint64_t start = place->bias + offset;
    place->start = start < place->start ? start : place->start;
    place->end = start + bytes > place->end ? start + bytes : place->end;
  }
  known = known && place->start < place->end;
  bool taken = false;
  uint32_t number = known ? find_module(from, trace, &module, &taken) : 0;
  if (!taken)
    free(module.path);
  if (known && (!number || !load_module(from, number)))
    trace->status = HW_ERR_MEMORY;
  return known;
}

static uint32_t module_at(const struct heaptrack *from, uint64_t address)
{
  size_t before = count_before(from, address);
  return before > 0 && address < loaded_place(from, before - 1)->end ? from->loaded[before - 1] : 0;
}

/* --- stacks and blocks --- */

static bool take_node(struct heaptrack *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t address, parent;
  if (!hwi_heaptrack_number(&at, &address) || !hwi_heaptrack_number(&at, &parent) || parent > from->node_count ||
      from->node_count == UINT32_MAX - 1)
    return false;
  const struct hwi_node node = {.parent = (uint32_t)parent, .module = module_at(from, address), .address = address + 1};
  hwi_synthetic_node(trace, ++from->node_count, &node);
  return true;
}

static bool take_allocation(const struct heaptrack *from, struct hwi_synthetic *trace, char *at)
{
  uint64_t size, node, address;
  if (!hwi_heaptrack_number(&at, &size) || !hwi_heaptrack_number(&at, &node) || !hwi_heaptrack_number(&at, &address) ||
      node > from->node_count)
    return false;
  hwi_synthetic_alloc(trace, (uint32_t)node, size, address);
  return true;
}

static bool take_exe(struct heaptrack *from, struct hwi_synthetic *trace, char *at)
{
  char *exe = next_text(&at);
  if (!exe || from->exe) {
    free(exe);
    return false;
  }
  from->exe = exe;
  hwi_synthetic_record(trace, HW_RECORD_EXE, exe, strlen(exe));
  return true;
}

/* --- lines that interpreted recordings have, too --- */

/* The words of a command in the file have no quotes any more. */
static void take_command(struct hwi_synthetic *trace, char *line)
{
  size_t bytes = strlen(line) + 1;
  for (char *at = line; *at != '\0'; at++)
    *at = *at == ' ' ? '\0' : *at;
  hwi_synthetic_record(trace, HW_RECORD_COMMAND, line, bytes);
}

static bool take_rss(uint64_t page_bytes, struct hwi_synthetic *trace, char *at)
{
  uint64_t pages;
  if (!hwi_heaptrack_number(&at, &pages) || page_bytes == 0)
    return false;
  if (pages * page_bytes > trace->header.rss_peak_bytes)
    trace->header.rss_peak_bytes = pages * page_bytes;
  return true;
}

bool hwi_heaptrack_take_common(uint64_t *page_bytes, struct hwi_synthetic *trace, char *line)
{
  uint64_t number;
  char *at = line + 1;
  switch (line[0]) {
  case 'c':
    if (!hwi_heaptrack_number(&at, &number) || number > UINT32_MAX)
      return false;
    hwi_synthetic_time(trace, number * NS_PER_MS);
    return true;
  case 'R':
    return take_rss(*page_bytes, trace, at);
  case 'I':
    return hwi_heaptrack_number(&at, page_bytes);
  case 'X':
    if (*at == ' ')
      take_command(trace, at + 1);
    return true;
  default:
    return strchr("v#ASs", line[0]); /* version, comments, attaching, suppressions: ignored */
  }
}

bool hwi_heaptrack_is_interpreted(const char *first_line, const char *kinds)
{
  size_t before = strcspn(kinds, "simxt+-");
  return strncmp(first_line, "v ", 2) == 0 && (kinds[before] == 's' || kinds[before] == 'i');
}

/* --- the whole --- */

static bool take(void *reader, struct hwi_synthetic *trace, char *line)
{
  struct heaptrack *from = reader;
  uint64_t number;
  char *at = line + 1;
  switch (line[0]) {
  case '+':
    return take_allocation(from, trace, at);
  case '-':
    if (!hwi_heaptrack_number(&at, &number))
      return false;
    hwi_synthetic_free(trace, number);
    return true;
  case 't':
    return take_node(from, trace, at);
  case 'm':
    return take_module(from, trace, at);
  case 'x':
    return take_exe(from, trace, at);
  default:
    return hwi_heaptrack_take_common(&from->page_bytes, trace, line);
  }
}

static bool recognizes(const char *line, const char *kinds)
{
  return strncmp(line, "v ", 2) == 0 && !hwi_heaptrack_is_interpreted(line, kinds);
}

const struct hwi_foreign_format hwi_foreign_heaptrack = {
    .tool = "heaptrack",
    .missing = "threads, times finer than its clock's 10 ms, and which calls were reallocations",
    .recognizes = recognizes,
    .create = create,
    .destroy = destroy,
    .take = take,
};
