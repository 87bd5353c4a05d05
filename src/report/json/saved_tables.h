/* saved_tables.h - the frames and stacks of a saved report while it is read (private to saved*.c) */
#ifndef HWI_REPORT_JSON_SAVED_TABLES_H
#define HWI_REPORT_JSON_SAVED_TABLES_H

#include <jansson.h>

#include "profile/blocks/frames.h"
#include "report/json/figures.h"
#include "report/json/saved.h"
#include "symbols/store.h"

/* The functions at one address of a module. */
struct hwi_saved_place {
  const char *module; /* as the profile's module has it; NULL: none */
  uint64_t address;
  const struct hwi_symbol *symbols;
  uint32_t count;
};

struct hwi_saved_tables {
  struct hwi_store store; /* owns all strings, images and threads */
  struct hwi_frames frames;
  struct hwi_tagged numbers; /* of places */
  struct hwi_saved_place *places;
  size_t place_count, place_room; /* [1, place_count) */
  struct hwi_stack *stacks;
  size_t stack_count, stack_room; /* [1, stack_count) */
  uint32_t last_module;           /* the one that was looked for last */
};

/* An unsigned member of an object; 0 where there is none. */
uint64_t hwi_saved_number(const json_t *object, const char *key);
/* The members that `fields` names, into the struct whose they are. */
void hwi_saved_fields(void *to, const struct hwi_json_field *fields, const json_t *from);
int hwi_saved_no_memory(struct hwi_error *error); /* the status, worded */

/* All return 0 or a negative status. */
int hwi_saved_modules(struct hwi_saved_tables *tables, const json_t *modules, struct hwi_error *error);
int hwi_saved_stacks(struct hwi_saved_tables *tables, const json_t *stacks, struct hwi_error *error);

/* Adds the stack without frames: what the others leave of `totals`. */
int hwi_saved_rest(struct hwi_saved_tables *tables, const struct hwi_totals *totals, struct hwi_error *error);

/* As struct hwi_names has it; `context` is the tables. */
uint32_t hwi_saved_find(void *context, const struct hwi_symbol_module *module, uint64_t address, bool is_return_address,
                        const struct hwi_symbol **frames);

#endif
