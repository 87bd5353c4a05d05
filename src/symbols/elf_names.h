/* elf_names.h - the symbols of a module, by address: functions and the tables of C++ classes, or variables */
#ifndef HWI_SYMBOLS_ELF_NAMES_H
#define HWI_SYMBOLS_ELF_NAMES_H

#include "symbols/elf_file.h"
#include "trace/store.h"

struct hwi_elf_name {
  uint64_t start;
  uint64_t end;      /* of a symbol without a size: the end of its section */
  uint64_t reach;    /* the largest end of all sized symbols up to this one */
  const char *name;  /* mangled; in the ELF file's own memory */
  const char *shown; /* demangled, in the store; NULL until it is needed */
  uint8_t rank;      /* of several names of an address, the one with the lowest rank is shown */
  bool sized;
};

/* Sorted by `start` once finished. All zero is an empty table. */
struct hwi_elf_names {
  struct hwi_elf_name *names;
  size_t count, capacity;
};

enum hwi_elf_kind {
  HWI_ELF_FUNCTIONS, /* and tables of C++ classes */
  HWI_ELF_VARIABLES,
  HWI_ELF_LOCALS, /* thread-local variables: their addresses begin at 0 in each thread's copy of the module's storage */
};

/* Adds the symbols of that kind in .symtab and .dynsym. The file must stay open as long as the table. Returns false if there is no
 * memory. */
bool hwi_elf_names_add(struct hwi_elf_names *names, const struct hwi_elf_file *file, enum hwi_elf_kind kind);

/* To be called after the last hwi_elf_names_add, before the first look-up. */
void hwi_elf_names_finish(struct hwi_elf_names *names);

/* Returns the symbol that covers `address`, or NULL. */
struct hwi_elf_name *hwi_elf_names_find(const struct hwi_elf_names *names, uint64_t address);

/* Returns the demangled name, which is in `store`, or NULL if there is no memory. */
const char *hwi_elf_name_shown(struct hwi_elf_name *name, struct hwi_store *store);

void hwi_elf_names_release(struct hwi_elf_names *names);

#endif
