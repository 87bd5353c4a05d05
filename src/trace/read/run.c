/* run.c - the images of a run, the definitions that forked images inherit, and whether the files have changed
 *
 * A forked image uses its parent's nodes and modules below a limit, and the parent may itself be forked. Definitions
 * form a chain of references; two forged traces that name each other as parent must not make a cycle.
 */
#include "trace/read/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/suffix.h"
#include "trace/grow.h"
#include "trace/read/alive.h"
#include "trace/read/trace.h"
#include "trace/read/unseen_programs.h"

static const char FOLDER_SUFFIX[] = ".children";

static bool is_folder(const char *path)
{
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Takes ownership of `path`. */
static int add_image(struct hwi_run *run, char *path, const struct hw_trace_header *header)
{
  if (!path || !hwi_grow((void **)&run->images, &run->capacity, run->count + 1, sizeof *run->images)) {
    free(path);
    return HW_ERR_MEMORY;
  }
  run->images[run->count++] = (struct hwi_run_image){.path = path, .header = *header, .replaced_ns = UINT64_MAX};
  return 0;
}

/* Takes ownership of `path`. Files that are no trace of this run are counted, not reported as an error. */
static int add_child(struct hwi_run *run, char *path)
{
  struct hw_trace_header header;
  if (!path)
    return HW_ERR_MEMORY;
  int fd = hwi_trace_file_open(path, &header, NULL);
  if (fd >= 0)
    close(fd);
  if (fd < 0 || (run->count && memcmp(header.run_id, run->images[0].header.run_id, HW_ID_BYTES))) {
    run->unreadable++;
    free(path);
    return 0;
  }
  return add_image(run, path, &header);
}

/* Adds the traces in the folder that are not known yet. */
static int add_folder(struct hwi_run *run)
{
  DIR *dir = opendir(run->folder);
  if (!dir && errno == ENOMEM)
    return HW_ERR_MEMORY;
  if (!dir)
    return errno == ENOENT || errno == ENOTDIR ? 0 : HW_ERR_IO;
  int status = 0;
  run->unreadable = 0; /* those that were just begun are readable later */
  for (struct dirent *entry = readdir(dir); entry && status == 0; entry = readdir(dir)) {
    const size_t count = run->count;
    if (!hwi_has_suffix(entry->d_name, strlen(entry->d_name), ".hwt") ||
        hwi_store_find_text(&run->known, entry->d_name))
      continue;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", run->folder, entry->d_name) < 0)
      path = NULL;
    status = add_child(run, path);
    if (run->count > count && !hwi_store_intern_text(&run->known, entry->d_name))
      status = HW_ERR_MEMORY;
  }
  closedir(dir);
  return status;
}

static int compare_images(const void *left, const void *right)
{
  const struct hwi_run_image *a = left, *b = right;
  if (a->header.start.monotonic_ns != b->header.start.monotonic_ns)
    return a->header.start.monotonic_ns < b->header.start.monotonic_ns ? -1 : 1;
  return strcmp(a->path, b->path);
}

/* Adds NAME, which must be a trace if `must` is set, and the traces in NAME.children. */
static int add_family(struct hwi_run *run, const char *name, bool must, struct hwi_error *error)
{
  struct hw_trace_header header;
  struct hwi_error ignored;
  int status = hwi_trace_file_open(name, &header, must ? error : &ignored);
  if (status < 0 && must)
    return status;
  if (status >= 0) {
    close(status);
    status = add_image(run, strdup(name), &header);
  } else {
    status = 0;
  }
  if (asprintf(&run->folder, "%s%s", name, FOLDER_SUFFIX) < 0)
    run->folder = NULL;
  if (status == 0)
    status = run->folder ? add_folder(run) : HW_ERR_MEMORY;
  if (status == HW_ERR_IO)
    return hwi_error_set(error, status, "cannot read the folder %s%s: %s", name, FOLDER_SUFFIX, strerror(errno));
  return status < 0 ? hwi_error_set(error, status, "no memory to look up the images of %s", name) : 0;
}

/* Returns the length of NAME if `path` is NAME.children or NAME.children/FILE, otherwise 0. */
static size_t name_bytes(const char *path, bool folder)
{
  size_t bytes = strlen(path);
  if (!folder) {
    const char *slash = strrchr(path, '/');
    bytes = slash ? (size_t)(slash - path) : 0;
  }
  while (bytes > 1 && path[bytes - 1] == '/')
    bytes--;
  return hwi_has_suffix(path, bytes, FOLDER_SUFFIX) ? bytes - strlen(FOLDER_SUFFIX) : 0;
}

/* --- images that were replaced by an exec --- */

struct place {
  uint32_t pid_namespace, pid;
  size_t number;
  uint64_t process_start;
};

static int compare_processes(const struct place *a, const struct place *b)
{
  if (a->pid_namespace != b->pid_namespace)
    return a->pid_namespace < b->pid_namespace ? -1 : 1;
  if (a->pid != b->pid)
    return a->pid < b->pid ? -1 : 1;
  if (a->process_start != b->process_start)
    return a->process_start < b->process_start ? -1 : 1;
  return 0;
}

static int compare_places(const void *left, const void *right)
{
  const struct place *a = left, *b = right;
  int order = compare_processes(a, b);
  return order != 0 ? order : a->number < b->number ? -1 : a->number > b->number;
}

/* A program that an exec replaces cannot record its end: it ends when the next image of its process begins. */
static int find_replaced(struct hwi_run *run)
{
  struct place *places = calloc(run->count + 1, sizeof *places);
  if (!places)
    return HW_ERR_MEMORY;
  for (size_t i = 0; i < run->count; i++) {
    const struct hw_trace_header *header = &run->images[i].header;
    places[i] = (struct place){header->pid_namespace, header->pid, i, header->process_start};
  }
  qsort(places, run->count, sizeof *places, compare_places);
  for (size_t i = 0; i + 1 < run->count; i++) {
    const struct place *place = &places[i], *next = &places[i + 1];
    if (compare_processes(place, next) == 0 && place->process_start != 0)
      run->images[place->number].replaced_ns =
          run->images[next->number].header.start.monotonic_ns - run->images[place->number].header.start.monotonic_ns;
  }
  free(places);
  return 0;
}

int hwi_run_find(struct hwi_run *run, const char *path, bool relatives, struct hwi_error *error)
{
  *run = (struct hwi_run){0};
  bool folder = is_folder(path);
  size_t bytes = name_bytes(path, folder);
  int status;
  if (bytes && (folder || relatives)) {
    char *name = strndup(path, bytes);
    status = name ? add_family(run, name, false, error) : hwi_error_set(error, HW_ERR_MEMORY, "no memory for a path");
    free(name);
    if (status == 0 && run->count == 0)
      status = hwi_error_set(error, HW_ERR_NOT_A_TRACE, "there is no heapwright trace in %s", path);
  } else {
    status = add_family(run, path, true, error);
  }
  run->is_whole = !bytes || folder || relatives;
  if (status == 0) {
    qsort(run->images, run->count, sizeof *run->images, compare_images);
    if (find_replaced(run) < 0 || (run->is_whole && hwi_unseen_programs_find(run) < 0))
      status = hwi_error_set(error, HW_ERR_MEMORY, "no memory to look up the images of %s", path);
  }
  if (status < 0)
    hwi_run_release(run);
  return status;
}

/* Replaces the first bytes of a path. */
static int replace_begin(char **path, size_t bytes, const char *begin)
{
  char *made;
  if (strlen(*path) < bytes || asprintf(&made, "%s%s", begin, *path + bytes) < 0)
    return HW_ERR_MEMORY;
  free(*path);
  *path = made;
  return 0;
}

int hwi_run_rename(struct hwi_run *run, const char *name)
{
  const size_t bytes = strlen(run->folder) - strlen(FOLDER_SUFFIX);
  int status = replace_begin(&run->folder, bytes, name);
  for (size_t i = 0; i < run->count && status == 0; i++)
    status = replace_begin(&run->images[i].path, bytes, name);
  return status;
}

void hwi_run_release(struct hwi_run *run)
{
  for (size_t i = 0; i < run->count; i++) {
    free(run->images[i].path);
    hwi_definitions_destroy(run->images[i].definitions);
  }
  free(run->images);
  free(run->folder);
  hwi_store_release(&run->known);
  if (run->relatives)
    hwi_run_release(run->relatives);
  free(run->relatives);
  *run = (struct hwi_run){0};
}

/* Returns whether the folder may have traces that are not known. It may change again within the same tick of its file
 * system's clock, so a recent time of change is not final. */
static bool may_have_new_traces(struct hwi_run *run)
{
  enum { SETTLED_NS = 1000000000 };
  struct timespec now;
  struct stat about;
  if (stat(run->folder, &about) < 0)
    return false;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
  const int64_t changed_ns = about.st_mtim.tv_sec * INT64_C(1000000000) + about.st_mtim.tv_nsec;
  const bool is_known = changed_ns == run->settled_ns;
  if (now_ns - changed_ns > SETTLED_NS)
    run->settled_ns = changed_ns;
  return !is_known;
}

int hwi_run_look(struct hwi_run *run, struct hwi_error *error)
{
  const size_t known = run->count;
  int status = may_have_new_traces(run) ? add_folder(run) : 0;
  const bool has_no_file = status == HW_ERR_IO && (errno == EMFILE || errno == ENFILE); /* until one is closed */
  if (has_no_file)
    status = 0;
  if (has_no_file || run->unreadable)
    run->settled_ns = 0;
  if (status == HW_ERR_IO)
    return hwi_error_set(error, status, "cannot read the folder %s: %s", run->folder, strerror(errno));
  if (run->count > known)
    qsort(run->images + known, run->count - known, sizeof *run->images, compare_images);
  if (status == 0 && run->count > known)
    status = find_replaced(run);
  return status < 0 ? hwi_error_set(error, status, "no memory to look up the images of a run") : 0;
}

/* --- inherited definitions of forked images --- */

static bool inherits(const struct hw_trace_header *header)
{
  return header->origin == HW_ORIGIN_FORK && (header->inherited_nodes > 1 || header->inherited_modules > 1);
}

static struct hwi_run_image *find_image(struct hwi_run *run, const uint8_t id[HW_ID_BYTES])
{
  static const uint8_t none[HW_ID_BYTES];
  for (size_t i = 0; i < run->count && memcmp(id, none, HW_ID_BYTES); i++)
    if (!memcmp(run->images[i].header.image_id, id, HW_ID_BYTES))
      return &run->images[i];
  return NULL;
}

static int read_definitions(struct hwi_run_image *image, struct hwi_error *error)
{
  struct hwi_trace *trace;
  int status = image->definitions ? 0 : hwi_trace_open_alone(&trace, image->path, error);
  if (status < 0 || image->definitions)
    return status;
  status = hwi_trace_complete(trace, error);
  if (status == 0)
    image->definitions = hwi_definitions_share(trace->definitions);
  hwi_trace_close(trace);
  return status;
}

void hwi_run_set_definitions(struct hwi_run *run, size_t number, struct hwi_trace *trace)
{
  hwi_definitions_destroy(run->images[number].definitions);
  run->images[number].definitions = trace ? hwi_definitions_share(trace->definitions) : NULL;
}

static bool leads_to(const struct hwi_definitions *from, const struct hwi_definitions *to)
{
  while (from && from != to)
    from = from->parent;
  return from == to;
}

/* Links the trace's definitions to its parent's, those to the grandparent's, and so on. If a parent is missing or
 * cannot be read, its nodes are unknown; the image's own definitions are still valid. */
static int adopt(struct hwi_run *run, struct hwi_trace *trace, struct hwi_error *error)
{
  struct hwi_definitions *child = trace->definitions;
  const struct hw_trace_header *header = &trace->header;
  while (inherits(header) && !child->parent) {
    struct hwi_run_image *parent = find_image(run, header->parent_image_id);
    int status = parent ? read_definitions(parent, error) : 0;
    if (status == HW_ERR_MEMORY)
      return status;
    if (!parent || status < 0 || leads_to(parent->definitions, child)) {
      trace->info.parent_missing = true;
      return 0;
    }
    child->parent = hwi_definitions_share(parent->definitions);
    child = parent->definitions;
    header = &parent->header;
  }
  return 0;
}

/* Returns the run in which the parents of this run's images are looked up: the run itself, or all traces in the folder
 * of its only image. Returns NULL if there is no memory. */
static struct hwi_run *family_of(struct hwi_run *run)
{
  if (run->count != 1 || !name_bytes(run->images[0].path, false))
    return run;
  if (run->relatives)
    return run->relatives;
  run->relatives = calloc(1, sizeof *run->relatives);
  if (run->relatives && hwi_run_find(run->relatives, run->images[0].path, true, NULL) == HW_ERR_MEMORY) {
    free(run->relatives);
    run->relatives = NULL;
  }
  return run->relatives;
}

void hwi_run_update_info(const struct hwi_run *run, size_t number, struct hwi_trace *trace)
{
  trace->info.missing = run->images[number].missing;
  hwi_trace_set_replaced(trace, run->images[number].replaced_ns);
}

int hwi_run_find_unseen_programs(struct hwi_run *run, struct hwi_trace *const *traces)
{
  for (size_t i = 0; i < run->count; i++)
    if (traces[i])
      run->images[i].header = traces[i]->header;
  if (run->is_whole && hwi_unseen_programs_find(run) < 0)
    return HW_ERR_MEMORY;
  for (size_t i = 0; i < run->count; i++)
    if (traces[i])
      hwi_run_update_info(run, i, traces[i]);
  return 0;
}

int hwi_run_open(struct hwi_run *run, size_t number, struct hwi_trace **trace, struct hwi_error *error)
{
  int status = hwi_trace_open_alone(trace, run->images[number].path, error);
  if (status == 0)
    hwi_run_update_info(run, number, *trace);
  if (status < 0 || !inherits(&(*trace)->header))
    return status;
  struct hwi_run *family = family_of(run);
  status = family ? adopt(family, *trace, error)
                  : hwi_error_set(error, HW_ERR_MEMORY, "no memory to read %s", run->images[number].path);
  if (status < 0) {
    hwi_trace_close(*trace);
    *trace = NULL;
  }
  return status;
}

int hwi_trace_open(struct hwi_trace **trace, const char *path, struct hwi_error *error)
{
  int status = hwi_trace_open_alone(trace, path, error);
  if (status < 0 || !inherits(&(*trace)->header))
    return status;
  struct hwi_run run;
  status = hwi_run_find(&run, path, true, error);
  if (status == 0) {
    status = adopt(&run, *trace, error);
    hwi_run_release(&run);
  }
  if (status < 0) {
    hwi_trace_close(*trace);
    *trace = NULL;
  }
  return status;
}

/* --- the fingerprint --- */

static void mix_number(uint64_t *hash, uint64_t number)
{
  *hash = hwi_fnv(*hash, &number, sizeof number);
}

static bool mix_chunks(uint64_t *hash, int fd, const struct hw_trace_header *header, uint64_t file_bytes)
{
  struct hwi_index index;
  bool done = hwi_index_build(&index, fd, header, file_bytes) == 0;
  for (size_t i = 0; done && i < index.count; i++) {
    mix_number(hash, index.pieces[i].off);
    mix_number(hash, index.pieces[i].bytes);
  }
  hwi_index_release(&index);
  return done;
}

static bool mix_image(uint64_t *hash, const struct hwi_run_image *image)
{
  struct hw_trace_header header;
  struct stat about;
  int fd = hwi_trace_file_open(image->path, &header, NULL);
  if (fd < 0)
    return false;
  bool done = fstat(fd, &about) == 0 && !hwi_trace_writer(fd, &header) &&
              (header.kind != HW_TRACE_RAW || mix_chunks(hash, fd, &header, (uint64_t)about.st_size));
  close(fd);
  if (!done)
    return false;
  mix_number(hash, (uint64_t)about.st_size);
  mix_number(hash, (uint64_t)about.st_mtim.tv_sec);
  mix_number(hash, (uint64_t)about.st_mtim.tv_nsec);
  *hash = hwi_fnv(*hash, &header, sizeof header);
  return true;
}

bool hwi_run_fingerprint(const struct hwi_run *run, uint64_t *fingerprint)
{
  *fingerprint = HWI_FNV_BASIS;
  mix_number(fingerprint, run->unreadable);
  for (size_t i = 0; i < run->count; i++)
    if (!mix_image(fingerprint, &run->images[i]))
      return false;
  return true;
}

bool hwi_run_has_process(const char *path, uint64_t pid)
{
  struct hwi_run run;
  bool found = false;
  if (hwi_run_find(&run, path, true, NULL) < 0)
    return false;
  for (size_t i = 0; i < run.count && !found; i++)
    found = run.images[i].header.pid == pid;
  hwi_run_release(&run);
  return found;
}
