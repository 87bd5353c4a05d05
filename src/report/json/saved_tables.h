/* saved_tables.h - the frames and stacks of a saved report while it is read (private to saved*.c) */
#ifndef HWI_REPORT_JSON_SAVED_TABLES_H
#define HWI_REPORT_JSON_SAVED_TABLES_H

#include <jansson.h>

#include "profile/blocks/frames.h"
#include "report/json/saved.h"
#include "report/selection/figures.h"
#include "trace/numbering.h"
#include "trace/store.h"

/* The functions at one address of a module. */
struct hwi_saved_place {
  const struct hwi_symbol *symbols;
  uint32_t count;
};

struct hwi_saved_tables {
  struct hwi_store store; /* owns all strings, images and threads */
  struct hwi_frames frames;
  struct hwi_numbering numbers; /* of places, by address and the string of the profile's module; NULL: none */
  struct hwi_saved_place *places;
  size_t place_count, place_room; /* [1, place_count) */
  struct hwi_stack *stacks;
  size_t stack_count, stack_room; /* [1, stack_count) */
  uint32_t last_module;           /* the module that was looked up last */
};

/* Returns an unsigned member of an object; 0 if there is none. */
uint64_t hwi_saved_number(const json_t *object, const char *key);
/* Copies the members that `fields` names into the struct `to`. */
void hwi_saved_fields(void *to, const struct hwi_figure *fields, const json_t *from);
int hwi_saved_no_memory(struct hwi_error *error); /* sets the message, returns the status */

/* These return 0 or a negative status. */
int hwi_saved_modules(struct hwi_saved_tables *tables, const json_t *modules, struct hwi_error *error);
int hwi_saved_stacks(struct hwi_saved_tables *tables, const json_t *stacks, struct hwi_error *error);

/* Adds the stack without frames: the run's figures minus those of the other stacks. */
int hwi_saved_rest(struct hwi_saved_tables *tables, const struct hwi_totals *totals, const json_t *report,
                   struct hwi_error *error);

/* For `find` of struct hwi_names; `context` is the tables. */
uint32_t hwi_saved_find(void *context, const struct hwi_symbol_module *module, uint64_t address, bool is_return_address,
                        const struct hwi_symbol **frames);

#endif
