/* definitions.h - the definitions in a trace: nodes, modules and threads by number, and the texts about the program
 *
 * An image begun by a fork shares its parent's nodes and modules below a limit; those are looked up in the parent's
 * definitions, which are reference-counted. Memory is bounded by a limit that follows from the size of the trace file.
 */
#ifndef HWI_TRACE_READ_DEFINITIONS_H
#define HWI_TRACE_READ_DEFINITIONS_H

#include <stddef.h>

#include "trace/decode.h"
#include "trace/hash_table.h"
#include "trace/read/call_counts.h"
#include "trace/read/instance_texts.h"

struct hwi_tool_area;

/* One text or list of texts: bytes that end in NUL and may contain NULs. */
struct hwi_definition_text {
  char *bytes;
  size_t count; /* without the last NUL */
};

struct hwi_definitions {
  uint32_t references;
  struct hwi_definitions *parent; /* NULL: none, or not found */
  uint32_t first_node;            /* lower numbers are the parent's */
  uint32_t first_module;
  uint64_t limit;         /* on the count of numbers above first_*: a file of this size cannot define more */
  struct hwi_node *nodes; /* a list of table.h */
  size_t node_count, node_capacity;
  struct hwi_module *modules;
  size_t module_count, module_capacity;
  struct hwi_hash_table thread_indices; /* plus 1 */
  struct hwi_thread *threads;
  size_t thread_count, thread_capacity;
  uint32_t thread_end;                /* one more than the largest number */
  const struct hwi_tool_area *tool;   /* what tools recorded about the program from outside; NULL: nothing */
  struct hwi_hash_table name_indices; /* plus 1 */
  char **names;                       /* of scopes */
  size_t name_count, name_capacity;
  size_t name_bytes; /* of all names */
  struct hwi_instance_texts texts;
  struct hwi_call_count_list call_counts;
  struct hwi_note *notes;
  size_t note_count, note_capacity;
  struct hwi_definition_text command, exe, cwd, environment;
  uint64_t rss_peak_bytes;
  bool exited;    /* an EXIT record was seen */
  bool no_memory; /* something could not be stored */
};

/* Returns definitions without contents, or NULL if there is no memory. `first_node` and `first_module` are the smallest
 * numbers that they define; `limit` is the most nodes that they may hold. */
struct hwi_definitions *hwi_definitions_create(uint32_t first_node, uint32_t first_module, uint64_t limit);
/* Adds one reference and returns `definitions`. */
struct hwi_definitions *hwi_definitions_share(struct hwi_definitions *definitions);
void hwi_definitions_destroy(struct hwi_definitions *definitions); /* drops one reference; NULL is fine */

/* The trace has grown: the limit becomes larger by `nodes`. */
void hwi_definitions_expect(struct hwi_definitions *definitions, uint64_t nodes);

/* To be called by a holder that needs no nodes any more. Their memory is released when no holder needs them. */
void hwi_definitions_forget(struct hwi_definitions *definitions);

/* Returns a sink through which a decoder adds definitions. The first definition of a number stays: a later one is
 * damage or a second reading. Unknown records are skipped. */
struct hwi_definition_sink hwi_definitions_sink(struct hwi_definitions *definitions);

/* Return the definition of a number. It has known = false if it is undefined. */
struct hwi_node hwi_definitions_node(const struct hwi_definitions *definitions, uint32_t number);
const struct hwi_module *hwi_definitions_module(const struct hwi_definitions *definitions, uint32_t number);
/* Returns NULL if the number is not defined. */
const char *hwi_definitions_name(const struct hwi_definitions *definitions, uint32_t number);
const struct hwi_thread *hwi_definitions_thread(const struct hwi_definitions *definitions, uint32_t number);

#endif
