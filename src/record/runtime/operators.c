/* operators.c - operator new and delete in the cases that need more than the real malloc and free
 *
 * A new_handler and a foreign operator may throw. C cannot catch exceptions, but need not: the call must only be
 * counted as failed, and this thread's state restored. So the unwind information of the two functions that call such
 * code names our personality routine, which the C++ runtime calls while the exception passes. It depends on no other
 * library, and a longjmp over it only leaves a state that the next call on this thread replaces.
 */
#include "record/runtime/operators.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "platform/os.h"
#include "record/runtime/call_timer.h"
#include "record/runtime/redirected.h"

/* Does not use dlopen and dlsym, which allocate: this is called when there is no memory left. */
static void *seen_from(uintptr_t address, const char *symbol)
{
  return (void *)hwi_os_symbol_seen_from(address, symbol);
}

#define HW_CXX_SEEN_FROM seen_from
#include "heapwright/detail/cxx_runtime.h"

/* Values of _Unwind_Reason_Code and _Unwind_Action in the Itanium C++ ABI. */
enum { CONTINUE_UNWIND = 8, ACTION_CLEANUP_PHASE = 2 };

/* The data of an operator new or delete that is running on this thread, on its stack. */
struct operator_frame;

enum state {
  IDLE = 0,    /* no such operator runs */
  HANDLING,    /* a new_handler runs: every event is reported */
  NEW_RUNS,    /* a foreign new runs, and has not called malloc for its block yet */
  NEW_HOLDS,   /* ... and has made an allocation that may be its block, which is not reported yet */
  DELETE_RUNS, /* a foreign delete runs, and has not freed its block yet */
};

/* The innermost operator that is running on this thread. Small, because it is in thread-local storage. `frame` is
 * dereferenced only by the operator itself and while an exception passes it, so that an invalid one, after a longjmp
 * out of a handler, is never used. Calls made by the operator have lower stack pointers than `frame`. */
struct running {
  struct operator_frame *frame;
  size_t size; /* the operator's requested size */
  void *block; /* NEW_HOLDS: the unreported one; DELETE_RUNS: the operator's own */
  size_t held_size;
  uint8_t state;      /* enum state */
  uint8_t entry;      /* enum hw_entry of the operator */
  uint8_t held_entry; /* enum hw_entry of the unreported call */
};

struct operator_frame {
  struct running outer; /* the previous value of `running` */
  const struct hwi_new_call *call;
};

static __thread struct running running;

/* --- the modes --- */

uint8_t hwi_operator_modes[HW_ENTRY_COUNT];
bool hwi_operators_hold;

static enum hw_entry base_of(enum hw_entry entry)
{
  switch (entry) {
  case HW_ENTRY_NEW:
  case HW_ENTRY_NEW_ARRAY:
  case HW_ENTRY_NEW_NOTHROW:
  case HW_ENTRY_NEW_ARRAY_NOTHROW:
    return HW_ENTRY_NEW;
  case HW_ENTRY_NEW_ALIGNED:
  case HW_ENTRY_NEW_ARRAY_ALIGNED:
  case HW_ENTRY_NEW_ALIGNED_NOTHROW:
  case HW_ENTRY_NEW_ARRAY_ALIGNED_NOTHROW:
    return HW_ENTRY_NEW_ALIGNED;
  case HW_ENTRY_DELETE:
  case HW_ENTRY_DELETE_ARRAY:
  case HW_ENTRY_DELETE_NOTHROW:
  case HW_ENTRY_DELETE_ARRAY_NOTHROW:
  case HW_ENTRY_DELETE_SIZED:
  case HW_ENTRY_DELETE_ARRAY_SIZED:
    return HW_ENTRY_DELETE;
  default:
    return HW_ENTRY_DELETE_ALIGNED;
  }
}

/* Which module defines a function, as far as it matters here. */
enum definer { DEFINED_NOWHERE, DEFINED_BY_RUNTIME, DEFINED_WITH_MALLOC, DEFINED_ELSEWHERE };

static bool is_runtime(const char *path)
{
  static const char names[][16] = {"libstdc++.so", "libc++.so", "libc++abi.so", "libcxxrt.so"};
  const char *base = path;
  for (; *path; path++)
    if (*path == '/')
      base = path + 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strncmp(base, names[i], strlen(names[i])))
      return true;
  return false;
}

static enum definer definer_of(hwi_function *const next[], enum hw_entry entry)
{
  struct hwi_os_module module, malloc_module;
  if (!next[entry] || !hwi_os_find_module((uintptr_t)next[entry], &module))
    return DEFINED_NOWHERE;
  if (hwi_os_find_module((uintptr_t)next[HW_ENTRY_MALLOC], &malloc_module) && malloc_module.start == module.start)
    return DEFINED_WITH_MALLOC;
  return is_runtime(module.path) ? DEFINED_BY_RUNTIME : DEFINED_ELSEWHERE;
}

static enum hwi_operator_mode mode_of(hwi_function *const next[], enum hw_entry entry, bool operators_before,
                                      bool malloc_before)
{
  enum definer definer = definer_of(next, entry);
  if (definer == DEFINED_NOWHERE)
    return HWI_OPERATOR_OWN;
  if (operators_before)
    return HWI_OPERATOR_ASIDE;
  if (definer == DEFINED_ELSEWHERE)
    return HWI_OPERATOR_FOREIGN;
  if (definer == DEFINED_WITH_MALLOC)
    return HWI_OPERATOR_OWN;
  if (malloc_before) /* the runtime's operator calls the program's malloc, which we do not see */
    return entry == base_of(entry) ? HWI_OPERATOR_FOREIGN : HWI_OPERATOR_ASIDE;
  return definer_of(next, base_of(entry)) == DEFINED_ELSEWHERE ? HWI_OPERATOR_ASIDE : HWI_OPERATOR_OWN;
}

/* A redirected definition is below this library, wherever it is. */
static bool is_defined_before(enum hw_entry entry)
{
  const void *before = hwi_os_symbol_before(hwi_real_symbol(entry));
  return before && !hwi_redirected_at((uintptr_t)before);
}

void hwi_operators_plan(hwi_function *const next[])
{
  bool malloc_before = is_defined_before(HW_ENTRY_MALLOC), operators_before = false, some_hold = false;
  for (int entry = HW_ENTRY_NEW; entry < HW_ENTRY_COUNT; entry++)
    operators_before |= next[entry] && is_defined_before(entry);
  for (int entry = HW_ENTRY_NEW; entry < HW_ENTRY_COUNT; entry++) {
    hwi_operator_modes[entry] = mode_of(next, entry, operators_before, malloc_before);
    some_hold |= hwi_operator_modes[entry] == HWI_OPERATOR_FOREIGN;
  }
  hwi_operators_hold = some_hold;
}

/* --- failing --- */

static void begin(struct operator_frame *frame, const struct hwi_new_call *call, enum state state)
{
  *frame = (struct operator_frame){running, call};
  running = (struct running){.frame = frame, .size = call->size, .state = state, .entry = (uint8_t)call->entry};
}

/* Reports the allocation that was held back, since it is not the operator's block. It is reported with the operator's
 * stack, as its own is gone by now. */
static void release_held(void)
{
  if (running.state != NEW_HOLDS)
    return;
  running.state = NEW_RUNS;
  hwi_record_alloc(&running.frame->call->caller, running.held_entry, running.held_size, 0, running.block);
}

/* Called when an exception leaves the operator. It is found by its symbol, see NOTICE_EXCEPTIONS. */
int hwi_exception_passes(int version, int actions, uint64_t class, void *exception, void *context);

__attribute__((used)) int hwi_exception_passes(int version, int actions, uint64_t class, void *exception, void *context)
{
  (void)version, (void)class, (void)exception, (void)context;
  if (!(actions & ACTION_CLEANUP_PHASE))
    return CONTINUE_UNWIND;
  const struct hwi_new_call *call = running.frame->call;
  release_held();
  hwi_record_failed(&call->caller, call->entry, call->size, call->align);
  running = running.frame->outer;
  return CONTINUE_UNWIND;
}

/* Makes hwi_exception_passes the personality routine of the enclosing function. 0x1b: the address is relative and has
 * four bytes. */
#define NOTICE_EXCEPTIONS() __asm__ volatile(".cfi_personality 0x1b, hwi_exception_passes")

/* To be put after the call that may throw: a tail call would leave no frame to detect the exception with. */
#define KEEP_FRAME() __asm__ volatile("")

static __attribute__((noinline, noclone)) void call_new_handler(hw_new_handler *handler)
{
  NOTICE_EXCEPTIONS();
  handler();
  KEEP_FRAME();
}

static bool is_nothrow(enum hw_entry entry)
{
  return entry == HW_ENTRY_NEW_NOTHROW || entry == HW_ENTRY_NEW_ARRAY_NOTHROW ||
         entry == HW_ENTRY_NEW_ALIGNED_NOTHROW || entry == HW_ENTRY_NEW_ARRAY_ALIGNED_NOTHROW;
}

static bool is_power_of_two(size_t number)
{
  return number && !(number & (number - 1));
}

/* Rounds the size up as libstdc++ does, except that a size too large for this fails. */
void *hwi_operator_aligned_block(size_t align, size_t size)
{
  size_t bytes;
  if (!is_power_of_two(align))
    return NULL;
  if (__builtin_add_overflow(size ? size : 1, align - 1, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return HWI_REAL(ALIGNED_ALLOC, hwi_aligned_alloc_fn)(align, bytes & ~(align - 1));
}

/* --- own --- */

static void *own_block(const struct hwi_new_call *call)
{
  return call->align ? hwi_operator_aligned_block(call->align, call->size)
                     : HWI_REAL(MALLOC, hwi_malloc_fn)(call->size ? call->size : 1);
}

/* Calls another library's operator new with the arguments of ours. */
static inline __attribute__((always_inline)) void *call_new(hwi_function *new, const struct hwi_new_call *call)
{
  typedef void *new_fn(size_t);
  typedef void *nothrow_fn(size_t, const void *);
  typedef void *aligned_fn(size_t, size_t);
  typedef void *aligned_nothrow_fn(size_t, size_t, const void *);
  if (is_nothrow(call->entry))
    return call->align ? ((aligned_nothrow_fn *)new)(call->size, call->align, call->tag)
                       : ((nothrow_fn *)new)(call->size, call->tag);
  return call->align ? ((aligned_fn *)new)(call->size, call->align) : ((new_fn *)new)(call->size);
}

static hw_new_handler *new_handler_for(const struct hwi_new_call *call)
{
  bool may_be_helped = !call->align || is_power_of_two(call->align);
  return may_be_helped ? hw_cxx_new_handler(call->caller.pc) : NULL;
}

/* A handler may throw, and only the runtime's own operator can catch that. It calls our throwing operator, which
 * reports. */
static void *own_new_nothrow(const struct hwi_new_call *call)
{
  hwi_function *catching = NULL;
  if (new_handler_for(call))
    catching = (hwi_function *)hw_cxx_operator(call->caller.pc, hwi_real_symbol(call->entry));
  if (catching)
    return call_new(catching, call);
  hwi_record_failed(&call->caller, call->entry, call->size, call->align);
  return NULL;
}

/* The standard's loop, after the real allocator has failed. */
static void *own_new(const struct hwi_new_call *call)
{
  hw_new_handler *handler;
  while ((handler = new_handler_for(call))) {
    struct operator_frame frame;
    begin(&frame, call, HANDLING);
    call_new_handler(handler);
    running = frame.outer;
    void *block = own_block(call);
    if (block) {
      hwi_record_alloc(&call->caller, call->entry, call->size, call->align, block);
      return block;
    }
  }
  hwi_record_failed(&call->caller, call->entry, call->size, call->align);
  hw_cxx_throw_bad_alloc(call->caller.pc);
  return NULL;
}

/* --- foreign --- */

static __attribute__((noinline, noclone)) void *call_foreign_new(const struct hwi_new_call *call)
{
  NOTICE_EXCEPTIONS();
  void *block = call_new(hwi_real_function[call->entry], call);
  KEEP_FRAME();
  return block;
}

static bool is_in_held(const void *block)
{
  return running.state == NEW_HOLDS && (uintptr_t)block - (uintptr_t)running.block <= running.held_size;
}

static void *foreign_new(const struct hwi_new_call *call)
{
  struct operator_frame frame;
  begin(&frame, call, NEW_RUNS);
  uint64_t began = hwi_call_timer_begin();
  void *block = call_foreign_new(call);
  hwi_call_timer_gave(block, began);
  if (!is_in_held(block))
    release_held();
  running = frame.outer;
  if (block)
    hwi_record_alloc(&call->caller, call->entry, call->size, call->align, block);
  else
    hwi_record_failed(&call->caller, call->entry, call->size, call->align);
  return block;
}

/* Returns whether the code at `pc` belongs to the library whose operator is running. */
static bool is_foreign_code(uintptr_t pc)
{
  struct hwi_os_module caller, foreign;
  return hwi_os_find_module(pc, &caller) && hwi_os_find_module((uintptr_t)hwi_real_function[running.entry], &foreign) &&
         caller.start == foreign.start;
}

bool hwi_operator_holds_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, void *block)
{
  if (running.state != NEW_RUNS || caller->sp >= (uintptr_t)running.frame || size < running.size ||
      !is_foreign_code(caller->pc))
    return false;
  if (!block)
    return true; /* the operator fails, or tries again: only its own result counts */
  running.state = NEW_HOLDS;
  running.held_entry = (uint8_t)entry;
  running.held_size = size;
  running.block = block;
  return true;
}

bool hwi_operator_holds_free(uintptr_t caller_pc, void *block)
{
  if (running.state == NEW_HOLDS && block == running.block) {
    hwi_call_timer_pass_over();
    running.state = NEW_RUNS; /* freed already: neither its allocation nor its free is reported */
    return true;
  }
  /* Foreign operators put at most a header of their own before the block. */
  enum { HEADER_MAX_BYTES = 4096 };
  if (running.state != DELETE_RUNS || (uintptr_t)running.block - (uintptr_t)block > HEADER_MAX_BYTES ||
      !is_foreign_code(caller_pc))
    return false;
  hwi_call_timer_pass_over();
  running.state = IDLE;
  return true;
}

void *hwi_operator_new(const struct hwi_new_call *call)
{
  switch (hwi_operator_modes[call->entry]) {
  case HWI_OPERATOR_FOREIGN:
    return foreign_new(call);
  case HWI_OPERATOR_ASIDE:
    return call_new(hwi_real_function[call->entry], call);
  default:
    return is_nothrow(call->entry) ? own_new_nothrow(call) : own_new(call);
  }
}

/* --- delete --- */

static void call_next_delete(const struct hwi_delete_call *call)
{
  typedef void nothrow_fn(void *, const void *);
  typedef void aligned_nothrow_fn(void *, size_t, const void *);
  typedef void number_fn(void *, size_t);
  typedef void two_numbers_fn(void *, size_t, size_t);
  hwi_function *next = hwi_real_function[call->entry];
  switch (call->entry) {
  case HW_ENTRY_DELETE_NOTHROW:
  case HW_ENTRY_DELETE_ARRAY_NOTHROW:
    ((nothrow_fn *)next)(call->block, call->tag);
    break;
  case HW_ENTRY_DELETE_SIZED:
  case HW_ENTRY_DELETE_ARRAY_SIZED:
    ((number_fn *)next)(call->block, call->size);
    break;
  case HW_ENTRY_DELETE_ALIGNED:
  case HW_ENTRY_DELETE_ARRAY_ALIGNED:
    ((number_fn *)next)(call->block, call->align);
    break;
  case HW_ENTRY_DELETE_ALIGNED_NOTHROW:
  case HW_ENTRY_DELETE_ARRAY_ALIGNED_NOTHROW:
    ((aligned_nothrow_fn *)next)(call->block, call->align, call->tag);
    break;
  case HW_ENTRY_DELETE_SIZED_ALIGNED:
  case HW_ENTRY_DELETE_ARRAY_SIZED_ALIGNED:
    ((two_numbers_fn *)next)(call->block, call->size, call->align);
    break;
  default:
    ((hwi_free_fn *)next)(call->block);
  }
}

void hwi_operator_delete(const struct hwi_delete_call *call)
{
  if (hwi_operator_modes[call->entry] == HWI_OPERATOR_ASIDE) {
    call_next_delete(call);
    return;
  }
  hwi_record_free(call->caller_pc, call->entry, call->block);
  struct running before = running;
  running = (struct running){.block = call->block, .state = DELETE_RUNS, .entry = (uint8_t)call->entry};
  uint64_t began = hwi_call_timer_begin();
  call_next_delete(call);
  hwi_call_timer_freed(call->block, began);
  running = before;
}
