/* itt.c - the recorder as a collector of ITT: tasks, regions, frames and events of programs become scopes
 *
 * A program with ITT contains its static part, which loads the library that INTEL_LIBITTNOTIFY64 names and calls
 * __itt_api_init. That puts our functions where the program calls them. Those that are not in the list below stay as
 * they are without a collector.
 *
 * A task belongs to one thread, and tasks nest. Frames, regions and overlapped tasks may end in other threads and in
 * any order: their keys are loose (keyed_scopes.h). So are those of events, which belong to one thread.
 */
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "platform/os.h"
#include "record/collectors/domains.h"
#include "record/collectors/itt_abi.h"
#include "record/collectors/itt_counters.h"
#include "record/collectors/itt_heaps.h"
#include "record/collectors/itt_ignored.h"
#include "record/collectors/itt_objects.h"
#include "record/collectors/keyed_scopes.h"
#include "record/events/scope_names.h"
#include "record/events/scopes.h"
#include "record/events/stream.h"
#include "record/record.h"

enum kind { REGION = 1, OVERLAPPED, FRAME };

/* --- keys of scopes --- */

/* The lowest bits distinguish these keys from those of other collectors and of events. */
enum { DOMAIN_BIT = 4, KEY_SHIFT = 8 };

/* The name identifies a domain: there may be several objects of one, by the static parts of libraries and by us. */
static uint64_t domain_key(struct hwi_itt_domain *domain)
{
  return (uint64_t)hwi_itt_domain_name(domain) << KEY_SHIFT | DOMAIN_BIT;
}

static uint64_t loose_key(enum kind kind, struct hwi_itt_domain *domain, const struct hwi_itt_id *id)
{
  return hwi_hash_bytes(id, sizeof *id, domain_key(domain) | kind) | HWI_KEY_IS_LOOSE;
}

/* A frame without an ID is the only one of its domain. */
static uint64_t frame_key(struct hwi_itt_domain *domain, const struct hwi_itt_id *id)
{
  return id ? loose_key(FRAME, domain, id) : domain_key(domain) | HWI_KEY_IS_LOOSE;
}

static bool is_on(struct hwi_itt_domain *domain)
{
  return domain && atomic_load_explicit(&domain->flags, memory_order_relaxed);
}

static uint32_t name_of(struct hwi_itt_domain *domain, struct hwi_itt_string *name)
{
  return name ? hwi_itt_string_name(name) : hwi_itt_domain_name(domain);
}

/* --- tasks --- */

static void task_begin(struct hwi_itt_domain *domain, struct hwi_itt_id id, struct hwi_itt_id parent,
                       struct hwi_itt_string *name)
{
  (void)id;
  (void)parent;
  if (is_on(domain))
    hwi_keyed_scope_begin(name_of(domain, name), domain_key(domain));
}

static void task_begin_ex(struct hwi_itt_domain *domain, struct hwi_itt_clock *clock, unsigned long long time,
                          struct hwi_itt_id id, struct hwi_itt_id parent, struct hwi_itt_string *name)
{
  (void)clock;
  (void)time;
  task_begin(domain, id, parent, name);
}

static char *put_hex(char *to, uint64_t number)
{
  int shift = 60;
  while (shift && !(number >> shift))
    shift -= 4;
  for (; shift >= 0; shift -= 4)
    *to++ = "0123456789abcdef"[number >> shift & 15];
  return to;
}

/* The name of a function is not known here: it is its place in its file, as in "libwork.so+0x1a40". */
static uint32_t function_name(uintptr_t function)
{
  enum { LONGEST_FILE = 200 };
  char text[LONGEST_FILE + sizeof "+0x" + 16], *at = text;
  struct hwi_os_module module = {0};
  const char *file = "program";
  if (hwi_os_find_module(function, &module) && *module.path) {
    const char *slash = strrchr(module.path, '/');
    file = slash ? slash + 1 : module.path;
  }
  size_t bytes = strnlen(file, LONGEST_FILE);
  memcpy(at, file, bytes);
  memcpy(at + bytes, "+0x", 3);
  at = put_hex(at + bytes + 3, function - module.bias);
  return hwi_names_number_of(text, (size_t)(at - text));
}

static void task_begin_fn(struct hwi_itt_domain *domain, struct hwi_itt_id id, struct hwi_itt_id parent, void *function)
{
  (void)id;
  (void)parent;
  if (is_on(domain))
    hwi_keyed_scope_begin(function_name((uintptr_t)function), domain_key(domain));
}

static void task_begin_fn_ex(struct hwi_itt_domain *domain, struct hwi_itt_clock *clock, unsigned long long time,
                             struct hwi_itt_id id, struct hwi_itt_id parent, void *function)
{
  (void)clock;
  (void)time;
  task_begin_fn(domain, id, parent, function);
}

static void task_end(struct hwi_itt_domain *domain)
{
  if (is_on(domain))
    hwi_keyed_scope_end(domain_key(domain));
}

static void task_end_ex(struct hwi_itt_domain *domain, struct hwi_itt_clock *clock, unsigned long long time)
{
  (void)clock;
  (void)time;
  task_end(domain);
}

/* --- what may end in another thread --- */

static void task_begin_overlapped(struct hwi_itt_domain *domain, struct hwi_itt_id id, struct hwi_itt_id parent,
                                  struct hwi_itt_string *name)
{
  (void)parent;
  if (is_on(domain))
    hwi_keyed_scope_begin(name_of(domain, name), loose_key(OVERLAPPED, domain, &id));
}

static void task_begin_overlapped_ex(struct hwi_itt_domain *domain, struct hwi_itt_clock *clock,
                                     unsigned long long time, struct hwi_itt_id id, struct hwi_itt_id parent,
                                     struct hwi_itt_string *name)
{
  (void)clock;
  (void)time;
  task_begin_overlapped(domain, id, parent, name);
}

static void task_end_overlapped(struct hwi_itt_domain *domain, struct hwi_itt_id id)
{
  if (is_on(domain))
    hwi_keyed_scope_end(loose_key(OVERLAPPED, domain, &id));
}

static void task_end_overlapped_ex(struct hwi_itt_domain *domain, struct hwi_itt_clock *clock, unsigned long long time,
                                   struct hwi_itt_id id)
{
  (void)clock;
  (void)time;
  task_end_overlapped(domain, id);
}

static void region_begin(struct hwi_itt_domain *domain, struct hwi_itt_id id, struct hwi_itt_id parent,
                         struct hwi_itt_string *name)
{
  (void)parent;
  if (is_on(domain))
    hwi_keyed_scope_begin(name_of(domain, name), loose_key(REGION, domain, &id));
}

static void region_end(struct hwi_itt_domain *domain, struct hwi_itt_id id)
{
  if (is_on(domain))
    hwi_keyed_scope_end(loose_key(REGION, domain, &id));
}

static void frame_begin_v3(struct hwi_itt_domain *domain, struct hwi_itt_id *id)
{
  if (is_on(domain))
    hwi_keyed_scope_begin(hwi_itt_domain_name(domain), frame_key(domain, id));
}

static void frame_end_v3(struct hwi_itt_domain *domain, struct hwi_itt_id *id)
{
  if (is_on(domain))
    hwi_keyed_scope_end(frame_key(domain, id));
}

/* The older functions for frames: a frame is made once, for a domain that has only its name. */
static void frame_begin(struct hwi_itt_domain *frame)
{
  frame_begin_v3(frame, NULL);
}

static void frame_end(struct hwi_itt_domain *frame)
{
  frame_end_v3(frame, NULL);
}

static int event_create(const char *name, int bytes)
{
  return name && bytes > 0 ? (int)hwi_names_number_of(name, (size_t)bytes) : 0;
}

static uint64_t event_key(int event)
{
  return (uint64_t)event << KEY_SHIFT | HWI_KEY_IS_LOOSE;
}

/* Programs need not end events without a duration. So an event that no thread has ended yet lasts until it starts again. */
static _Atomic uint8_t events_with_ends[HWI_NAME_LIMIT / 8];

static bool has_ends(int event)
{
  return atomic_load_explicit(&events_with_ends[event / 8], memory_order_relaxed) >> event % 8 & 1;
}

/* An ID that was not created must not define a name that may be created later. */
static int event_start(int event)
{
  if (!hwi_names_have((uint32_t)event))
    return 0;
  if (!has_ends(event))
    hwi_keyed_scope_end_here(event_key(event));
  hwi_keyed_scope_begin((uint32_t)event, event_key(event));
  return 0;
}

static int event_end(int event)
{
  if (!hwi_names_have((uint32_t)event))
    return 0;
  if (!has_ends(event))
    atomic_fetch_or_explicit(&events_with_ends[event / 8], (uint8_t)(1 << event % 8), memory_order_relaxed);
  hwi_keyed_scope_end_here(event_key(event));
  return 0;
}

/* --- the rest --- */

static void marker(struct hwi_itt_domain *domain, struct hwi_itt_id id, struct hwi_itt_string *name, int scope)
{
  (void)id;
  (void)scope;
  if (is_on(domain))
    hwi_scope_note(name_of(domain, name), HW_SCOPE_MARK, 0);
}

static void marker_ex(struct hwi_itt_domain *domain, struct hwi_itt_clock *clock, unsigned long long time,
                      struct hwi_itt_id id, struct hwi_itt_string *name, int scope)
{
  (void)clock;
  (void)time;
  marker(domain, id, name, scope);
}

static void thread_set_name(const char *name)
{
  if (name)
    hwi_record_thread_name(name);
}

static int thr_name_set(const char *name, int bytes)
{
  char text[HWI_OS_NAME_BYTES] = {0};
  if (!name || bytes <= 0)
    return 0;
  memcpy(text, name, strnlen(name, (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1));
  thread_set_name(text);
  return 0;
}

static unsigned long long get_timestamp(void)
{
  return hwi_os_monotonic_ns();
}

/* Times that the program measures itself are ignored, so that one clock is enough. */
static struct hwi_itt_clock *clock_domain_create(void *function, void *data)
{
  static struct hwi_itt_clock clock;
  (void)function;
  (void)data;
  return &clock;
}

static const char *api_version(void)
{
  return "heapwright";
}

/* --- the start --- */

typedef void any_function(void);

static const struct {
  const char *name; /* without "__itt_" */
  any_function *function;
} implemented[] = {
    {"domain_create", (any_function *)hwi_itt_domain_of},
    {"string_handle_create", (any_function *)hwi_itt_string_of},
    {"task_begin", (any_function *)task_begin},
    {"task_begin_ex", (any_function *)task_begin_ex},
    {"task_begin_fn", (any_function *)task_begin_fn},
    {"task_begin_fn_ex", (any_function *)task_begin_fn_ex},
    {"task_end", (any_function *)task_end},
    {"task_end_ex", (any_function *)task_end_ex},
    {"task_begin_overlapped", (any_function *)task_begin_overlapped},
    {"task_begin_overlapped_ex", (any_function *)task_begin_overlapped_ex},
    {"task_end_overlapped", (any_function *)task_end_overlapped},
    {"task_end_overlapped_ex", (any_function *)task_end_overlapped_ex},
    {"region_begin", (any_function *)region_begin},
    {"region_end", (any_function *)region_end},
    {"frame_begin_v3", (any_function *)frame_begin_v3},
    {"frame_end_v3", (any_function *)frame_end_v3},
    {"frame_create", (any_function *)hwi_itt_domain_of},
    {"frame_begin", (any_function *)frame_begin},
    {"frame_end", (any_function *)frame_end},
    {"event_create", (any_function *)event_create},
    {"event_start", (any_function *)event_start},
    {"event_end", (any_function *)event_end},
    {"marker", (any_function *)marker},
    {"marker_ex", (any_function *)marker_ex},
    {"counter_create", (any_function *)hwi_itt_counter_of},
    {"counter_create_typed", (any_function *)hwi_itt_counter_of_type},
    {"counter_create_v3", (any_function *)hwi_itt_counter_of_domain},
    {"counter_set_value", (any_function *)hwi_itt_counter_set},
    {"counter_set_value_v3", (any_function *)hwi_itt_counter_set},
    {"counter_set_value_ex", (any_function *)hwi_itt_counter_set_at},
    {"counter_inc", (any_function *)hwi_itt_counter_increase},
    {"counter_dec", (any_function *)hwi_itt_counter_decrease},
    {"counter_inc_delta", (any_function *)hwi_itt_counter_increase_by},
    {"counter_dec_delta", (any_function *)hwi_itt_counter_decrease_by},
    {"counter_inc_v3", (any_function *)hwi_itt_named_increase},
    {"counter_dec_v3", (any_function *)hwi_itt_named_decrease},
    {"counter_inc_delta_v3", (any_function *)hwi_itt_named_increase_by},
    {"counter_dec_delta_v3", (any_function *)hwi_itt_named_decrease_by},
    {"heap_function_create", (any_function *)hwi_itt_heap_of},
    {"heap_allocate_end", (any_function *)hwi_itt_heap_allocated},
    {"heap_free_begin", (any_function *)hwi_itt_heap_freeing},
    {"heap_reallocate_begin", (any_function *)hwi_itt_heap_reallocating},
    {"heap_reallocate_end", (any_function *)hwi_itt_heap_reallocated},
    {"thread_set_name", (any_function *)thread_set_name},
    {"thr_name_set", (any_function *)thr_name_set},
    {"get_timestamp", (any_function *)get_timestamp},
    {"clock_domain_create", (any_function *)clock_domain_create},
    {"api_version", (any_function *)api_version},
};

static any_function *find(const char *name)
{
  static const char prefix[] = "__itt_";
  if (strncmp(name, prefix, sizeof prefix - 1) != 0)
    return NULL;
  for (size_t i = 0; i < sizeof implemented / sizeof *implemented; i++)
    if (strcmp(implemented[i].name, name + sizeof prefix - 1) == 0)
      return implemented[i].function;
  return NULL;
}

/* Earlier versions have a list of another layout. */
static bool is_known(const struct hwi_itt_program *program)
{
  enum { OLD_BUILD = 20101001 };
  return memcmp(program->magic, HWI_ITT_MAGIC, HWI_ITT_MAGIC_BYTES) == 0 && program->build > OLD_BUILD;
}

/* What the program made before it had a collector. Domains of early versions are off until a collector switches them on;
 * later, only the program switches them off. Versions whose counters have a static part have a list of them. */
static void adopt(struct hwi_itt_program *program)
{
  enum { LAST_BUILD_WITH_DOMAINS_OFF = 20111111 };
  for (struct hwi_itt_domain *domain = program->domains; domain; domain = domain->next) {
    const char *name = atomic_load_explicit(&domain->name, memory_order_relaxed);
    bool is_ignored = name && hwi_domain_is_ignored(name);
    if (is_ignored || program->build <= LAST_BUILD_WITH_DOMAINS_OFF)
      atomic_store_explicit(&domain->flags, !is_ignored, memory_order_relaxed);
  }
  for (const struct hwi_itt_function *at = program->functions; at->name; at++)
    if (at->without && strcmp(at->name, "__itt_counter_create") == 0)
      hwi_itt_counters_adopt(program->counters);
}

/* The static part calls this once, with a lock that makes other threads wait. `groups`: the functions that the program
 * wants. A library that was loaded for this alone records what the program states, without its calls of malloc. */
void __itt_api_init(struct hwi_itt_program *program, unsigned int groups);
__attribute__((visibility("default"))) void __itt_api_init(struct hwi_itt_program *program, unsigned int groups)
{
  if (!program || !is_known(program))
    return;
  const bool is_recorder = hwi_stream_begin_for_collector();
  if (is_recorder)
    adopt(program);
  for (struct hwi_itt_function *at = program->functions; at->name; at++) {
    any_function *function = is_recorder && at->group & groups ? find(at->name) : NULL;
    if (is_recorder && !function)
      function = hwi_itt_ignored(at->name);
    __atomic_store_n(at->called, function ? (void *)(uintptr_t)function : at->without, __ATOMIC_RELEASE);
  }
}
