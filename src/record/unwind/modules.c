/* modules.c - the loaded modules that stacks have touched, each with its ID in the trace
 *
 * Every look-up calls the loader (rows are cached, so this is rare); the list only assigns an ID to its answer. After
 * an unload, an entry at the same addresses is the same module only if its build-id and path are also the same: entries
 * store the unload epoch in which that was last checked. If two threads find a new module at the same time, it may get
 * two IDs; the reader identifies modules by path and build-id.
 */
#include "record/unwind/modules.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "record/session.h"

enum {
  MODULE_LIMIT = 1 << 13,
  BUILD_ID_BYTES = 20, /* bytes that are compared */
  MAX_BUILD_ID_BYTES = 64,
  LONGEST_PATH = HWI_OS_PAGE_BYTES,
  HEAD_BYTES = 4 * HWI_VARINT_MAX_BYTES + 1 + MAX_BUILD_ID_BYTES,
};

struct known {
  uintptr_t start, end;
  uint64_t path_hash;
  uint8_t build_id[BUILD_ID_BYTES];
  _Atomic uint32_t epoch; /* unload epoch of its last check; 0: the entry is not ready */
};

static struct {
  struct known *known; /* [1, next) */
  _Atomic uint32_t next;
} list;

/* Read once: later a program may forbid the system call, or change its directory. */
struct place {
  uint32_t bytes;
  char path[LONGEST_PATH];
};
static struct place executable, folder; /* the current directory when the loader resolved relative paths */

static void find_place(struct place *place, long (*path)(char *to, size_t bytes))
{
  long n = path(place->path, LONGEST_PATH);
  place->bytes = n > 0 ? (uint32_t)n : 0;
}

bool hwi_modules_init(void)
{
  find_place(&executable, hwi_os_executable_path);
  find_place(&folder, hwi_os_folder_path);
  list.known = hwi_os_map(MODULE_LIMIT * sizeof(struct known));
  list.next = 1;
  return list.known;
}

uint32_t hwi_modules_count(void)
{
  uint32_t next = atomic_load_explicit(&list.next, memory_order_relaxed);
  return next < MODULE_LIMIT ? next : MODULE_LIMIT;
}

/* Returns whether it is still the module of that entry, after something was unloaded. */
static bool is_same(const struct known *known, const struct hwi_os_module *module)
{
  uint8_t build_id[MAX_BUILD_ID_BYTES] = {0};
  hwi_os_build_id(module, build_id, sizeof build_id);
  return known->path_hash == hwi_fnv_text(module->path) && memcmp(known->build_id, build_id, BUILD_ID_BYTES) == 0;
}

static uint32_t find_known(const struct hwi_os_module *module, uint32_t epoch)
{
  for (uint32_t i = hwi_modules_count() - 1; i > 0; i--) {
    struct known *known = &list.known[i];
    uint32_t seen = atomic_load_explicit(&known->epoch, memory_order_acquire);
    if (!seen || known->start != module->start || known->end != module->end)
      continue;
    if (seen == epoch)
      return i;
    if (is_same(known, module)) {
      atomic_store_explicit(&known->epoch, epoch, memory_order_release);
      return i;
    }
  }
  return 0;
}

/* Writes the path as the user knows it: the loader has no name for the executable, and uses the vdso's soname. */
static uint32_t path_of(const struct hwi_os_module *module, char path[LONGEST_PATH])
{
  static const char vdso[] = "linux-vdso.so.1";
  if (strcmp(module->path, vdso) == 0)
    return 0;
  if (!module->path[0]) {
    memcpy(path, executable.path, executable.bytes);
    return executable.bytes;
  }
  size_t n = strlen(module->path), cwd = 0;
  if (module->path[0] != '/' && !hwi_session.has_launcher)
    find_place(&folder, hwi_os_folder_path); /* later a sandbox may forbid this, and dlopen may have a relative path */
  if (module->path[0] != '/' && folder.bytes && folder.bytes < LONGEST_PATH / 2) { /* LD_PRELOAD=./x.so */
    memcpy(path, folder.path, folder.bytes);
    path[folder.bytes] = '/';
    cwd = folder.bytes + 1u;
  }
  n = n < LONGEST_PATH - cwd ? n : LONGEST_PATH - cwd;
  memcpy(path + cwd, module->path, n);
  return (uint32_t)(cwd + n);
}

static bool define(struct hwi_lane *lane, uint32_t number, const struct hwi_os_module *module, const uint8_t *build_id,
                   size_t build_id_bytes)
{
  uint8_t head[HEAD_BYTES], *at = head;
  char *path = hwi_os_map(LONGEST_PATH); /* the stack may be almost used up */
  if (!path)
    return false;
  at = hwi_put_varint(at, number);
  at = hwi_put_varint(at, module->start);
  at = hwi_put_varint(at, module->end - module->start);
  at = hwi_put_varint(at, module->bias);
  *at++ = (uint8_t)build_id_bytes;
  memcpy(at, build_id, build_id_bytes);
  at += build_id_bytes;
  uint32_t path_bytes = path_of(module, path);
  bool is_written = hwi_lane_put_record(lane, HW_RECORD_MODULE, (struct hwi_bytes){head, (uint32_t)(at - head)},
                                        (struct hwi_bytes){path, path_bytes});
  hwi_os_unmap(path, LONGEST_PATH);
  return is_written;
}

static uint32_t add(struct hwi_lane *lane, const struct hwi_os_module *module, uint32_t epoch)
{
  if (hwi_modules_count() == MODULE_LIMIT)
    return 0;
  uint32_t number = atomic_fetch_add_explicit(&list.next, 1, memory_order_relaxed);
  uint8_t build_id[MAX_BUILD_ID_BYTES] = {0};
  size_t bytes = hwi_os_build_id(module, build_id, sizeof build_id);
  if (number >= MODULE_LIMIT || !define(lane, number, module, build_id, bytes))
    return 0;
  struct known *known = &list.known[number];
  known->start = module->start;
  known->end = module->end;
  known->path_hash = hwi_fnv_text(module->path);
  memcpy(known->build_id, build_id, BUILD_ID_BYTES);
  atomic_store_explicit(&known->epoch, epoch, memory_order_release);
  return number;
}

uint32_t hwi_modules_find(struct hwi_lane *lane, uintptr_t address, struct hwi_os_module *module)
{
  *module = (struct hwi_os_module){0};
  if (!hwi_os_find_module(address, module)) {
    *module = (struct hwi_os_module){0};
    return 0;
  }
  uint32_t epoch = atomic_load_explicit(&hwi_session.unload_epoch, memory_order_relaxed);
  uint32_t number = find_known(module, epoch);
  return number ? number : add(lane, module, epoch);
}
