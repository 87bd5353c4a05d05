/* core_blocks.h - answers about single blocks of a core dump, as text and as JSON */
#ifndef HWI_REPORT_CONTENT_CORE_BLOCKS_H
#define HWI_REPORT_CONTENT_CORE_BLOCKS_H

#include <stdio.h>

#include "memory/graph/graph.h"
#include "report/content/core_names.h"
#include "report/words/style.h"

/* For what stores all references of a heap. */
#define HWI_RETAINED_MEMORY_MOST ((uint64_t)4 << 30)

/* Returns "live", "leaked directly", "free, ...": after hwi_leaks_find. */
const char *hwi_core_block_words(const struct hwi_graph *graph, uint32_t block);

/* What is asked about. The graph has the marks of hwi_leaks_find. */
struct hwi_core_question {
  const struct hwi_graph *graph;
  struct hwi_core_names names;
  bool is_about_crash; /* the address is that of the crash: core_crash.h */
  uint64_t most;       /* references, or blocks, that are listed */
};

/* Add the names of a block, and its size, state and names: "48 B, live, Item, by make (items.c:12) < main". */
void hwi_core_block_add_names(struct hwi_line *line, const struct hwi_core_question *question, uint32_t block);
void hwi_core_block_add(struct hwi_line *line, const struct hwi_core_question *question, uint32_t block);

/* Adds the name of a place. */
void hwi_core_question_add_place(struct hwi_line *line, const struct hwi_core_question *question,
                                 const struct hwi_core_place *place);

/* The block that contains an address: its state, type and stack, what is next to it, who refers to it, and the chain from a
 * root. All return 0 or a negative status. */
int hwi_core_who_text(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
                      struct hwi_error *error);
int hwi_core_who_json(const struct hwi_core_question *question, uint64_t address, FILE *out, struct hwi_error *error);

/* The chain alone. */
int hwi_core_path_text(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
                       struct hwi_error *error);
int hwi_core_path_json(const struct hwi_core_question *question, uint64_t address, FILE *out, struct hwi_error *error);

/* What is around an address, for a crash: core_around.h. */
int hwi_core_around_text(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
                         struct hwi_error *error);
int hwi_core_around_json(const struct hwi_core_question *question, uint64_t address, FILE *out,
                         struct hwi_error *error);

/* The blocks without which most memory would go. */
int hwi_core_retained_text(const struct hwi_core_question *question, uint64_t unused, const struct hwi_style *style,
                           struct hwi_error *error);
int hwi_core_retained_json(const struct hwi_core_question *question, uint64_t unused, FILE *out,
                           struct hwi_error *error);

#endif
