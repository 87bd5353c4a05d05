/* nvtx.c - the recorder as a collector of NVTX: ranges of programs become scopes, their marks and thread names the
 * recording's
 *
 * NVTX is compiled into each program or library that uses it. At its first call it loads the library that
 * NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2, which puts our functions where the program calls them;
 * so that is called once for each such program and library. Functions that are not in the lists below stay as they are
 * without a collector.
 *
 * A pushed range belongs to one thread, and those of a domain nest. A started range may end in any order and in other
 * threads: its key is loose (keyed_scopes.h).
 *
 * Handles of domains and of registered strings are numbers of names (scope_names.h): nothing is stored for them.
 */
#include <stdatomic.h>

#include "platform/os.h"
#include "record/collectors/domains.h"
#include "record/collectors/keyed_scopes.h"
#include "record/collectors/nvtx_abi.h"
#include "record/collectors/nvtx_texts.h"
#include "record/events/scope_names.h"
#include "record/events/scopes.h"
#include "record/events/stream.h"
#include "record/record.h"

/* --- domains --- */

/* A handle is the number of the domain's name, with this bit if the user switched the domain off. 0: the default domain,
 * which has no name. */
enum { DOMAIN_IS_OFF = HWI_NAME_LIMIT };

static _Atomic(bool) default_domain_is_off;

static uintptr_t domain_of(uint32_t name)
{
  return name && hwi_domain_is_ignored(hwi_names_text(name)) ? name | DOMAIN_IS_OFF : name;
}

static bool is_on(uintptr_t domain)
{
  return domain ? !(domain & DOMAIN_IS_OFF) : !atomic_load_explicit(&default_domain_is_off, memory_order_relaxed);
}

static uintptr_t domain_create_a(const char *name)
{
  return domain_of(hwi_nvtx_name(name, 0));
}

static uintptr_t domain_create_w(const wchar_t *name)
{
  return domain_of(hwi_nvtx_wide_name(name, 0));
}

static uintptr_t domain_register_string_a(uintptr_t domain, const char *text)
{
  (void)domain;
  return hwi_nvtx_name(text, 0);
}

static uintptr_t domain_register_string_w(uintptr_t domain, const wchar_t *text)
{
  (void)domain;
  return hwi_nvtx_wide_name(text, 0);
}

/* The name of what has no message. */
static uint32_t name_without_message(uintptr_t domain)
{
  return hwi_names_have((uint32_t)domain) ? (uint32_t)domain : hwi_names_number("range");
}

static uint32_t event_name(uintptr_t domain, const struct hwi_nvtx_event *event)
{
  uint32_t name = hwi_nvtx_message(event, 0);
  return name ? name : name_without_message(domain);
}

/* --- keys of scopes --- */

/* The lowest bits distinguish these keys from those of other collectors: pointers and numbers with other lowest bits. */
enum { RANGE_BIT = 2, KEY_SHIFT = 8 };

static uint64_t domain_key(uintptr_t domain)
{
  return (uint64_t)domain << KEY_SHIFT | RANGE_BIT;
}

static uint64_t range_key(uint64_t range)
{
  return range << KEY_SHIFT | RANGE_BIT | HWI_KEY_IS_LOOSE;
}

static int begin(uint32_t name, uint64_t key, const struct hwi_nvtx_event *event)
{
  uint64_t number = 0;
  bool has_number = hwi_nvtx_payload(event, &number);
  return hwi_keyed_scope_begin_with(name, key, has_number ? HW_SCOPE_BEGIN_NUMBER : HW_SCOPE_BEGIN, number);
}

/* --- ranges of one thread --- */

static int domain_range_push_ex(uintptr_t domain, const struct hwi_nvtx_event *event)
{
  return is_on(domain) ? begin(event_name(domain, event), domain_key(domain), event) : HWI_LEVEL_UNKNOWN;
}

static int domain_range_pop(uintptr_t domain)
{
  return is_on(domain) ? hwi_keyed_scope_end(domain_key(domain)) : HWI_LEVEL_UNKNOWN;
}

static int range_push_ex(const struct hwi_nvtx_event *event)
{
  return domain_range_push_ex(0, event);
}

static int range_push_a(const char *message)
{
  const struct hwi_nvtx_event event = {.message_type = HWI_NVTX_MESSAGE_ASCII, .message.ascii = message};
  return domain_range_push_ex(0, &event);
}

static int range_push_w(const wchar_t *message)
{
  const struct hwi_nvtx_event event = {.message_type = HWI_NVTX_MESSAGE_WIDE, .message.wide = message};
  return domain_range_push_ex(0, &event);
}

static int range_pop(void)
{
  return domain_range_pop(0);
}

/* --- ranges that may end in another thread --- */

static uint64_t domain_range_start_ex(uintptr_t domain, const struct hwi_nvtx_event *event)
{
  static _Atomic uint64_t started;
  uint64_t range = atomic_fetch_add_explicit(&started, 1, memory_order_relaxed) + 1; /* 0 is none */
  if (is_on(domain))
    begin(event_name(domain, event), range_key(range), event);
  return range;
}

static void domain_range_end(uintptr_t domain, uint64_t range)
{
  if (is_on(domain) && range)
    hwi_keyed_scope_end(range_key(range));
}

static uint64_t range_start_ex(const struct hwi_nvtx_event *event)
{
  return domain_range_start_ex(0, event);
}

static uint64_t range_start_a(const char *message)
{
  const struct hwi_nvtx_event event = {.message_type = HWI_NVTX_MESSAGE_ASCII, .message.ascii = message};
  return domain_range_start_ex(0, &event);
}

static uint64_t range_start_w(const wchar_t *message)
{
  const struct hwi_nvtx_event event = {.message_type = HWI_NVTX_MESSAGE_WIDE, .message.wide = message};
  return domain_range_start_ex(0, &event);
}

static void range_end(uint64_t range)
{
  domain_range_end(0, range);
}

/* --- marks, names of threads --- */

static void domain_mark_ex(uintptr_t domain, const struct hwi_nvtx_event *event)
{
  if (is_on(domain))
    hwi_scope_note(event_name(domain, event), HW_SCOPE_MARK, 0);
}

static void mark_ex(const struct hwi_nvtx_event *event)
{
  domain_mark_ex(0, event);
}

static void mark_a(const char *message)
{
  const struct hwi_nvtx_event event = {.message_type = HWI_NVTX_MESSAGE_ASCII, .message.ascii = message};
  domain_mark_ex(0, &event);
}

static void mark_w(const wchar_t *message)
{
  const struct hwi_nvtx_event event = {.message_type = HWI_NVTX_MESSAGE_WIDE, .message.wide = message};
  domain_mark_ex(0, &event);
}

/* The recorder can name the calling thread only. A sealed thread must not ask for its ID. */
static void name_os_thread_a(uint32_t tid, const char *name)
{
  if (name && !hwi_os_is_sealed() && tid == hwi_os_tid())
    hwi_record_thread_name(name);
}

static void name_os_thread_w(uint32_t tid, const wchar_t *name)
{
  char narrow[HWI_OS_NAME_BYTES];
  if (!name)
    return;
  hwi_wide_to_utf8(narrow, sizeof narrow, name);
  name_os_thread_a(tid, narrow);
}

/* --- the start --- */

static hwi_nvtx_function *const core[] = {
    [HWI_NVTX_MARK_EX] = (hwi_nvtx_function *)mark_ex,
    [HWI_NVTX_MARK_A] = (hwi_nvtx_function *)mark_a,
    [HWI_NVTX_MARK_W] = (hwi_nvtx_function *)mark_w,
    [HWI_NVTX_RANGE_START_EX] = (hwi_nvtx_function *)range_start_ex,
    [HWI_NVTX_RANGE_START_A] = (hwi_nvtx_function *)range_start_a,
    [HWI_NVTX_RANGE_START_W] = (hwi_nvtx_function *)range_start_w,
    [HWI_NVTX_RANGE_END] = (hwi_nvtx_function *)range_end,
    [HWI_NVTX_RANGE_PUSH_EX] = (hwi_nvtx_function *)range_push_ex,
    [HWI_NVTX_RANGE_PUSH_A] = (hwi_nvtx_function *)range_push_a,
    [HWI_NVTX_RANGE_PUSH_W] = (hwi_nvtx_function *)range_push_w,
    [HWI_NVTX_RANGE_POP] = (hwi_nvtx_function *)range_pop,
    [HWI_NVTX_NAME_OS_THREAD_A] = (hwi_nvtx_function *)name_os_thread_a,
    [HWI_NVTX_NAME_OS_THREAD_W] = (hwi_nvtx_function *)name_os_thread_w,
};

static hwi_nvtx_function *const core2[] = {
    [HWI_NVTX_DOMAIN_MARK_EX] = (hwi_nvtx_function *)domain_mark_ex,
    [HWI_NVTX_DOMAIN_RANGE_START_EX] = (hwi_nvtx_function *)domain_range_start_ex,
    [HWI_NVTX_DOMAIN_RANGE_END] = (hwi_nvtx_function *)domain_range_end,
    [HWI_NVTX_DOMAIN_RANGE_PUSH_EX] = (hwi_nvtx_function *)domain_range_push_ex,
    [HWI_NVTX_DOMAIN_RANGE_POP] = (hwi_nvtx_function *)domain_range_pop,
    [HWI_NVTX_DOMAIN_REGISTER_STRING_A] = (hwi_nvtx_function *)domain_register_string_a,
    [HWI_NVTX_DOMAIN_REGISTER_STRING_W] = (hwi_nvtx_function *)domain_register_string_w,
    [HWI_NVTX_DOMAIN_CREATE_A] = (hwi_nvtx_function *)domain_create_a,
    [HWI_NVTX_DOMAIN_CREATE_W] = (hwi_nvtx_function *)domain_create_w,
};

enum { COUNT_CORE = sizeof core / sizeof *core, COUNT_CORE2 = sizeof core2 / sizeof *core2 };

static void attach(const struct hwi_nvtx_callbacks *callbacks, int module, hwi_nvtx_function *const ours[],
                   unsigned int our_count)
{
  hwi_nvtx_entry *entries = NULL;
  unsigned int count = 0;
  if (!callbacks->find_module(module, &entries, &count) || !entries)
    return;
  for (unsigned int i = 0; i < count && i < our_count; i++)
    if (ours[i] && entries[i])
      *entries[i] = ours[i];
}

/* NVTX makes other threads wait meanwhile, and prints an error if this returns 0. A library that was loaded for this alone
 * records what the program states, without its calls of malloc. */
int InitializeInjectionNvtx2(hwi_nvtx_find_table_fn *find_table);
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(hwi_nvtx_find_table_fn *find_table)
{
  const struct hwi_nvtx_callbacks *callbacks = find_table ? find_table(HWI_NVTX_TABLE_OF_CALLBACKS) : NULL;
  if (!callbacks || callbacks->bytes < sizeof *callbacks || !hwi_stream_begin_for_collector())
    return 1;
  atomic_store_explicit(&default_domain_is_off, hwi_domain_is_ignored(""), memory_order_relaxed);
  attach(callbacks, HWI_NVTX_MODULE_CORE, core, COUNT_CORE);
  attach(callbacks, HWI_NVTX_MODULE_CORE2, core2, COUNT_CORE2);
  return 1;
}
