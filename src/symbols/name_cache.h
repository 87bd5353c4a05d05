/* name_cache.h - the names that earlier reports looked up, in a file beside the recording
 *
 * mark     of a module: a number that changes when the files that tell its names change, or others are found for it. Names are
 *          used where it is what it was when they were looked up, and never else.
 * answer   the frames at an address of a module, as hwi_symbols_find gives them.
 */
#ifndef HWI_SYMBOLS_NAME_CACHE_H
#define HWI_SYMBOLS_NAME_CACHE_H

#include <stddef.h>

#include "symbols/lines.h"
#include "symbols/store.h"

/* Of the file's parts, and where the header has the counts. */
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

/* A module by its path and build-id (`name` is a hash of both), and its mark. */
struct hwi_names_key {
  uint64_t name, mark;
};

/* Where a text begins. */
struct hwi_kept_place {
  uint32_t off;
  const char *stored; /* NULL: it was not asked for yet */
};

/* The answers of a file. All zero: none. */
struct hwi_name_cache {
  struct hwi_store *store; /* of what is given */
  void *plain;             /* all of the file but the header */
  const struct hwi_kept_module *modules;
  const struct hwi_kept_answer *answers;
  const struct hwi_kept_frame *frames;
  const char *text;
  struct hwi_kept_place *places; /* ascending */
  size_t module_count, place_count;
};

/* Reads the file at `path`; what is asked for goes into `store`. Where it is of no use, there are none. */
void hwi_name_cache_load(struct hwi_name_cache *names, const char *path, struct hwi_store *store);
void hwi_name_cache_release(struct hwi_name_cache *names);

/* The module with that key, or NULL. */
const struct hwi_kept_module *hwi_name_cache_module(const struct hwi_name_cache *names, struct hwi_names_key key);

/* Appends the frames at `address`, with texts from the store. False: they are not kept, or there is no memory; then `frames` is
 * empty, as it was. */
bool hwi_name_cache_find(const struct hwi_name_cache *names, const struct hwi_kept_module *module, uint64_t address,
                         struct hwi_frame_list *frames);

/* An answer to be kept; its texts are in a store, each once. */
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

/* Adds all of `module` but what is forged. False: no memory. */
bool hwi_name_cache_add_to(const struct hwi_name_cache *names, const struct hwi_kept_module *module,
                           struct hwi_names_answers *answers);

/* Of the number `at`; NULL: there are no more. */
const struct hwi_kept_module *hwi_name_cache_at(const struct hwi_name_cache *names, size_t at,
                                                struct hwi_names_key *key);

/* Writes the file at `path` (see trace/cache_file.h) with all the answers, and puts them in order. */
void hwi_name_cache_write(const char *path, struct hwi_names_answers *answers);

/* The file that belongs to the recording at `path` (NAME, NAME.children or a file in it): NAME.names, to be freed; NULL: no
 * memory. */
char *hwi_name_cache_path(const char *path);

/* Removes it, where it is one. */
void hwi_name_cache_remove(const char *path);

#endif
