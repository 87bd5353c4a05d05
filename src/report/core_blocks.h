/* core_blocks.h - answers about single blocks of a core dump, as text and as JSON */
#ifndef HWI_REPORT_CORE_BLOCKS_H
#define HWI_REPORT_CORE_BLOCKS_H

#include "memory/graph/graph.h"
#include "report/content/core_names.h"
#include "report/words/style.h"

/* What is asked about. The graph has the marks of hwi_leaks_find. */
struct hwi_core_question {
  const struct hwi_graph *graph;
  struct hwi_core_names names;
  uint64_t most; /* references, or blocks, that are listed */
};

/* The block that contains an address: its state, type and stack, what is next to it, who refers to it, and the chain from a
 * root. All return 0 or a negative status. */
int hwi_core_who_text(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
                      struct hwi_error *error);
int hwi_core_who_json(const struct hwi_core_question *question, uint64_t address, FILE *out, struct hwi_error *error);

/* The blocks without which most memory would go. */
int hwi_core_retained_text(const struct hwi_core_question *question, const struct hwi_style *style,
                           struct hwi_error *error);
int hwi_core_retained_json(const struct hwi_core_question *question, FILE *out, struct hwi_error *error);

#endif
