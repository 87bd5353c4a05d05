/* library.c - libheapwright-annotate.so: annotate.h around the malloc that comes next in the search order
 *
 * Settings from the environment (docs/annotate.md): HEAPWRIGHT_FRAMES, HEAPWRIGHT_INLINE, HEAPWRIGHT_RED_ZONE,
 * HEAPWRIGHT_KEEP_FREED, HEAPWRIGHT_REPORT_DAMAGE.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/module.h"
#include "annotate/stack.h"
#include "base/base_name.h"
#include "base/size_text.h"
#include "base/text.h"
#include "heapwright/allocator.h"
#include "platform/os.h"

enum { PLAIN_ALIGN = 16, KEPT_MAX = 1 << 16, RED_ZONE_MAX = 1 << 20, FRAMES_DEFAULT = 16 };

/* --- the malloc beneath --- */

#ifdef HW_STATIC
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
#endif

static struct {
  void *(*malloc)(size_t bytes);
  void *(*calloc)(size_t count, size_t bytes);
  void *(*realloc)(void *memory, size_t bytes);
  void *(*memalign)(size_t align, size_t bytes);
  void (*free)(void *memory);
  int (*dlclose)(void *handle);
} next;

static inline __attribute__((always_inline)) void *next_alloc(size_t bytes, size_t align)
{
  return __builtin_expect(align <= PLAIN_ALIGN, 1) ? next.malloc(bytes) : next.memalign(align, bytes);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table of stacks and of the kept blocks */

static uint64_t new_key(void)
{
  uint64_t key;
  hwi_os_random(&key, sizeof key);
  return key;
}

struct hw_annotate_incident;
static void report(const struct hw_annotate_incident *incident);

#define HW_ANNOTATE_ALIGN PLAIN_ALIGN
#define HW_ANNOTATE_ALLOC(bytes, align) next_alloc(bytes, align)
#define HW_ANNOTATE_FREE(memory) next.free(memory)
#define HW_ANNOTATE_FRAMES HWI_ANNOTATE_FRAMES_MAX
#define HW_ANNOTATE_STACK() 0
#define HW_ANNOTATE_CHUNK_LOG2 20
#define HW_ANNOTATE_CHUNKS 2048
#define HW_ANNOTATE_CHUNK(index) ((void)(index), hwi_os_map((size_t)1 << HW_ANNOTATE_CHUNK_LOG2))
#define HW_ANNOTATE_BUCKETS 65536
#define HW_ANNOTATE_KEY() new_key()
#define HW_ANNOTATE_THREAD() hwi_os_tid()
#define HW_ANNOTATE_LOCK() pthread_mutex_lock(&lock)
#define HW_ANNOTATE_UNLOCK() pthread_mutex_unlock(&lock)
#define HW_ANNOTATE_INCIDENT(incident) report(incident)
#include "heapwright/annotate.h"

/* --- settings --- */

static struct {
  uint64_t kept_bytes_max; /* of freed blocks; 0: they are not kept */
  bool reports_damage;
  bool is_plain; /* blocks have nothing but a header, and are not kept */
} settings;

static const char *value_of(const char *name)
{
  return hwi_os_is_privileged() ? NULL : hw_allocator_getenv(name);
}

static uint64_t size_setting(const char *name, uint64_t max, uint64_t otherwise)
{
  const char *value = value_of(name);
  uint64_t bytes;
  return value && hwi_size_parse(value, &bytes) ? (bytes < max ? bytes : max) : otherwise;
}

static bool flag_setting(const char *name)
{
  const char *value = value_of(name);
  return value && value[0] == '1' && !value[1];
}

static void begin(void)
{
  struct hw_annotate_root *root = &hw_annotate_state;
  root->frames_max = (uint32_t)size_setting("HEAPWRIGHT_FRAMES", HWI_ANNOTATE_FRAMES_MAX, FRAMES_DEFAULT);
  if (!root->frames_max)
    root->frames_max = 1;
  root->is_inline = flag_setting("HEAPWRIGHT_INLINE");
  root->red_zone_bytes = (uint32_t)size_setting("HEAPWRIGHT_RED_ZONE", RED_ZONE_MAX, 0);
  settings.kept_bytes_max = size_setting("HEAPWRIGHT_KEEP_FREED", UINT64_MAX, 0);
  settings.reports_damage = flag_setting("HEAPWRIGHT_REPORT_DAMAGE");
  settings.is_plain = !root->is_inline && !root->red_zone_bytes && !settings.kept_bytes_max;
  root->covers_all = 1;
  hwi_stack_init(root->frames_max);
  hw_annotate_begin_now();
#ifdef HW_STATIC
  next.malloc = __libc_malloc;
  next.calloc = __libc_calloc;
  next.realloc = __libc_realloc;
  next.memalign = __libc_memalign;
  next.free = __libc_free;
#else
  next.dlclose = (int (*)(void *))hwi_os_symbol_after("dlclose");
  next.calloc = (void *(*)(size_t, size_t))hwi_os_symbol_after("calloc");
  next.realloc = (void *(*)(void *, size_t))hwi_os_symbol_after("realloc");
  next.memalign = (void *(*)(size_t, size_t))hwi_os_symbol_after("memalign");
  next.free = (void (*)(void *))hwi_os_symbol_after("free");
  next.malloc = (void *(*)(size_t))hwi_os_symbol_after("malloc");
#endif
}

/* --- the caller --- */

uint32_t hwi_stack_number(const uintptr_t *frames, uint32_t count)
{
  return hw_annotate_stack(frames, count);
}

#ifdef HW_STATIC
#define OWN_BEGIN "__start_hwi_annotate_text"
#define OWN_END "__stop_hwi_annotate_text"
#else
#define OWN_BEGIN "__ehdr_start"
#define OWN_END "etext"
#endif

extern const char own_begin[] __asm__(OWN_BEGIN) __attribute__((visibility("hidden")));
extern const char own_end[] __asm__(OWN_END) __attribute__((visibility("hidden")));

static bool is_own(uintptr_t pc)
{
  return pc - (uintptr_t)own_begin < (uintptr_t)own_end - (uintptr_t)own_begin;
}

/* The stack begins at the function that called an entry point. In between are at most this library's own functions, which have
 * frame pointers. */
#define STACK_HERE() stack_of(HWI_ARCH_CALLER_PC(), HWI_ARCH_CALLER_SP(), HWI_ARCH_CALLER_BP())

static inline __attribute__((always_inline)) uint32_t stack_of(uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  while (__builtin_expect(is_own(pc), 0)) {
    if (HWI_ARCH_RECORDS_END_FRAMES) {
      const uintptr_t *record = (const uintptr_t *)(bp + (uintptr_t)(intptr_t)HWI_ARCH_RECORD_OFF);
      pc = record[1];
      sp = (uintptr_t)(record + 2);
      bp = record[0];
    } else if (!hwi_stack_step(&pc, &sp, &bp)) {
      return 0;
    }
  }
  return hwi_stack_of(pc, sp, bp);
}

/* --- reports of incidents --- */

static void add_address(struct hwi_text *text, uint64_t address)
{
  char digits[17] = {0}, *first = digits + 16;
  do
    *--first = "0123456789abcdef"[address & 15];
  while (address >>= 4);
  hwi_text_add(text, "0x");
  hwi_text_add(text, first);
}

static void add_frame(struct hwi_text *text, uintptr_t pc)
{
  struct hwi_os_module module;
  hwi_text_add(text, "    ");
  if (hwi_module_find(pc - 1, &module)) {
    hwi_text_add(text, *module.path ? hwi_base_name(module.path) : "program");
    hwi_text_add(text, "+");
    pc -= module.bias;
  }
  add_address(text, pc);
  hwi_text_add(text, "\n");
}

static void add_stack(struct hwi_text *text, const char *title, uint32_t stack)
{
  const struct hw_annotate_entry *entry = stack ? hw_annotate_entry_of(stack) : NULL;
  hwi_text_add(text, title);
  for (uint32_t i = 0; entry && i < entry->count; i++)
    add_frame(text, entry->frames[i]);
}

static const char *const fault_texts[] = {
    [HW_ANNOTATE_DAMAGED] = "free of what is not a block, or a block whose header was overwritten",
    [HW_ANNOTATE_FREED_TWICE] = "free of a block that is free",
    [HW_ANNOTATE_OVERRUN] = "written beyond the end of a block",
    [HW_ANNOTATE_WRITTEN_AFTER_FREE] = "written to a block after it was freed",
};

static void report(const struct hw_annotate_incident *incident)
{
  char line[4096];
  struct hwi_text text = hwi_text_begin(line, sizeof line);
  const void *block = (const void *)(uintptr_t)incident->block;
  if (!settings.reports_damage)
    return;
  hwi_text_add(&text, "heapwright: ");
  hwi_text_add(&text, fault_texts[incident->fault]);
  hwi_text_add(&text, ": block ");
  add_address(&text, incident->block);
  if (incident->fault != HW_ANNOTATE_DAMAGED) {
    hwi_text_add(&text, " of ");
    hwi_text_add_number(&text, hw_annotate_size(block));
    hwi_text_add(&text, " bytes, at byte ");
    hwi_text_add_number(&text, incident->fault == HW_ANNOTATE_FREED_TWICE ? 0 : incident->at - incident->block);
  }
  hwi_text_add(&text, "\n");
  if (incident->fault != HW_ANNOTATE_DAMAGED)
    add_stack(&text, "  allocated by\n", hw_annotation_of(block)->stack);
  if (incident->stack)
    add_stack(&text, "  freed by\n", incident->stack);
  hwi_os_say(line, text.bytes);
}

/* --- freed blocks that are kept, poisoned --- */

static struct {
  void **blocks; /* a ring of KEPT_MAX */
  uint64_t first, count, bytes;
} kept;

/* Gives a block back that was kept. */
static void release(void *block)
{
  const unsigned char *wrong = hw_annotate_other(block, HW_ANNOTATE_POISON_BYTE, hw_annotate_size(block));
  if (wrong)
    hw_annotate_note(HW_ANNOTATE_WRITTEN_AFTER_FREE, block, wrong, 0);
  next.free(hw_annotate_memory_of(block));
}

/* Takes the oldest block out, or NULL. */
static void *take_oldest(bool all)
{
  void *oldest = NULL;
  pthread_mutex_lock(&lock);
  if (kept.count && (all || kept.bytes > settings.kept_bytes_max || kept.count == KEPT_MAX)) {
    oldest = kept.blocks[kept.first++ % KEPT_MAX];
    kept.count--;
    kept.bytes -= hw_annotate_size(oldest);
  }
  pthread_mutex_unlock(&lock);
  return oldest;
}

static bool add_kept(void *block)
{
  pthread_mutex_lock(&lock);
  if (!kept.blocks)
    kept.blocks = hwi_os_map(KEPT_MAX * sizeof *kept.blocks);
  const bool is_added = kept.blocks && kept.count < KEPT_MAX;
  if (is_added) {
    kept.blocks[(kept.first + kept.count++) % KEPT_MAX] = block;
    kept.bytes += hw_annotate_size(block);
  }
  pthread_mutex_unlock(&lock);
  return is_added;
}

static __attribute__((noinline)) void keep(void *block)
{
  void *oldest;
  memset(block, HW_ANNOTATE_POISON_BYTE, hw_annotate_size(block));
  if (!add_kept(block))
    release(block);
  while ((oldest = take_oldest(false)))
    release(oldest);
}

/* --- at exit --- */

enum { WINDOW_BYTES = 1 << 16 };

static void check_zone(uintptr_t address, const struct hw_annotation *header)
{
  const size_t zone_bytes = hw_annotate_state.red_zone_bytes;
  const size_t size = header->meta & ((UINT64_C(1) << HW_ANNOTATE_SIZE_BITS) - 1);
  unsigned char bytes[256];
  for (size_t off = 0; off < zone_bytes; off += sizeof bytes) {
    const size_t count = zone_bytes - off < sizeof bytes ? zone_bytes - off : sizeof bytes;
    if (hwi_os_copy_memory(bytes, address + size + off, count) != count)
      return;
    const unsigned char *wrong = hw_annotate_other(bytes, HW_ANNOTATE_RED_BYTE, count);
    if (!wrong)
      continue;
    hw_annotate_note(HW_ANNOTATE_OVERRUN, (const void *)address,
                     (const void *)(address + size + off + (size_t)(wrong - bytes)), 0);
    return;
  }
}

/* Other threads may go on. */
static void check_mapping(void *window, uintptr_t start, uintptr_t end)
{
  size_t count;
  for (uintptr_t at = start;
       at < end && (count = hwi_os_copy_memory(window, at, end - at < WINDOW_BYTES ? end - at : WINDOW_BYTES));
       at += count)
    for (size_t off = 0; off + PLAIN_ALIGN <= count; off += PLAIN_ALIGN) {
      const struct hw_annotation *header = (const struct hw_annotation *)((const char *)window + off);
      const uintptr_t block = at + off + HW_ANNOTATE_HEADER_BYTES;
      if (header->meta >> HW_ANNOTATE_MARK_SHIFT == HW_ANNOTATE_MARK &&
          header->check == hw_annotate_check(hw_annotate_state.key, block, header->stack, header->meta))
        check_zone(block, header);
    }
}

static __attribute__((destructor)) void check_all(void)
{
  void *block, *window;
  if (!settings.reports_damage)
    return;
  while ((block = take_oldest(true)))
    release(block);
  window = hw_annotate_state.red_zone_bytes ? hwi_os_map(WINDOW_BYTES) : NULL;
  if (!window)
    return;
  hwi_os_writable_mappings(check_mapping, window);
  hwi_os_unmap(window, WINDOW_BYTES);
}

/* --- the allocator --- */

static inline __attribute__((always_inline)) void *annotated_alloc(size_t size, size_t align)
{
  return hw_annotate_allocate(size, align, STACK_HERE());
}

static inline __attribute__((always_inline)) void *annotated_zeroed(size_t size, size_t align)
{
  const size_t front = hw_annotate_state.front_bytes, around = front + hw_annotate_state.red_zone_bytes;
  (void)align; /* PLAIN_ALIGN */
  const uint32_t stack = STACK_HERE();
  char *memory = size > (size_t)PTRDIFF_MAX - around ? NULL : next.calloc(1, size + around);
  if (!memory)
    return NULL;
  hw_annotate_write(memory + front, size, 0, stack);
  return memory + front;
}

/* Gives memory to the allocator beneath. The empty instruction after it prevents a tail call: a reader of the process's memory in this
 * moment finds this library on the thread's stack, and knows why the block has no sound header. */
static inline __attribute__((always_inline)) void give_back(void *memory)
{
  next.free(memory);
  __asm__ volatile("");
}

static __attribute__((noinline)) void annotated_free(void *block)
{
  if (!hw_annotate_is_sound(block, STACK_HERE()))
    return;
  hw_annotate_retire(block);
  if (settings.kept_bytes_max)
    keep(block);
  else
    give_back(hw_annotate_memory_of(block));
}

static size_t annotated_size(void *block)
{
  return hw_annotate_size(block);
}

static void *move(void *block, size_t size, uint32_t stack)
{
  const size_t old_bytes = hw_annotate_size(block);
  void *moved = hw_annotate_allocate(size, PLAIN_ALIGN, stack);
  if (!moved)
    return NULL;
  memcpy(moved, block, old_bytes < size ? old_bytes : size);
  annotated_free(block);
  return moved;
}

/* The old header is made invalid first: where the allocator moves the block, it may stay in free memory. */
static inline __attribute__((always_inline)) void *annotated_realloc(void *block, size_t size)
{
  const uint32_t stack = STACK_HERE();
  const size_t front = hw_annotate_state.front_bytes, around = front + hw_annotate_state.red_zone_bytes;
  if (!hw_annotate_is_sound(block, stack) || size > (size_t)PTRDIFF_MAX - around)
    return NULL;
  const struct hw_annotation old = *hw_annotation_of(block);
  if (settings.kept_bytes_max || (old.meta >> HW_ANNOTATE_ALIGN_SHIFT & 63))
    return move(block, size, stack);
  hw_annotate_retire(block);
  char *memory = next.realloc((char *)block - front, size + around);
  if (memory)
    hw_annotate_write(memory + front, size, 0, stack);
  else
    hw_annotate_write(block, hw_annotate_size(block), 0, old.stack);
  return memory ? memory + front : NULL;
}

/* --- the fast paths, for blocks with nothing but a header --- */

/* Of blocks that are reached by these paths, in bytes. */
enum { QUICK_MAX = 1 << 30 };

static inline __attribute__((always_inline)) void *quick_alloc(size_t size, void *(*otherwise)(size_t size))
{
  const struct hwi_stack_memo *memo =
      hwi_stack_memo_of(HWI_ARCH_CALLER_PC(), HWI_ARCH_CALLER_SP(), HWI_ARCH_CALLER_BP());
  if (!memo || !settings.is_plain || size - 1 >= QUICK_MAX || !hwi_stack_is_same(memo))
    return otherwise(size);
  char *memory = next.malloc(size + HW_ANNOTATE_HEADER_BYTES);
  if (__builtin_expect(!memory, 0))
    return otherwise(size);
  struct hw_annotation *header = (struct hw_annotation *)memory;
  const uint64_t meta = size | (uint64_t)HW_ANNOTATE_MARK << HW_ANNOTATE_MARK_SHIFT;
  header->check = hw_annotate_check(hw_annotate_state.key, (uintptr_t)(header + 1), memo->stack, meta);
  header->stack = memo->stack;
  header->meta = meta;
  return header + 1;
}

static inline __attribute__((always_inline)) void quick_free(void *block, void (*otherwise)(void *block))
{
  struct hw_annotation *header = hw_annotation_of(block);
  const uint64_t plain = (uint64_t)HW_ANNOTATE_MARK << (HW_ANNOTATE_MARK_SHIFT - HW_ANNOTATE_ALIGN_SHIFT);
  if (__builtin_expect(!block || !settings.is_plain || hw_boot_owns(block) ||
                           header->meta >> HW_ANNOTATE_ALIGN_SHIFT != plain ||
                           header->check != hw_annotate_check_of(block),
                       0)) {
    otherwise(block);
    return;
  }
  header->check = ~header->check;
  give_back(header);
}

/* --- unloading: other code may come to the addresses of a module --- */

#ifndef HW_STATIC
__attribute__((visibility("default"))) int dlclose(void *handle)
{
  hw_is_begun();
  const int result = next.dlclose(handle);
  hwi_stack_forget_code();
  return result;
}
#endif

/* --- forks, threads --- */

static void before_fork(void)
{
  pthread_mutex_lock(&lock);
}

static void after_fork(bool is_child)
{
  (void)is_child;
  pthread_mutex_unlock(&lock);
}

static void thread_begins(void)
{
  hwi_stack_thread_begin();
}

static void thread_ends(void)
{
  hwi_stack_thread_end();
}

HEAPWRIGHT_ALLOCATOR(.alloc = annotated_alloc, .free = annotated_free, .usable_size = annotated_size,
                     .alloc_zeroed = annotated_zeroed, .realloc = annotated_realloc, .init = begin,
                     .quick_alloc = quick_alloc, .quick_free = quick_free, .keeps_errno = true,
                     .thread_init = thread_begins, .thread_exit = thread_ends, .before_fork = before_fork,
                     .after_fork = after_fork);
