/* symbols.c - finds the function, file:line and inlined frames of an address, and caches the results */
#include "symbols/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "symbols/debug_info.h"
#include "symbols/lines.h"
#include "symbols/module_file.h"
#include "symbols/name_cache.h"
#include "symbols/paths.h"
#include "trace/format.h"
#include "trace/grow.h"
#include "trace/numbering.h"

/* A module as the caller identified it, and its files, which are opened at the first look-up of a name that is not
 * cached. */
struct module {
  uint64_t hash; /* of path and build-id */
  char *path;    /* "": none */
  uint8_t *build_id;
  uint32_t build_id_bytes;
  const struct hwi_cached_module *cached; /* its cached names; NULL: none */
  uint64_t mark;                          /* of its files, if names are cached */
  bool is_open;
  struct hwi_module_file file;
  char *debug_dir; /* of the file with the debug information */
  struct hwi_dwarf_units units;
};

/* The answer for an address of a module. */
struct answer {
  const struct module *module;
  uint64_t address; /* in the file */
  const struct hwi_symbol *frames;
  uint32_t count; /* 0: there was no memory */
  bool is_cached; /* it is from the cache file */
};

struct hwi_symbols {
  struct hwi_store store;
  struct hwi_debug_dirs dirs;
  struct module **modules;
  size_t module_count, module_capacity;
  struct hwi_numbering numbers; /* of answers, by module and address */
  struct answer *answers;       /* [1, numbers.count] */
  size_t answer_capacity;
  char *cache_path; /* of the cache file; NULL: names are not cached */
  struct hwi_name_cache cache;
  struct hwi_name_cache *kept; /* of which only the names of the mark 0 are used */
  size_t kept_count, kept_capacity;
  clock_t began;
};

int hwi_symbols_create(struct hwi_symbols **symbols, struct hwi_error *error)
{
  *symbols = calloc(1, sizeof **symbols);
  if (!*symbols)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to look up symbols");
  int status = hwi_symbols_add_debug_dir(*symbols, HWI_DEBUG_DIR, error);
  if (status < 0) {
    hwi_symbols_destroy(*symbols);
    *symbols = NULL;
  }
  return status;
}

int hwi_symbols_add_debug_dir(struct hwi_symbols *symbols, const char *dir, struct hwi_error *error)
{
  struct hwi_debug_dirs *dirs = &symbols->dirs;
  char *full = realpath(dir, NULL);
  char *copy = full ? full : strdup(dir); /* a directory that does not exist counts as empty */
  if (!copy || !hwi_grow((void **)&dirs->dirs, &dirs->capacity, dirs->count + 1, sizeof *dirs->dirs)) {
    free(copy);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to look up symbols");
  }
  memmove(dirs->dirs + 1, dirs->dirs, dirs->count * sizeof *dirs->dirs);
  dirs->dirs[0] = copy;
  dirs->count++;
  return 0;
}

int hwi_symbols_add_root(struct hwi_symbols *symbols, const char *root, struct hwi_error *error)
{
  char *debug_dir = hwi_path_concat(root, HWI_DEBUG_DIR, NULL);
  if (!debug_dir)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to look up symbols");
  int status = hwi_symbols_add_debug_dir(symbols, root, error);
  if (status == 0)
    status = hwi_symbols_add_debug_dir(symbols, debug_dir, error);
  free(debug_dir);
  return status;
}

static void destroy_module(struct module *module)
{
  hwi_dwarf_units_release(&module->units);
  if (module->is_open)
    hwi_module_file_close(&module->file);
  free(module->debug_dir);
  free(module->build_id);
  free(module->path);
  free(module);
}

void hwi_symbols_destroy(struct hwi_symbols *symbols)
{
  if (!symbols)
    return;
  for (size_t i = 0; i < symbols->module_count; i++)
    destroy_module(symbols->modules[i]);
  for (size_t i = 0; i < symbols->dirs.count; i++)
    free(symbols->dirs.dirs[i]);
  free(symbols->dirs.dirs);
  free(symbols->modules);
  free(symbols->answers);
  hwi_numbering_release(&symbols->numbers);
  free(symbols->cache_path);
  hwi_name_cache_release(&symbols->cache);
  for (size_t i = 0; i < symbols->kept_count; i++)
    hwi_name_cache_release(&symbols->kept[i]);
  free(symbols->kept);
  hwi_store_release(&symbols->store);
  free(symbols);
}

/* NULL and "" both mean that there is no path. */
static const char *path_of(const struct hwi_symbol_module *module)
{
  return module->path ? module->path : "";
}

static struct hwi_symbol_module named_again(const struct module *module)
{
  return (struct hwi_symbol_module){
      .path = module->path, .build_id = module->build_id, .build_id_bytes = module->build_id_bytes};
}

/* Finds the cached names of a module. Names from files that have changed are not used; if there are no files, those that were kept
 * for this case are (mark 0). */
static void find_cached(struct hwi_symbols *symbols, struct module *module)
{
  const struct hwi_symbol_module named = named_again(module);
  if (symbols->cache.module_count == 0 && symbols->kept_count == 0)
    return;
  module->mark = hwi_module_file_mark(&named, &symbols->dirs);
  module->cached = hwi_name_cache_module(&symbols->cache, (struct hwi_names_key){module->hash, module->mark});
}

static void open_files(struct hwi_symbols *symbols, struct module *module)
{
  const struct hwi_symbol_module named = named_again(module);
  hwi_module_file_open(&module->file, &named, &symbols->dirs);
  const struct hwi_elf_file *with_dwarf = hwi_module_file_with_dwarf(&module->file);
  module->debug_dir = with_dwarf && with_dwarf->path ? hwi_path_parent(with_dwarf->path) : NULL;
  module->units = (struct hwi_dwarf_units){.dwarf = module->file.dwarf, .dir = module->debug_dir};
  if (module->mark != module->file.mark) /* the mark was not computed before, or the files have just changed */
    module->cached = NULL;
  module->mark = module->file.mark;
  module->is_open = true;
}

static struct module *create_module(struct hwi_symbols *symbols, const struct hwi_symbol_module *named, uint64_t hash)
{
  struct module *module = calloc(1, sizeof *module);
  if (!module)
    return NULL;
  module->hash = hash;
  module->path = strdup(path_of(named));
  module->build_id = malloc(named->build_id_bytes + 1);
  if (!module->path || !module->build_id) {
    destroy_module(module);
    return NULL;
  }
  if (named->build_id_bytes)
    memcpy(module->build_id, named->build_id, named->build_id_bytes);
  module->build_id_bytes = named->build_id_bytes;
  find_cached(symbols, module);
  return module;
}

static bool is_same(const struct module *module, const struct hwi_symbol_module *named, uint64_t hash)
{
  return module->hash == hash && module->build_id_bytes == named->build_id_bytes &&
         (named->build_id_bytes == 0 || memcmp(module->build_id, named->build_id, named->build_id_bytes) == 0) &&
         strcmp(module->path, path_of(named)) == 0;
}

/* Returns the module, which is added if it is new, or NULL if there is no memory. The search is linear, since a program
 * has at most hundreds of modules. */
static struct module *find_module(struct hwi_symbols *symbols, const struct hwi_symbol_module *named)
{
  uint64_t hash = hwi_hash_bytes(path_of(named), strlen(path_of(named)), 0);
  if (named->build_id_bytes)
    hash = hwi_hash_bytes(named->build_id, named->build_id_bytes, hash);
  for (size_t i = 0; i < symbols->module_count; i++) {
    if (is_same(symbols->modules[i], named, hash))
      return symbols->modules[i];
  }
  if (!hwi_grow((void **)&symbols->modules, &symbols->module_capacity, symbols->module_count + 1,
                sizeof(struct module *)))
    return NULL;
  struct module *module = create_module(symbols, named, hash);
  if (module)
    symbols->modules[symbols->module_count++] = module;
  return module;
}

/* Returns the answer for an address, which may be new and empty, or NULL if there is no memory. */
static struct answer *answer_for(struct hwi_symbols *symbols, const struct module *module, uint64_t address)
{
  const uint32_t number = hwi_numbering_of(&symbols->numbers, address, (uintptr_t)module);
  if (!number ||
      !hwi_grow((void **)&symbols->answers, &symbols->answer_capacity, (size_t)number + 1, sizeof *symbols->answers))
    return NULL;
  struct answer *answer = &symbols->answers[number];
  answer->module = module;
  answer->address = address;
  return answer;
}

/* Debug information has internal names of the C library, such as __GI___libc_malloc for malloc: the public name is used
 * instead. */
static void use_public_name(struct hwi_symbols *symbols, struct module *module, uint64_t address,
                            struct hwi_symbol *frame)
{
  if (frame->function[0] != '_')
    return;
  struct hwi_elf_name *name = hwi_elf_names_find(&module->file.names, address);
  const char *shown = name ? hwi_elf_name_shown(name, &symbols->store) : NULL;
  if (shown && shown[0] != '_')
    frame->function = shown;
}

/* Uses the symbol tables for code or units without debug information. A function that they do not have either is
 * identified by its start address. */
static void name_from_tables(struct hwi_symbols *symbols, struct module *module, uint64_t address,
                             struct hwi_symbol *frame)
{
  struct hwi_elf_name *name = hwi_elf_names_find(&module->file.names, address);
  frame->function = name ? hwi_elf_name_shown(name, &symbols->store) : NULL;
  if (!frame->function)
    frame->start = hwi_module_file_function_start(&module->file, address);
}

/* See HW_DATA_MODULE. */
static bool name_data(struct hwi_symbols *symbols, const struct module *module, struct hwi_frame_list *frames)
{
  const size_t prefix = sizeof HW_DATA_MODULE - 1;
  if (strncmp(module->path, HW_DATA_MODULE, prefix) != 0)
    return false;
  if (hwi_grow((void **)&frames->list, &frames->capacity, 1, sizeof *frames->list))
    frames->list[frames->count++] = (struct hwi_symbol){
        .function = hwi_store_string(&symbols->store, module->path + prefix), .reason = HWI_SYMBOL_DATA};
  return true;
}

static void look_up(struct hwi_symbols *symbols, struct module *module, uint64_t address, struct hwi_frame_list *frames)
{
  if (name_data(symbols, module, frames))
    return;
  if (!module->is_open)
    open_files(symbols, module);
  if (module->file.dwarf)
    hwi_lines_find(frames, &module->units, address, &symbols->store);
  struct hwi_symbol *last = frames->count > 0 ? &frames->list[frames->count - 1] : NULL;
  if (last && last->function) {
    use_public_name(symbols, module, address, last);
    return;
  }
  if (last) {
    name_from_tables(symbols, module, address, last);
    last->reason = !last->function ? HWI_SYMBOL_STRIPPED : last->file ? HWI_SYMBOL_OK : HWI_SYMBOL_NO_LINES;
    return;
  }
  if (!hwi_grow((void **)&frames->list, &frames->capacity, 1, sizeof *frames->list))
    return;
  struct hwi_symbol *only = &frames->list[frames->count++];
  *only = (struct hwi_symbol){0};
  name_from_tables(symbols, module, address, only);
  only->reason = only->function ? HWI_SYMBOL_NO_LINES : module->file.reason;
}

/* Copies the frames to the store. Returns false if there is no memory. */
static bool store(struct hwi_symbols *symbols, struct answer *answer, const struct hwi_frame_list *frames)
{
  struct hwi_symbol *copy = hwi_store_take(&symbols->store, frames->count * sizeof *copy);
  if (frames->count == 0 || !copy)
    return false;
  memcpy(copy, frames->list, frames->count * sizeof *copy);
  answer->frames = copy;
  answer->count = (uint32_t)frames->count;
  return true;
}

static bool find_in_caches(const struct hwi_symbols *symbols, const struct module *module, uint64_t address,
                           struct hwi_frame_list *frames)
{
  bool found = module->cached && hwi_name_cache_find(&symbols->cache, module->cached, address, frames);
  for (size_t i = 0; i < symbols->kept_count && !found && !module->mark; i++) {
    const struct hwi_name_cache *names = &symbols->kept[i];
    const struct hwi_cached_module *kept = hwi_name_cache_module(names, (struct hwi_names_key){module->hash, 0});
    found = kept && hwi_name_cache_find(names, kept, address, frames);
  }
  return found;
}

uint32_t hwi_symbols_find(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                          bool is_return_address, const struct hwi_symbol **frames)
{
  static const struct hwi_symbol no_module = {.reason = HWI_SYMBOL_NO_MODULE};
  static const struct hwi_symbol no_memory = {.reason = HWI_SYMBOL_NO_MEMORY};
  *frames = module ? &no_memory : &no_module;
  struct module *found = module ? find_module(symbols, module) : NULL;
  struct answer *answer = found ? answer_for(symbols, found, address - module->bias - is_return_address) : NULL;
  if (!answer)
    return 1;
  if (answer->count == 0) {
    struct hwi_frame_list list = {0};
    answer->is_cached = find_in_caches(symbols, found, answer->address, &list);
    if (!answer->is_cached)
      look_up(symbols, found, answer->address, &list);
    bool stored = store(symbols, answer, &list);
    free(list.list);
    if (!stored)
      return 1;
  }
  *frames = answer->frames;
  return answer->count;
}

/* --- modules and variables --- */

static struct module *find_open_module(struct hwi_symbols *symbols, const struct hwi_symbol_module *named)
{
  struct module *module = find_module(symbols, named);
  if (module && !module->is_open)
    open_files(symbols, module);
  return module;
}

Dwarf *hwi_symbols_debug_info(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, const char **dir)
{
  const struct module *found = find_open_module(symbols, module);
  *dir = found ? found->debug_dir : NULL;
  return found ? found->file.dwarf : NULL;
}

bool hwi_symbols_function_die(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                              Dwarf_Die *function)
{
  struct module *found = find_open_module(symbols, module);
  struct hwi_dwarf_unit *unit = found && found->file.dwarf ? hwi_dwarf_units_find(&found->units, address) : NULL;
  const Dwarf_Die *die = unit ? hwi_dwarf_units_function(&found->units, unit, address) : NULL;
  if (die)
    *function = *die;
  return die;
}

static bool find_variable(struct hwi_symbols *symbols, struct module *module, enum hwi_elf_kind kind, uint64_t address,
                          struct hwi_symbol_variable *variable)
{
  struct hwi_elf_name *found = module ? hwi_module_file_variable(&module->file, kind, address) : NULL;
  if (!found)
    return false;
  *variable = (struct hwi_symbol_variable){hwi_elf_name_shown(found, &symbols->store), address - found->start};
  return variable->name;
}

bool hwi_symbols_variable(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                          struct hwi_symbol_variable *variable)
{
  return find_variable(symbols, find_open_module(symbols, module), HWI_ELF_VARIABLES, address - module->bias, variable);
}

bool hwi_symbols_local_variable(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t off,
                                struct hwi_symbol_variable *variable)
{
  return find_variable(symbols, find_open_module(symbols, module), HWI_ELF_LOCALS, off, variable);
}

/* --- the cache of names --- */

int hwi_symbols_use_cache(struct hwi_symbols *symbols, const char *path, struct hwi_error *error)
{
  symbols->cache_path = hwi_name_cache_path(path);
  symbols->began = clock();
  if (!symbols->cache_path)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to look up symbols");
  hwi_name_cache_load(&symbols->cache, symbols->cache_path, &symbols->store);
  return 0;
}

static bool add_answer(struct hwi_names_answers *answers, const struct answer *answer, uint64_t mark)
{
  if (!hwi_grow((void **)&answers->list, &answers->capacity, answers->count + 1, sizeof *answers->list))
    return false;
  answers->list[answers->count++] =
      (struct hwi_names_answer){{answer->module->hash, mark}, answer->address, answer->frames, answer->count};
  return true;
}

int hwi_symbols_use_kept(struct hwi_symbols *symbols, const char *path, struct hwi_error *error)
{
  char *names = hwi_name_cache_path(path);
  bool done = names && hwi_grow((void **)&symbols->kept, &symbols->kept_capacity, symbols->kept_count + 1,
                                sizeof *symbols->kept);
  if (done)
    hwi_name_cache_load(&symbols->kept[symbols->kept_count++], names, &symbols->store);
  free(names);
  return done ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory to look up symbols");
}

/* Names from .dwo files are not cached: they depend on files that the mark does not include. */
static bool can_cache(const struct module *module)
{
  return module->is_open && module->mark && !module->units.has_split;
}

static bool add_new(const struct hwi_symbols *symbols, struct hwi_names_answers *answers)
{
  for (size_t i = 1; i < symbols->answer_capacity; i++) {
    const struct answer *answer = &symbols->answers[i];
    if (answer->count == 0 || answer->is_cached || !can_cache(answer->module))
      continue;
    if (!add_answer(answers, answer, answer->module->mark))
      return false;
  }
  return true;
}

static bool add_all(const struct hwi_symbols *symbols, struct hwi_names_answers *answers)
{
  for (size_t i = 1; i < symbols->answer_capacity; i++)
    if (symbols->answers[i].count != 0 && !add_answer(answers, &symbols->answers[i], 0))
      return false;
  return true;
}

static const struct module *looked_up(const struct hwi_symbols *symbols, uint64_t name)
{
  for (size_t i = 0; i < symbols->module_count; i++)
    if (symbols->modules[i]->hash == name)
      return symbols->modules[i];
  return NULL;
}

/* Adds what is in the cache, without names that are outdated, since the module was looked up and its files have changed, and without
 * those of the mark 0 that are now kept anew. */
static bool add_cached(struct hwi_symbols *symbols, struct hwi_names_answers *answers, bool keeps)
{
  struct hwi_names_key key;
  const struct hwi_cached_module *cached;
  for (size_t i = 0; (cached = hwi_name_cache_at(&symbols->cache, i, &key)); i++) {
    const struct module *module = looked_up(symbols, key.name);
    bool stays = !module || (key.mark ? module->cached == cached : !keeps);
    if (stays && !hwi_name_cache_add_to(&symbols->cache, cached, answers))
      return false;
  }
  return true;
}

void hwi_symbols_save_names(struct hwi_symbols *symbols, bool worth)
{
  enum { MS_A_SECOND = 1000, LEAST_MS = 300 };
  struct hwi_names_answers answers = {0};
  worth = worth || (clock() - symbols->began) / (CLOCKS_PER_SEC / MS_A_SECOND) > LEAST_MS;
  if (symbols->cache_path && worth && add_new(symbols, &answers) && answers.count &&
      add_cached(symbols, &answers, false))
    hwi_name_cache_write(symbols->cache_path, &answers);
  free(answers.list);
}

bool hwi_symbols_keep_names(struct hwi_symbols *symbols)
{
  struct hwi_names_answers answers = {0};
  errno = ENOMEM;
  bool kept = add_all(symbols, &answers) && add_cached(symbols, &answers, true) &&
              hwi_name_cache_write(symbols->cache_path, &answers);
  free(answers.list);
  return kept;
}

const char *hwi_symbol_reason_text(enum hwi_symbol_reason reason)
{
  switch (reason) {
  case HWI_SYMBOL_OK:
    return "known";
  case HWI_SYMBOL_NO_LINES:
    return "no debug information";
  case HWI_SYMBOL_STRIPPED:
    return "stripped";
  case HWI_SYMBOL_CHANGED:
    return "file changed since";
  case HWI_SYMBOL_NO_FILE:
    return "no file";
  case HWI_SYMBOL_NO_BUILD_ID:
    return "no build-id";
  case HWI_SYMBOL_NOT_ELF:
    return "no ELF file";
  case HWI_SYMBOL_NO_MODULE:
    return "generated code";
  case HWI_SYMBOL_NO_MEMORY:
    return "no memory left";
  case HWI_SYMBOL_DATA:
    return "data";
  }
  return "unknown";
}
