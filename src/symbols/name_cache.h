/* name_cache.h - a cache of the names that earlier reports looked up, in a file next to the recording
 *
 * mark     a number of a module that changes when the files with its symbols change, or when other files are found for
 *          it. Cached names are used only if the mark is the same as when they were looked up. 0: there are no files; names with
 *          that mark are kept for where the files are not (hwi_symbols_keep_names).
 * answer   the frames at an address of a module, as hwi_symbols_find returns them.
 */
#ifndef HWI_SYMBOLS_NAME_CACHE_H
#define HWI_SYMBOLS_NAME_CACHE_H

#include <stddef.h>

#include "symbols/lines.h"
#include "trace/store.h"

/* Sizes of the file's parts, and offsets of the counts in the header. */
enum {
  HWI_NAMES_HEADER_BYTES = 56,
  HWI_NAMES_MODULE_BYTES = 24,
  HWI_NAMES_ANSWER_BYTES = 16,
  HWI_NAMES_FRAME_BYTES = 24,
  HWI_NAMES_MODULE_COUNT_OFF = 12,
  HWI_NAMES_ANSWER_COUNT_OFF = 40,
  HWI_NAMES_FRAME_COUNT_OFF = 44,
  HWI_NAMES_TEXT_BYTES_OFF = 48,
};

/* Identifies a module: `name` is a hash of its path and build-id. */
struct hwi_names_key {
  uint64_t name, mark;
};

/* A text of the file. */
struct hwi_cached_text {
  uint32_t off;
  const char *stored; /* its copy in the store; NULL: it was not needed yet */
};

/* The answers of a file. All zero: none. */
struct hwi_name_cache {
  struct hwi_store *store; /* for the texts of answers */
  void *plain;             /* the contents of the file without the header, unpacked */
  const struct hwi_cached_module *modules;
  const struct hwi_cached_answer *answers;
  const struct hwi_cached_frame *frames;
  const char *text;
  struct hwi_cached_text *texts; /* ascending */
  size_t module_count, text_count;
};

/* Reads the file at `path`; the texts of answers are copied to `store` when they are needed. If the file is missing or
 * invalid, there are no answers. */
void hwi_name_cache_load(struct hwi_name_cache *names, const char *path, struct hwi_store *store);
void hwi_name_cache_release(struct hwi_name_cache *names);

/* Returns the module with that key, or NULL. */
const struct hwi_cached_module *hwi_name_cache_module(const struct hwi_name_cache *names, struct hwi_names_key key);

/* Fills the empty list `frames` with the frames at `address`; their texts are in the store. Returns false if they are
 * not cached, or there is no memory; then `frames` stays empty. */
bool hwi_name_cache_find(const struct hwi_name_cache *names, const struct hwi_cached_module *module, uint64_t address,
                         struct hwi_frame_list *frames);

/* An answer to be written; its texts are in a store, each once. */
struct hwi_names_answer {
  struct hwi_names_key key;
  uint64_t address;
  const struct hwi_symbol *frames;
  uint32_t count;
};

struct hwi_names_answers {
  struct hwi_names_answer *list;
  size_t count, capacity;
};

/* Adds all valid answers of `module`. Returns false if there is no memory. */
bool hwi_name_cache_add_to(const struct hwi_name_cache *names, const struct hwi_cached_module *module,
                           struct hwi_names_answers *answers);

/* Returns the module with index `at` and its key, or NULL if there are no more. */
const struct hwi_cached_module *hwi_name_cache_at(const struct hwi_name_cache *names, size_t at,
                                                  struct hwi_names_key *key);

/* Sorts the answers and writes all of them to the file at `path` (see trace/cache_file.h); none: does nothing. Returns false, with
 * errno set, if that failed; the file is unchanged then. */
bool hwi_name_cache_write(const char *path, struct hwi_names_answers *answers);

/* Returns the file NAME.names of the recording at `path` (NAME, NAME.children or a file in it). The caller frees it.
 * Returns NULL if there is no memory. */
char *hwi_name_cache_path(const char *path);

/* Removes the file at NAME.names, if it is such a file. */
void hwi_name_cache_remove(const char *path);

#endif
