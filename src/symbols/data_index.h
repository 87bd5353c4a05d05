/* data_index.h - lists a module's variables and records, by one walk through its debug information
 *
 * variable  one with a fixed address: global, static, or static in a function; of a program also one of each thread.
 * entry     the name of a record, with its definition: other units may only declare it. Also that of a variable that a namespace or a
 *           class declares.
 */
#ifndef HWI_SYMBOLS_DATA_INDEX_H
#define HWI_SYMBOLS_DATA_INDEX_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "trace/numbering.h"
#include "trace/store.h"

/* DIEs that are read in all: of some 300 MB of .debug_info. What comes behind that is not known. */
enum { HWI_DATA_DIES_MOST = 30 * 1000 * 1000 };

struct hwi_data_variable {
  const char *name; /* "shop::all" */
  uint64_t address; /* at run time */
  bool is_local;    /* each thread has one: `address` is added to its thread pointer */
  Dwarf_Die die;
};

struct hwi_data_entry {
  const char *name;
  Dwarf_Die die; /* valid if it is defined */
  uint64_t bytes;
  bool is_defined;
  bool is_ambiguous; /* there are definitions of different sizes */
};

/* All zero: empty. Nothing in it is valid longer than the Dwarf handles are open. */
struct hwi_data_index {
  struct hwi_store store; /* of names */
  struct hwi_data_variable *variables;
  size_t variable_count, variable_capacity;
  struct hwi_numbering names;     /* of entries, by the hash of their name */
  struct hwi_data_entry *entries; /* [1, names.count] */
  size_t entry_capacity;
  struct hwi_numbering dies; /* of what entries are of, by where their DIE is */
  uint32_t *entry_of_die;    /* [1, dies.count] */
  size_t die_capacity;
  uint64_t die_count; /* that were read */
  bool is_cut;        /* HWI_DATA_DIES_MOST were read */
  bool failed;        /* there was no memory */
};

/* The debug information of a module. */
struct hwi_data_source {
  Dwarf *dwarf;
  const char *dir; /* where its file is; NULL: not known */
  uint64_t bias;   /* with which the module was loaded */
  bool is_program; /* not a library: then its thread-local variables have a known place */
};

/* Adds the variables and records of a module. */
void hwi_data_index_add(struct hwi_data_index *index, const struct hwi_data_source *source);

/* Returns the entry of a record or a declared variable, or NULL. */
const struct hwi_data_entry *hwi_data_index_of_die(const struct hwi_data_index *index, const Dwarf_Die *die);

/* Returns the entry of that name, or NULL. Blanks in names do not count. */
const struct hwi_data_entry *hwi_data_index_named(const struct hwi_data_index *index, const char *name);

void hwi_data_index_release(struct hwi_data_index *index);

#endif
