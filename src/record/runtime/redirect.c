/* redirect.c - leads the calls of allocators that programs have linked in to the recorder
 *
 * Calls within a program to a function that it defines are bound by the linker, or by the compiler: no preloaded library comes
 * before them, and no table of the loader (GOT) has their address. So the code of the function is what must change
 * (platform/code.h): each of an allocator's functions begins with a jump to a wrapper.
 *
 * An allocator is known by a function that it alone has. If the free of a block were not seen but its allocation were, the recording
 * would be worse than without both. So all functions of an allocator are redirected, or none: first each one is planned, and
 * nothing is written unless all of them can be.
 *
 * A shared library whose malloc the recorder calls anyway is left as it is, unless the program uses functions that only this
 * allocator has (mallocx, mi_malloc), or the linker has bound the library's own calls of malloc (-Bsymbolic).
 *
 * The functions of a stripped library are not found. Such an allocator is known by a text, and noted. Of a stripped program, the
 * tools tell it from the file (symbols/program_allocator.c).
 */
#include "record/runtime/redirect.h"

#include <string.h>

#include "platform/code.h"
#include "platform/os.h"
#include "platform/os_code.h"
#include "record/runtime/redirect_wrappers.h"
#include "record/runtime/redirected.h"

enum { MOST_FAMILIES = 4, MOST_CANDIDATES = 128, MOST_ALIASES = 4, TEXT_BYTES = 480 };

static struct hwi_family families[MOST_FAMILIES];
static uint32_t family_count;

/* A function that is to be redirected. */
struct candidate {
  uintptr_t address, cold;
  size_t bytes, cold_bytes;
  const struct hwi_shape *shapes[MOST_ALIASES]; /* of its names; the first one counts */
  struct hwi_code_detour detour;
};

/* An allocator in an image. */
struct search {
  const struct hwi_os_image *image;
  enum hwi_allocator_kind kind;
  char prefix[HWI_PREFIX_BYTES];
  bool is_allowed, is_referred_to, is_overfull;
  bool is_stripped;                  /* its functions are not known */
  bool has_malloc;                   /* the image's malloc is this allocator's */
  uintptr_t malloc_at;               /* the image's malloc; 0: none */
  const struct hwi_shape *ambiguous; /* two functions have its name: one is another file's own */
  const struct hwi_shape *misplaced; /* its symbol is not of code */
  uintptr_t usable_size;
  struct candidate *candidates;
  uint32_t count;
  uint8_t *room;
  char why[TEXT_BYTES]; /* it cannot be redirected */
};

static const char *const own_mallocs[HWI_ALLOCATOR_KINDS] = {"malloc", "mi_malloc", "tc_malloc"};

/* --- texts --- */

static void add(char *text, const char *more)
{
  const size_t bytes = strlen(text), room = TEXT_BYTES - bytes - 1, wanted = strlen(more);
  memcpy(text + bytes, more, wanted < room ? wanted : room);
  text[bytes + (wanted < room ? wanted : room)] = 0;
}

/* Notes why, as three parts of a sentence. `name` is that of a function, or "". Returns false. */
static bool refuse(struct search *search, const char *before, const char *name, const char *after)
{
  search->why[0] = 0;
  add(search->why, before);
  if (*name)
    add(search->why, name[0] == '_' || search->kind != HWI_JEMALLOC ? "" : search->prefix);
  add(search->why, name);
  if (*after)
    add(search->why, " ");
  add(search->why, after);
  return false;
}

static void report(const struct search *search, void (*found)(enum hw_note note, const char *text))
{
  char text[TEXT_BYTES] = "", path[TEXT_BYTES] = "";
  if (!*search->image->path)
    hwi_os_executable_path(path, sizeof path - 1);
  add(text, hwi_allocator_name(search->kind));
  if (!search->is_stripped) {
    add(text, " (");
    add(text, search->prefix);
    add(text, own_mallocs[search->kind]);
    add(text, ")");
  }
  add(text, " in ");
  add(text, *search->image->path ? search->image->path : path);
  if (*search->why) {
    add(text, ": ");
    add(text, search->why);
  }
  found(*search->why ? HW_NOTE_NOT_REDIRECTED : HW_NOTE_REDIRECTED, text);
}

/* --- the functions --- */

/* The allocators that an image defines. */
struct marks {
  bool is_found[HWI_ALLOCATOR_KINDS];
  char prefixes[HWI_ALLOCATOR_KINDS][HWI_PREFIX_BYTES];
  uintptr_t malloc_at, mallocs_at[HWI_ALLOCATOR_KINDS]; /* malloc, and own_mallocs */
};

static void look_for_marks(void *context, const struct hwi_os_function *function)
{
  struct marks *marks = context;
  if (strcmp(function->name, "malloc") == 0)
    marks->malloc_at = function->address;
  for (int kind = 0; kind < HWI_ALLOCATOR_KINDS; kind++) {
    if (!marks->is_found[kind])
      marks->is_found[kind] =
          hwi_allocator_is_marked((enum hwi_allocator_kind)kind, function->name, marks->prefixes[kind]);
    if (strcmp(function->name, own_mallocs[kind]) == 0)
      marks->mallocs_at[kind] = function->address;
  }
}

static struct candidate *candidate_at(struct search *search, uintptr_t address)
{
  for (uint32_t i = 0; i < search->count; i++)
    if (search->candidates[i].address == address)
      return &search->candidates[i];
  if (search->count == MOST_CANDIDATES) {
    search->is_overfull = true;
    return NULL;
  }
  search->candidates[search->count] = (struct candidate){.address = address};
  return &search->candidates[search->count++];
}

/* One function may have several names. The event is that of the name that C has, since operator delete may be free. */
static void add_name(struct candidate *candidate, const struct hwi_shape *shape)
{
  uint32_t i = 0;
  while (i < MOST_ALIASES && candidate->shapes[i])
    i++;
  if (i < MOST_ALIASES)
    candidate->shapes[i] = shape;
  if (i > 0 && shape->entry < candidate->shapes[0]->entry) {
    if (i < MOST_ALIASES)
      candidate->shapes[i] = candidate->shapes[0];
    candidate->shapes[0] = shape;
  }
}

static bool is_named(const struct candidate *candidate, const struct hwi_shape *shape)
{
  for (uint32_t i = 0; shape && i < MOST_ALIASES; i++)
    if (candidate->shapes[i] == shape)
      return true;
  return false;
}

/* malloc and operator new in the same image may be another allocator's. */
static bool is_of_it(const struct search *search, const char *name)
{
  return search->has_malloc || *search->prefix || hwi_allocator_is_own_name(search->kind, search->prefix, name);
}

static bool is_code(const struct search *search, const struct hwi_os_function *function)
{
  return hwi_os_image_has_code(search->image, function->address, function->bytes ? function->bytes : 1);
}

static void take(void *context, const struct hwi_os_function *function)
{
  struct search *search = context;
  const struct hwi_shape *shape =
      hwi_allocator_shape(search->kind, search->prefix, function->name, strlen(function->name));
  if (!shape || !is_of_it(search, function->name))
    return;
  if (!is_code(search, function)) {
    search->misplaced = shape;
    return;
  }
  const uintptr_t address = function->is_chosen ? hwi_os_chosen_function(function->address) : function->address;
  if (shape->role == HWI_ROLE_USABLE) {
    search->usable_size = address;
    return;
  }
  for (uint32_t i = 0; i < search->count; i++)
    if (search->candidates[i].address != address && is_named(&search->candidates[i], shape))
      search->ambiguous = shape;
  struct candidate *candidate = candidate_at(search, address);
  if (!candidate)
    return;
  if (!is_named(candidate, shape))
    add_name(candidate, shape);
  if (!function->is_chosen)
    candidate->bytes = function->bytes;
}

/* Finds the code that the compiler put elsewhere, NAME.cold, and the sizes of functions that were chosen at run time. */
static void complete(void *context, const struct hwi_os_function *function)
{
  static const char suffix[] = ".cold";
  struct search *search = context;
  const size_t bytes = strlen(function->name), stem = bytes - (sizeof suffix - 1);
  const bool is_cold = bytes >= sizeof suffix && strcmp(function->name + stem, suffix) == 0;
  const struct hwi_shape *shape =
      is_cold ? hwi_allocator_shape(search->kind, search->prefix, function->name, stem) : NULL;
  for (uint32_t i = 0; i < search->count; i++) {
    struct candidate *candidate = &search->candidates[i];
    if (is_named(candidate, shape) && !is_code(search, function))
      search->misplaced = shape;
    else if (is_named(candidate, shape))
      candidate->cold = function->address, candidate->cold_bytes = function->bytes;
    if (candidate->address == function->address && candidate->bytes == 0 && !function->is_chosen &&
        is_code(search, function))
      candidate->bytes = function->bytes;
  }
}

static const struct candidate *candidate_of(const struct search *search, enum hw_entry entry)
{
  for (uint32_t i = 0; i < search->count; i++)
    if (search->candidates[i].shapes[0]->entry == entry)
      return &search->candidates[i];
  return NULL;
}

/* --- whether it is wanted --- */

static void look_for_reference(void *context, const char *name)
{
  struct search *search = context;
  search->is_referred_to |= hwi_allocator_is_own_name(search->kind, search->prefix, name);
}

/* Whether another module calls what only this allocator has. */
static bool is_referred_to(struct search *search)
{
  struct hwi_os_image other;
  for (bool is_open = hwi_os_image_first(&other); is_open; is_open = hwi_os_image_next(&other))
    if (other.bias != search->image->bias)
      hwi_os_image_references(&other, look_for_reference, search);
  return search->is_referred_to;
}

static bool is_wanted(struct search *search)
{
  const bool is_interposed = search->has_malloc && hwi_os_symbol_after("malloc") == (const void *)search->malloc_at &&
                             !hwi_os_symbol_before("malloc");
  return !is_interposed || !hwi_os_image_looks_up(search->image, search->malloc_at) || is_referred_to(search);
}

/* --- planning --- */

static size_t room_bytes(const struct search *search)
{
  const size_t mask = HWI_OS_PAGE_BYTES - 1;
  return (search->count * HWI_CODE_ROOM_BYTES + mask) & ~mask;
}

static bool plan_one(struct search *search, uint32_t number)
{
  struct candidate *candidate = &search->candidates[number];
  const struct hwi_shape *shape = candidate->shapes[0];
  uint8_t *room = search->room + (size_t)number * HWI_CODE_ROOM_BYTES;
  if (candidate->bytes == 0)
    return refuse(search, "the size of ", shape->name, "is not known");
  const struct hwi_code_request request = {
      .function = (const uint8_t *)candidate->address,
      .bytes = candidate->bytes,
      .cold = (const uint8_t *)candidate->cold,
      .cold_bytes = candidate->cold_bytes,
      .wrapper = (uintptr_t)hwi_redirect_wrapper((enum hwi_role)shape->role),
      .argument = (uintptr_t)hwi_redirected_place(number),
      .room = (uintptr_t)room,
  };
  const char *why = hwi_code_plan(&candidate->detour, &request);
  if (why)
    return refuse(search, "the code of ", shape->name, why);
  return true;
}

static bool plan(struct search *search)
{
  const char *obstacle = search->is_allowed ? hwi_code_obstacle() : "HEAPWRIGHT_REDIRECT=0 leaves it as it is";
  if (obstacle)
    return refuse(search, obstacle, "", "");
  if (search->ambiguous)
    return refuse(search, "there are several functions named ", search->ambiguous->name, "");
  if (search->misplaced)
    return refuse(search, "what is named ", search->misplaced->name, "is not code");
  if (search->is_overfull || family_count == MOST_FAMILIES ||
      hwi_redirected_count() + search->count > HWI_REDIRECTED_MAX)
    return refuse(search, "it has too many functions", "", "");
  if (hwi_os_thread_count() != 1)
    return refuse(search, "other threads ran already when the recorder started", "", "");
  search->room = hwi_os_map_near(search->candidates[0].address, room_bytes(search), hwi_code_near_bytes());
  if (!search->room)
    return refuse(search, "there is no free memory near its code", "", "");
  for (uint32_t i = 0; i < search->count; i++)
    if (!plan_one(search, i))
      return false;
  return true;
}

/* --- writing --- */

static void fill(const struct search *search)
{
  struct hwi_family *family = &families[family_count++];
  family->usable_size = (hwi_usable_size_fn *)search->usable_size;
  for (uint32_t i = 0; i < search->count; i++) {
    const struct candidate *candidate = &search->candidates[i];
    memcpy(search->room + (size_t)i * HWI_CODE_ROOM_BYTES, candidate->detour.room, HWI_CODE_ROOM_BYTES);
    *hwi_redirected_place(i) = (struct hwi_redirected){candidate->address, (hwi_function *)candidate->detour.original,
                                                       family, candidate->shapes[0]};
  }
}

static void close_code(const struct search *search, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    hwi_os_close_code(search->image, search->candidates[i].detour.patch_at, search->candidates[i].detour.patch_bytes);
}

static bool open_code(const struct search *search)
{
  for (uint32_t i = 0; i < search->count; i++)
    if (hwi_os_open_code(search->image, search->candidates[i].detour.patch_at,
                         search->candidates[i].detour.patch_bytes) < 0) {
      close_code(search, i);
      return false;
    }
  return true;
}

/* A signal handler must not run between two of the functions. */
static bool write_all(struct search *search)
{
  const uint64_t held = hwi_os_hold_signals();
  const bool is_open = open_code(search);
  for (uint32_t i = 0; i < search->count && is_open; i++) {
    const struct hwi_code_detour *detour = &search->candidates[i].detour;
    hwi_code_write(detour);
    hwi_code_sync((const void *)detour->patch_at, detour->patch_bytes);
  }
  if (is_open)
    close_code(search, search->count);
  hwi_os_release_signals(held);
  return is_open;
}

static bool redirect(struct search *search)
{
  static const char forbidden[] =
      "this system does not allow a program to change its code (SELinux, or a seccomp filter)";
  if (!plan(search))
    return false;
  fill(search);
  hwi_code_sync(search->room, room_bytes(search));
  if (hwi_os_make_code(search->room, room_bytes(search)) < 0 || !write_all(search)) {
    family_count--;
    return refuse(search, forbidden, "", "");
  }
  hwi_redirected_add(search->count);
  return true;
}

/* --- stripped libraries --- */

static void look_for_madvise(void *context, const char *name)
{
  *(bool *)context |= strcmp(name, "madvise") == 0;
}

/* Few libraries give memory back as allocators do: only they are searched for a text. Calls of a malloc that is exported reach the
 * recorder. */
static bool may_hide_allocator(const struct hwi_os_image *image, const struct marks *marks)
{
  bool has_madvise = false;
  if (!*image->path || marks->malloc_at)
    return false;
  hwi_os_image_references(image, look_for_madvise, &has_madvise);
  return has_madvise;
}

static void look_for_stripped(const struct hwi_os_image *image, void (*found)(enum hw_note note, const char *text))
{
  struct search search = {.image = image, .is_stripped = true};
  for (int kind = 0; kind < HWI_ALLOCATOR_KINDS; kind++) {
    search.kind = (enum hwi_allocator_kind)kind;
    if (!hwi_os_image_has_string(image, hwi_allocator_text(search.kind)))
      continue;
    refuse(&search, "its symbols were stripped; strip -g keeps them", "", "");
    report(&search, found);
  }
}

/* --- all of them --- */

static void redirect_one(struct search *search, void (*found)(enum hw_note note, const char *text))
{
  hwi_os_image_functions(search->image, take, search);
  hwi_os_image_functions(search->image, complete, search);
  const bool is_whole = candidate_of(search, HW_ENTRY_MALLOC) && candidate_of(search, HW_ENTRY_FREE);
  if (!(is_whole || search->misplaced) ||
      !is_wanted(search)) /* else it is another one, which the tools may know by its file */
    return;
  if (!redirect(search) && search->room)
    hwi_os_unmap(search->room, room_bytes(search));
  report(search, found);
}

static void redirect_in(const struct hwi_os_image *image, bool is_allowed, struct candidate *candidates,
                        void (*found)(enum hw_note note, const char *text))
{
  struct marks marks = {0};
  bool is_known = false;
  hwi_os_image_functions(image, look_for_marks, &marks);
  for (int kind = 0; kind < HWI_ALLOCATOR_KINDS; kind++) {
    struct search search = {.image = image,
                            .kind = (enum hwi_allocator_kind)kind,
                            .is_allowed = is_allowed,
                            .has_malloc = marks.malloc_at && marks.malloc_at == marks.mallocs_at[kind],
                            .malloc_at = marks.malloc_at,
                            .candidates = candidates};
    memcpy(search.prefix, marks.prefixes[kind], HWI_PREFIX_BYTES);
    if (marks.is_found[kind])
      redirect_one(&search, found);
    is_known |= marks.is_found[kind];
  }
  if (!is_known && may_hide_allocator(image, &marks))
    look_for_stripped(image, found);
}

void hwi_redirect_all(bool is_allowed, void (*found)(enum hw_note note, const char *text))
{
  const size_t bytes =
      (MOST_CANDIDATES * sizeof(struct candidate) + HWI_OS_PAGE_BYTES - 1) & ~(size_t)(HWI_OS_PAGE_BYTES - 1);
  struct candidate *candidates = hwi_os_map(bytes); /* the target's stack may be too small for it */
  struct hwi_os_image image;
  if (!candidates)
    return;
  for (bool is_open = hwi_os_image_first(&image); is_open; is_open = hwi_os_image_next(&image))
    redirect_in(&image, is_allowed, candidates, found);
  hwi_os_unmap(candidates, bytes);
}
