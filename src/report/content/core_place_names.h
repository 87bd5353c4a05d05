/* core_place_names.h - the name of a place of memory: the variable that is there, or the function whose frame it is in */
#ifndef HWI_REPORT_CONTENT_CORE_PLACE_NAMES_H
#define HWI_REPORT_CONTENT_CORE_PLACE_NAMES_H

#include "memory/graph/graph.h"
#include "report/content/core_names.h"

struct hwi_core_place_name {
  struct hwi_symbol_variable variable;    /* global, static or thread-local; its name is NULL: none is known */
  const char *module;                     /* the file with the variable */
  const char *local;                      /* variable of the function that has the place; NULL: none is known */
  uint64_t local_off;                     /* in it */
  const struct hwi_symbol *function;      /* in whose frame the place is, or which set the register; NULL: not known */
  const struct hwi_memory_thread *thread; /* NULL: the place is of no thread */
  struct hwi_core_place place;            /* with what the names tell about it */
};

/* Finds the name of a place. What is not known stays NULL. */
void hwi_core_place_name_find(const struct hwi_core_names *names, const struct hwi_graph *graph,
                              const struct hwi_core_place *place, struct hwi_core_place_name *name);

/* Adds it in words: "table+0x20 in /bin/app", "local variable list of main (app.c:7) in thread 12", "stack of thread 12 at sp+0x8, in
 * main (app.c:7)". A place without a name has its address. */
void hwi_core_place_name_add(struct hwi_line *line, const struct hwi_graph *graph,
                             const struct hwi_core_place_name *name);

#endif
