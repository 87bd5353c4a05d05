/* entries_double.c - replaces the recorder below the entry points, and writes down what they report
 *
 * Between entries_begin() and entries_end() each report becomes a line in the file that ENTRIES_OUTPUT names:
 *   alloc|free|realloc|failed ENTRY SIZE ALIGN BLOCK OLD CALLER
 * Blocks are numbers; a new address gets the next number. CALLER is 1 if pc, sp and bp are those of the frame that the
 * program announced by entries_caller(), 0 if they differ, and - if none was announced. With ENTRIES_TIMED set, calls
 * are timed by a clock that advances by one with each reading, and each report is followed by
 *   took BLOCK UNITS         freed BLOCK UNITS     (the latter after the real free)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/events/event.h"
#include "record/record.h"
#include "record/runtime/boot.h"
#include "record/runtime/call_timer.h"
#include "record/runtime/foreign.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void entries_begin(void);
EXPORT void entries_end(void);
EXPORT void entries_caller(void *function, void *frame_low, void *frame_high);
EXPORT void *entries_boot_block(size_t size);
EXPORT void entries_foreign(void);

enum { LINES_MAX_BYTES = 1 << 20, BLOCKS_MAX = 4096, FUNCTION_MAX_BYTES = 4096 };

static char lines[LINES_MAX_BYTES];
static size_t used;
static bool is_on, is_timed;
static uintptr_t caller_function, caller_low, caller_high;
static uintptr_t blocks[BLOCKS_MAX];
static unsigned block_count;

#define ENTRY_NAME(id, name) #id,
static const char *const entry_names[] = {HW_ENTRY_LIST(ENTRY_NAME)};

/* --- no event takes the usual path here (see event.h): each calls hwi_record_* --- */

static const char never;
static struct hwi_address_space dead;
struct hwi_session hwi_session = {.liveness = &dead, .is_single_threaded = &never};
__thread struct hwi_thread_stream *hwi_stream_self;
_Atomic uintptr_t hwi_sampled_filter;

/* The entry points would call these for an event on the usual path. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NOT_CALLED(result, name, ...) \
  result name(__VA_ARGS__)            \
  {                                   \
    _exit(98);                        \
  }
NOT_CALLED(uint32_t, hwi_walk_slow, struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry,
           struct hwi_unchanged unchanged)
NOT_CALLED(uint32_t, hwi_walk_audited, struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry)
NOT_CALLED(void, hwi_stack_cache_copy_end, struct hwi_lane *lane, struct hwi_unchanged *unchanged)
NOT_CALLED(bool, hwi_stack_cache_verify_stem, const struct hwi_cached_stack *cached, uint32_t base,
           struct hwi_unchanged *unchanged)
NOT_CALLED(uint32_t, hwi_cached_stack_bps_unchanged, const struct hwi_cached_stack *cached, uint32_t first,
           uint32_t end)
NOT_CALLED(uint32_t, hwi_cached_stack_extra_unchanged, const struct hwi_cached_stack *cached, uint32_t first,
           uint32_t end)
NOT_CALLED(void, hwi_event_finish_alloc, struct hwi_lane *lane, struct hwi_allocation made)
NOT_CALLED(void, hwi_event_finish_free, struct hwi_lane *lane, struct hwi_pending_free whole)
#pragma GCC diagnostic pop

static void put_text(const char *text)
{
  size_t bytes = strlen(text);
  if (used + bytes > sizeof lines)
    _exit(99);
  memcpy(lines + used, text, bytes);
  used += bytes;
}

static void put_number(uint64_t number)
{
  char digits[24], *at = digits + sizeof digits;
  *--at = 0;
  do
    *--at = (char)('0' + number % 10);
  while (number /= 10);
  put_text(" ");
  put_text(at);
}

static unsigned block_number(const void *block)
{
  if (!block)
    return 0;
  for (unsigned i = 0; i < block_count; i++)
    if (blocks[i] == (uintptr_t)block)
      return i + 1;
  if (block_count == BLOCKS_MAX)
    _exit(98);
  blocks[block_count] = (uintptr_t)block;
  return ++block_count;
}

static void put_event(const char *kind, enum hw_entry entry, size_t size, size_t align, const void *block,
                      const void *old)
{
  put_text(kind);
  put_text(" ");
  put_text(entry_names[entry]);
  put_number(size);
  put_number(align);
  put_number(block_number(block));
  put_number(block_number(old));
}

static void put_caller(const struct hwi_caller *caller)
{
  bool is_right = caller->pc > caller_function && caller->pc < caller_function + FUNCTION_MAX_BYTES &&
                  caller->sp >= caller_low && caller->sp <= caller_high && caller->bp == caller_high;
  put_text(!caller_function ? " -\n" : is_right ? " 1\n" : " 0\n");
}

/* Duration of the call that returned `block`, if it is known. */
static void put_took(const void *block)
{
  uint64_t took = hwi_call_timer_took(block);
  if (!took)
    return;
  put_text("took");
  put_number(block_number(block));
  put_number(took - 1);
  put_text("\n");
}

uint64_t hwi_record_clock_in_order(void)
{
  static __thread uint64_t readings;
  return ++readings;
}

void hwi_record_freed(const void *block, uint64_t took)
{
  if (!is_on)
    return;
  put_text("freed");
  put_number(block_number(block));
  put_number(took - 1);
  put_text("\n");
}

void hwi_record_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align, void *block)
{
  if (!is_on)
    return;
  put_event("alloc", entry, size, align, block, NULL);
  put_caller(caller);
  put_took(block);
}

void hwi_record_free(uintptr_t caller_pc, enum hw_entry entry, void *block)
{
  if (!is_on)
    return;
  put_event("free", entry, 0, 0, block, NULL);
  bool is_right = caller_pc > caller_function && caller_pc < caller_function + FUNCTION_MAX_BYTES;
  put_text(!caller_function ? " -\n" : is_right ? " 1\n" : " 0\n");
}

uint64_t hwi_record_realloc_begin(void *old)
{
  (void)old;
  return 77;
}

void hwi_record_realloc_failed(void *old, uint64_t began)
{
  (void)old, (void)began;
}

void hwi_record_realloc(const struct hwi_caller *caller, const struct hwi_realloc *call)
{
  if (!is_on)
    return;
  put_event(call->began == 77 ? "realloc" : "realloc-without-begin", call->entry, call->size, 0, call->block,
            (void *)call->old);
  put_caller(caller);
  put_took(call->block);
}

void hwi_record_failed(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align)
{
  if (!is_on)
    return;
  put_event("failed", entry, size, align, NULL, NULL);
  put_caller(caller);
  put_took(NULL);
}

void hwi_record_before_tsc_is_forbidden(void)
{}

void hwi_record_before_seal(void)
{}

void hwi_record_after_seal(bool is_sealed)
{
  (void)is_sealed;
}

void hwi_record_thread_name(const char *name)
{
  (void)name;
}

void hwi_record_unloaded(void)
{
  if (is_on)
    put_text("unloaded\n");
}

void entries_begin(void)
{
  if (!is_timed && getenv("ENTRIES_TIMED")) {
    is_timed = true;
    hwi_call_timer_start();
  }
  is_on = true;
}

void entries_end(void)
{
  is_on = false;
}

/* The calls come from `function`. Its frame pointer is `frame_high`; its stack pointer is not below `frame_low`. */
void entries_caller(void *function, void *frame_low, void *frame_high)
{
  caller_function = (uintptr_t)function;
  caller_low = (uintptr_t)frame_low;
  caller_high = (uintptr_t)frame_high;
}

void *entries_boot_block(size_t size)
{
  return hwi_boot_alloc(size, HWI_BOOT_ALIGN);
}

static void put_note(enum hw_note note, const char *module)
{
  static const char *const names[] = {"", "own-malloc", "own-new", "boot-blocks"};
  const char *slash = strrchr(module, '/');
  put_text("note ");
  put_text(names[note]);
  put_text(" ");
  put_text(!*module ? "executable" : slash ? slash + 1 : module);
  put_text("\n");
}

void entries_foreign(void)
{
  hwi_foreign_find(put_note);
}

static __attribute__((destructor)) void write_lines(void)
{
  const char *path = getenv("ENTRIES_OUTPUT");
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (fd >= 0 && write(fd, lines, used) != (ssize_t)used)
    _exit(97);
}
