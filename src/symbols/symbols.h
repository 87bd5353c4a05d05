/* symbols.h - finds the function, file:line and inlined frames of an address
 *
 * Symbols are looked up in the module's own file, in the separate debug file named by its build-id or its debuglink
 * (below /usr/lib/debug and in the module's directory), and in .gnu_debugdata. Nothing is fetched over a network. A
 * file whose build-id differs from the recorded one is never used: its names would be wrong. Only addresses that are
 * looked up take time. Not thread-safe.
 */
#ifndef HWI_SYMBOLS_SYMBOLS_H
#define HWI_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Why a frame has no name, or a name but no line. */
enum hwi_symbol_reason {
  HWI_SYMBOL_OK = 0,      /* function, file and line are known */
  HWI_SYMBOL_NO_LINES,    /* the function is known from a symbol table; there is no debug information */
  HWI_SYMBOL_STRIPPED,    /* the file has no symbol for the address */
  HWI_SYMBOL_CHANGED,     /* the file is not the recorded one: build-ids differ */
  HWI_SYMBOL_NO_FILE,     /* the file cannot be opened */
  HWI_SYMBOL_NO_BUILD_ID, /* the same; a debug directory has a file of its name, which cannot be verified */
  HWI_SYMBOL_NOT_ELF,     /* the file is not a (usable) ELF file */
  HWI_SYMBOL_NO_MODULE,   /* no module covered the address: generated code (JIT) or garbage */
  HWI_SYMBOL_NO_MEMORY,   /* there was no memory for the look-up */
  HWI_SYMBOL_DATA,        /* it is no code: a type, a member or a variable */
};

struct hwi_symbol {
  const char *function; /* demangled; NULL: unknown. Owned by the symbolizer, valid until it is destroyed, and interned:
                           equal strings have equal pointers */
  const char *file; /* source file as given to the compiler, made absolute with the compilation directory; or NULL */
  uint64_t start;   /* of a function without a name: its first address in the file, from the unwind tables, which a
                       stripped file still has; 0: unknown */
  uint32_t line;    /* 0: unknown */
  bool inlined;     /* the frame was inlined into the one that follows it */
  enum hwi_symbol_reason reason;
};

/* Identifies a module to the symbolizer. */
struct hwi_symbol_module {
  const char *path;
  const uint8_t *build_id;
  uint32_t build_id_bytes; /* 0: unknown; then the file is used as it is */
  uint64_t bias;           /* run-time address - bias = address in the file */
};

struct hwi_symbols;

/* Creates a symbolizer that looks up debug files below /usr/lib/debug. Returns 0, or HW_ERR_MEMORY; then *symbols is
 * NULL. A symbolizer may be used by one thread at a time: it opens files and caches results when it is called. */
int hwi_symbols_create(struct hwi_symbols **symbols, struct hwi_error *error);
void hwi_symbols_destroy(struct hwi_symbols *symbols); /* NULL is fine */

/* Adds a directory for debug files with the layout of /usr/lib/debug. It is searched before the directories that were
 * added earlier and the default. To be called before the first look-up. Returns 0 or HW_ERR_MEMORY. */
int hwi_symbols_add_debug_dir(struct hwi_symbols *symbols, const char *dir, struct hwi_error *error);

/* As hwi_symbols_add_debug_dir, for a folder that may also be the root of another system: its files are below it at the
 * paths that they have there, and debug files in its /usr/lib/debug. */
int hwi_symbols_add_root(struct hwi_symbols *symbols, const char *root, struct hwi_error *error);

/* Caches names in a file next to the recording at `path`, and uses the names that are cached there (see name_cache.h)
 * if their symbol files have not changed. To be called before the first look-up. Returns 0 or HW_ERR_MEMORY. */
int hwi_symbols_use_cache(struct hwi_symbols *symbols, const char *path, struct hwi_error *error);

/* Uses the names that hwi_symbols_keep_names wrote next to the recording at `path`, for modules whose files are not here. For those who
 * read several recordings, and cache no names. To be called before the first look-up. Returns 0 or HW_ERR_MEMORY. */
int hwi_symbols_use_kept(struct hwi_symbols *symbols, const char *path, struct hwi_error *error);

/* Writes the names that were looked up to the cache, if some of them are not in it yet and either `worth` is set or the
 * process used more than 0.3 seconds of CPU time since hwi_symbols_use_cache. On failure, the cache is unchanged. */
void hwi_symbols_save_names(struct hwi_symbols *symbols, bool worth);

/* Writes all names that were looked up to the cache, for later reports where the module's files are not: on another machine, or
 * when they were replaced. Returns false, with errno set, if that failed. */
bool hwi_symbols_keep_names(struct hwi_symbols *symbols);

/* Looks up the frames at run-time address `address` of `module` (NULL: no module), innermost first: inlined ones, then
 * the function itself. `is_return_address`: look one byte before it. The array is owned by the symbolizer and valid
 * until it is destroyed. Returns the number of frames, which is at least 1; without memory, that is a frame without a
 * name. */
uint32_t hwi_symbols_find(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                          bool is_return_address, const struct hwi_symbol **frames);

struct hwi_symbol_variable {
  const char *name; /* demangled; owned by the symbolizer */
  uint64_t off;     /* of the address, in the variable */
};

/* Finds the global or static variable at a run-time address, in the module's symbol tables. Returns false if there is none. */
bool hwi_symbols_variable(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                          struct hwi_symbol_variable *variable);

/* The same for a thread-local variable. `off` is where it is in the module's storage of a thread. */
bool hwi_symbols_local_variable(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t off,
                                struct hwi_symbol_variable *variable);

/* Returns a short text for a reason ("stripped", ...). Never NULL. */
const char *hwi_symbol_reason_text(enum hwi_symbol_reason reason);

#endif
