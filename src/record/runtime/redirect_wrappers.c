/* redirect_wrappers.c - what the calls of a redirected function lead to: each calls the original and reports to the recorder
 *
 * An allocator may call its own functions: mimalloc's realloc calls its malloc and free, and several names may be one function. It
 * may also call functions of the program, which call it: a new_handler, a hook, mimalloc's deferred free. While a call runs,
 * `running` describes it. A call within it is its part, and is not reported, if it takes the same block (what realloc and operator
 * delete do), or if it gave out the block that the outer call returns, or one around it (an aligned one). So the last block that was
 * allocated within a call is held back until it returns another one, as in operators.c. All others are reported.
 *
 * A call whose frame is not below that one's is not within it. After a longjmp out of a call, `running` is wrong until the thread
 * returns to that depth, and the stack there is the program's: so it has values alone, and its address of the call is compared, not
 * followed. A signal handler may interrupt a change of `running`: it has no call meanwhile, or a block that is being reported.
 *
 * The block of a redirected function is not one of libc's malloc, whose malloc_usable_size must not see it. The recorder calls
 * that for blocks of events (HWI_REAL(MALLOC_USABLE_SIZE)): a function of this file takes its place, and asks the allocator of the
 * block that this thread is reporting. A signal handler that interrupts the report has other blocks.
 */
#include "record/runtime/redirect_wrappers.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "platform/code.h"
#include "record/record.h"
#include "record/runtime/call_timer.h"
#include "record/runtime/operators.h"

static_assert(HWI_CODE_ARGUMENTS == 5, "the wrappers have that many, and one more");

#define PARAMETERS uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, const struct hwi_redirected *of
#define ARGUMENTS a, b, c, d, e
typedef uintptr_t original_fn(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e);

/* An allocation that is not reported yet. */
struct held {
  uintptr_t block; /* 0: none */
  size_t size, align;
  const struct hwi_redirected *of;
};

struct call;

/* The innermost call of a thread. */
struct running {
  struct call *call; /* NULL: none. Followed only by the call itself, and while an exception passes it */
  const struct hwi_redirected *of;
  uintptr_t taken;      /* the block that it frees or reallocates; 0: none */
  const void *reported; /* the block that is being reported; NULL: the original runs */
  struct hwi_caller caller;
  struct held held; /* the last block that was allocated within the call */
};

/* A call of a redirected function, on the stack of its wrapper. */
struct call {
  const struct hwi_redirected *of;
  struct hwi_caller caller;
  uintptr_t arguments[HWI_CODE_ARGUMENTS];
  bool is_inner;        /* within another one */
  bool is_recorders;    /* the recorder made it, and reports it by itself */
  struct running outer; /* what `running` was */
  struct held held;     /* what was allocated within it last */
};

static __thread struct running running __attribute__((tls_model("initial-exec")));

/* --- calls --- */

static inline uintptr_t argument(const struct call *call, uint8_t number)
{
  return number ? call->arguments[number - 1] : 0;
}

static size_t size_of(const struct call *call)
{
  const struct hwi_shape *shape = call->of->shape;
  size_t bytes;
  if (!shape->count)
    return argument(call, shape->size);
  return __builtin_mul_overflow(argument(call, shape->count), argument(call, shape->size), &bytes) ? SIZE_MAX : bytes;
}

/* As in hwi_record_alloc. */
static size_t align_of(const struct call *call)
{
  enum { LOG2_MASK = 63 }; /* in the flags of mallocx */
  const struct hwi_shape *shape = call->of->shape;
  const size_t stated = argument(call, shape->align);
  if (shape->role != HWI_ROLE_FLAGS)
    return stated;
  return stated & LOG2_MASK ? (size_t)1 << (stated & LOG2_MASK) : 0;
}

/* A string function may have a buffer there. */
static inline uintptr_t taken_by(const struct call *call)
{
  const struct hwi_shape *shape = call->of->shape;
  return shape->role == HWI_ROLE_STRING ? 0 : argument(call, shape->block);
}

/* Returns whether the frame at this address is of a call that an original made. */
static inline bool is_within(const void *frame)
{
  return __builtin_expect(running.call != NULL, 0) && (uintptr_t)frame < (uintptr_t)running.call && !running.reported;
}

/* Returns whether a call is a part of the one that it is within. While a usable size is asked for, all are. */
static inline bool is_part(const struct call *call)
{
  return call->is_inner &&
         (running.of->shape->role == HWI_ROLE_USABLE || (running.taken && running.taken == taken_by(call)));
}

static inline void set_running(const struct running *to)
{
  running.call = NULL;
  atomic_signal_fence(memory_order_seq_cst);
  running.of = to->of;
  running.taken = to->taken;
  running.reported = to->reported;
  running.caller = to->caller;
  running.held = to->held;
  atomic_signal_fence(memory_order_seq_cst);
  running.call = to->call;
}

/* A previous value that is not above the present call on the stack was left by a longjmp. */
static inline void restore(const struct call *call)
{
  static const struct running none;
  set_running((uintptr_t)call->outer.call >= (uintptr_t)call ? &call->outer : &none);
}

/* --- reports --- */

/* While a block is reported, its usable size may be asked for. A signal handler may report another one meanwhile. */
struct report {
  struct call *call;
  const struct hwi_redirected *of;
  const void *reported;
};

/* Returns what end_report needs. */
static inline struct report begin_report(struct call *call, const struct hwi_redirected *of, uintptr_t block)
{
  const struct report previous = {running.call, running.of, running.reported};
  running.reported = (const void *)block;
  atomic_signal_fence(memory_order_seq_cst);
  running.call = call;
  running.of = of;
  return previous;
}

static inline void end_report(struct report previous)
{
  running.call = previous.call;
  running.of = previous.of;
  atomic_signal_fence(memory_order_seq_cst);
  running.reported = previous.reported;
}

/* Reports an allocation with this caller. `call` is not followed. */
static void record_alloc(struct call *call, const struct hwi_caller *caller, const struct held *made)
{
  void *block = (void *)made->block;
  const enum hw_entry entry = (enum hw_entry)made->of->shape->entry;
  const struct report previous = begin_report(call, made->of, made->block);
  if (hwi_operators_hold && hwi_operator_holds_alloc(caller, entry, made->size, block))
    ; /* it is reported later */
  else if (block)
    hwi_record_alloc(caller, entry, made->size, made->align, block);
  else
    hwi_record_failed(caller, entry, made->size, made->align);
  end_report(previous);
}

/* Reports the block that was held back within a call. Its own stack is gone by now. */
static void release_held(struct call *call)
{
  const struct held made = call->held;
  call->held.block = 0;
  if (made.block)
    record_alloc(call, &call->caller, &made);
}

/* The same after a call that returns `block` (0: none), unless that is a part of the held one. */
static inline void settle(struct call *call, uintptr_t block)
{
  const struct held *held = &call->held;
  if (__builtin_expect(held->block != 0, 0) && block - held->block >= (held->size ? held->size : 1))
    release_held(call);
}

/* The same of the call within which the present one is. */
static void release_held_outside(void)
{
  const struct running outer = running;
  running.held.block = 0;
  if (outer.held.block)
    record_alloc(outer.call, &outer.caller, &outer.held);
}

/* Reports an allocation, or a failure, of this size. */
static void report_alloc(struct call *call, size_t size, uintptr_t block)
{
  const struct held made = {block, size, align_of(call), call->of};
  settle(call, block);
  if (!call->is_inner) {
    record_alloc(call, &call->caller, &made);
    return;
  }
  release_held_outside();
  running.held = made;
}

static void report_free(struct call *call, uintptr_t address)
{
  void *block = (void *)address;
  if (call->is_inner && running.held.block == address)
    release_held_outside();
  const struct report previous = begin_report(call, call->of, address);
  if (!hwi_operators_hold || !hwi_operator_holds_free(call->caller.pc, block))
    hwi_record_free(call->caller.pc, (enum hw_entry)call->of->shape->entry, block);
  end_report(previous);
}

static uint64_t begin_realloc(struct call *call, uintptr_t old)
{
  if (call->is_inner)
    release_held_outside();
  const struct report previous = begin_report(call, call->of, old);
  const uint64_t began = hwi_record_realloc_begin((void *)old);
  end_report(previous);
  return began;
}

static void report_realloc(struct call *call, uint64_t began, uintptr_t old, uintptr_t block)
{
  const struct hwi_realloc reallocated = {(enum hw_entry)call->of->shape->entry, began, old, (void *)block,
                                          size_of(call)};
  const struct report previous = begin_report(call, call->of, block);
  hwi_record_realloc(&call->caller, &reallocated);
  end_report(previous);
}

/* --- calls of the originals --- */

/* Called when an exception leaves the original. It is found by its symbol, as in operators.c. */
int hwi_redirect_exception_passes(int version, int actions, uint64_t class, void *exception, void *context);

__attribute__((used)) int hwi_redirect_exception_passes(int version, int actions, uint64_t class, void *exception,
                                                        void *context)
{
  enum { CONTINUE_UNWIND = 8, ACTION_CLEANUP_PHASE = 2 };
  (void)version, (void)class, (void)exception, (void)context;
  struct call *call = running.call;
  if (!(actions & ACTION_CLEANUP_PHASE) || !call)
    return CONTINUE_UNWIND;
  call->held = running.held;
  restore(call);
  release_held(call);
  if (!call->is_recorders)
    hwi_record_failed(&call->caller, (enum hw_entry)call->of->shape->entry, size_of(call), align_of(call));
  return CONTINUE_UNWIND;
}

/* Calls the original. It may throw. */
static __attribute__((noinline, noclone)) uintptr_t run(struct call *call)
{
  const uintptr_t *at = call->arguments;
  __asm__ volatile(".cfi_personality 0x1b, hwi_redirect_exception_passes");
  call->outer = running;
  set_running(&(struct running){.call = call, .of = call->of, .taken = taken_by(call), .caller = call->caller});
  const uintptr_t result = ((original_fn *)call->of->original)(at[0], at[1], at[2], at[3], at[4]);
  if (running.call == call)
    call->held = running.held;
  restore(call);
  return result;
}

#define CALL_OF() \
  ((struct call){ \
      .of = of, .caller = HWI_CALLER(), .arguments = {ARGUMENTS}, .is_inner = is_within(__builtin_frame_address(0))})

/* Declares `call`, or passes the call on, if it is a part of another one. */
#define BEGIN_CALL()            \
  struct call call = CALL_OF(); \
  if (is_part(&call))           \
  return ((original_fn *)of->original)(ARGUMENTS)

/* --- the wrappers --- */

static uintptr_t timed(struct call *call)
{
  const uint64_t began = hwi_call_timer_begin();
  const uintptr_t block = run(call);
  hwi_call_timer_gave((void *)block, began);
  return block;
}

static uintptr_t wrap_alloc(PARAMETERS)
{
  BEGIN_CALL();
  const uintptr_t block = timed(&call);
  report_alloc(&call, size_of(&call), block);
  return block;
}

/* With a buffer in an argument, there is no block. */
static uintptr_t wrap_string(PARAMETERS)
{
  BEGIN_CALL();
  const uintptr_t block = timed(&call);
  if (argument(&call, of->shape->block))
    settle(&call, 0);
  else
    report_alloc(&call, block ? strlen((const char *)block) + 1 : 0, block);
  return block;
}

static uintptr_t wrap_posix(PARAMETERS)
{
  BEGIN_CALL();
  const uint64_t began = hwi_call_timer_begin();
  const uintptr_t error = run(&call);
  const uintptr_t block = (int)error ? 0 : *(const uintptr_t *)a;
  hwi_call_timer_gave((void *)block, began);
  report_alloc(&call, size_of(&call), block);
  return error;
}

/* Nearly every allocator frees the block if the size is 0, and another thread may get it: it is reported first. */
static uintptr_t reallocate_to_nothing(struct call *call, uintptr_t old)
{
  report_free(call, old);
  const uint64_t began = hwi_call_timer_begin();
  const uintptr_t block = run(call);
  hwi_call_timer_freed((void *)old, began);
  if (block)
    report_alloc(call, 0, block);
  else
    settle(call, 0);
  return block;
}

static uintptr_t wrap_realloc(PARAMETERS)
{
  BEGIN_CALL();
  const enum hwi_role role = (enum hwi_role)of->shape->role;
  const uintptr_t old = argument(&call, of->shape->block);
  if (old && size_of(&call) == 0 && role != HWI_ROLE_EXPAND)
    return reallocate_to_nothing(&call, old);
  const uint64_t began = old ? begin_realloc(&call, old) : 0;
  const uintptr_t block = timed(&call);
  if (old && block) {
    settle(&call, block);
    report_realloc(&call, began, old, block);
    return block;
  }
  if (old)
    hwi_record_realloc_failed((void *)old, began);
  if (role == HWI_ROLE_EXPAND)
    settle(&call, block);
  else
    report_alloc(&call, size_of(&call), block);
  if (old && role == HWI_ROLE_REALLOC_OR_FREE)
    report_free(&call, old);
  return block;
}

static uintptr_t wrap_resize(PARAMETERS)
{
  BEGIN_CALL();
  const uintptr_t block = argument(&call, of->shape->block);
  const uint64_t began = begin_realloc(&call, block), began_timing = hwi_call_timer_begin();
  const uintptr_t bytes = run(&call);
  hwi_call_timer_gave((void *)block, began_timing);
  settle(&call, 0);
  if (bytes >= size_of(&call))
    report_realloc(&call, began, block, block);
  else
    hwi_record_realloc_failed((void *)block, began);
  return bytes;
}

static uintptr_t wrap_free(PARAMETERS)
{
  BEGIN_CALL();
  const uintptr_t block = argument(&call, of->shape->block);
  if (block)
    report_free(&call, block);
  const uint64_t began = hwi_call_timer_begin();
  const uintptr_t result = run(&call);
  if (block)
    hwi_call_timer_freed((void *)block, began);
  settle(&call, 0);
  return result;
}

hwi_function *hwi_redirect_wrapper(enum hwi_role role)
{
  switch (role) {
  case HWI_ROLE_ALLOC:
  case HWI_ROLE_FLAGS:
    return (hwi_function *)wrap_alloc;
  case HWI_ROLE_STRING:
    return (hwi_function *)wrap_string;
  case HWI_ROLE_POSIX:
    return (hwi_function *)wrap_posix;
  case HWI_ROLE_REALLOC:
  case HWI_ROLE_REALLOC_OR_FREE:
  case HWI_ROLE_EXPAND:
    return (hwi_function *)wrap_realloc;
  case HWI_ROLE_RESIZE:
    return (hwi_function *)wrap_resize;
  case HWI_ROLE_FREE:
    return (hwi_function *)wrap_free;
  case HWI_ROLE_USABLE:
    break;
  }
  return NULL;
}

/* --- the allocator below the recorder, if its functions are redirected --- */

static const struct hwi_redirected *below[HW_ENTRY_COUNT];
static hwi_usable_size_fn *usable_below;

/* Calls the original for the recorder, which reports by itself. */
static uintptr_t run_below(enum hw_entry entry, uintptr_t a, uintptr_t b, uintptr_t c)
{
  struct call call = {.of = below[entry], .caller = HWI_CALLER(), .arguments = {a, b, c}, .is_recorders = true};
  const uintptr_t result = run(&call);
  if (entry == HW_ENTRY_POSIX_MEMALIGN)
    settle(&call, (int)result ? 0 : *(const uintptr_t *)a);
  else
    settle(&call, entry == HW_ENTRY_FREE ? 0 : result);
  return result;
}

static void *malloc_below(size_t size)
{
  return (void *)run_below(HW_ENTRY_MALLOC, size, 0, 0);
}

static void free_below(void *block)
{
  run_below(HW_ENTRY_FREE, (uintptr_t)block, 0, 0);
}

static void *calloc_below(size_t count, size_t size)
{
  return (void *)run_below(HW_ENTRY_CALLOC, count, size, 0);
}

static void *realloc_below(void *old, size_t size)
{
  return (void *)run_below(HW_ENTRY_REALLOC, (uintptr_t)old, size, 0);
}

static int posix_memalign_below(void **to, size_t align, size_t size)
{
  return (int)run_below(HW_ENTRY_POSIX_MEMALIGN, (uintptr_t)to, align, size);
}

static void *aligned_alloc_below(size_t align, size_t size)
{
  return (void *)run_below(HW_ENTRY_ALIGNED_ALLOC, align, size, 0);
}

static void *memalign_below(size_t align, size_t size)
{
  return (void *)run_below(HW_ENTRY_MEMALIGN, align, size, 0);
}

static void *valloc_below(size_t size)
{
  return (void *)run_below(HW_ENTRY_VALLOC, size, 0, 0);
}

static void *pvalloc_below(size_t size)
{
  return (void *)run_below(HW_ENTRY_PVALLOC, size, 0, 0);
}

static hwi_function *const all_below[HW_ENTRY_COUNT] = {
    [HW_ENTRY_MALLOC] = (hwi_function *)malloc_below,
    [HW_ENTRY_FREE] = (hwi_function *)free_below,
    [HW_ENTRY_CALLOC] = (hwi_function *)calloc_below,
    [HW_ENTRY_REALLOC] = (hwi_function *)realloc_below,
    [HW_ENTRY_POSIX_MEMALIGN] = (hwi_function *)posix_memalign_below,
    [HW_ENTRY_ALIGNED_ALLOC] = (hwi_function *)aligned_alloc_below,
    [HW_ENTRY_MEMALIGN] = (hwi_function *)memalign_below,
    [HW_ENTRY_VALLOC] = (hwi_function *)valloc_below,
    [HW_ENTRY_PVALLOC] = (hwi_function *)pvalloc_below,
};

/* What an allocator allocates meanwhile (tcmalloc does, in its first call) is its own, and is not reported: it would be within an
 * event, and would ask for a usable size itself. */
static size_t usable_size(void *block)
{
  static const struct hwi_shape shape = {.role = HWI_ROLE_USABLE, .entry = HW_ENTRY_MALLOC_USABLE_SIZE};
  static const struct hwi_redirected of = {.shape = &shape};
  const bool is_reported = block && running.reported == block;
  hwi_usable_size_fn *function = is_reported ? running.of->family->usable_size : usable_below;
  struct call call = {.of = &of, .outer = running};
  set_running(&(struct running){.call = &call, .of = &of});
  const size_t bytes = function ? function(block) : 0;
  set_running(&call.outer);
  return bytes;
}

void hwi_redirect_replace(hwi_function *next[HW_ENTRY_COUNT])
{
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++) {
    const struct hwi_redirected *redirected = next[entry] ? hwi_redirected_at((uintptr_t)next[entry]) : NULL;
    if (!all_below[entry] || !redirected)
      continue;
    below[entry] = redirected;
    next[entry] = all_below[entry];
  }
  if (next[HW_ENTRY_MALLOC_USABLE_SIZE] != (hwi_function *)usable_size)
    usable_below = (hwi_usable_size_fn *)next[HW_ENTRY_MALLOC_USABLE_SIZE];
  next[HW_ENTRY_MALLOC_USABLE_SIZE] = (hwi_function *)usable_size;
}
