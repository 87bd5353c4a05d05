/* monitor.h - a program says what it is doing, so that heapwright attributes its memory to scopes
 *
 * scope      a named stretch of one thread's time: a frame, a request, a control cycle. Scopes nest and form a path.
 * instance   one such stretch. The program may give it a number or a text (frame 1812, a URL).
 *
 * This header is all that a program needs; there is nothing to link. If the program is recorded (`heapwright record`, or
 * the library preloaded or linked), the calls reach the recorder. Otherwise each call tests one pointer. With
 * HW_MONITOR_OFF defined before the header is included, the calls compile to nothing.
 *
 *     void decode(const struct frame *frame)
 *     {
 *       HW_SCOPE_NUMBER("decode", frame->number);
 *       ...
 *     }
 *
 * `heapwright report --by scope` then shows what was allocated within "decode", and within scopes inside it.
 *
 * Thread safety: all functions may be called by any thread, also in signal handlers, and do not change errno. A scope
 * belongs to the thread that began it and must be ended by the same thread. None of them calls malloc.
 * Names and texts are copied when they are first used. Names are meant to be few: the recorder keeps 65,535 different
 * ones, and gives all others the name "(other scopes)".
 * Source: the interface is heapwright's own; the shape of scoped zones is that of most tracing profilers.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_MONITOR_H
#define HEAPWRIGHT_MONITOR_H

#include <stdint.h>

#include "heapwright/detail/monitor_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A scope that was begun. Private; all zero: none. */
struct hw_scope {
  uint64_t handle;
};

#ifndef HW_MONITOR_OFF

/* One for each library or program: NULL if there is no recorder. */
__attribute__((weak, visibility("hidden"))) const struct hw_monitor *hw_monitor_found = 0;

/* NULL in a static program. The second one is NULL except there, if the recorder is linked in. */
extern void *hw_monitor_dlsym(void *handle, const char *symbol) __asm__("dlsym") __attribute__((weak));
extern const struct hw_monitor hw_monitor_linked __asm__("heapwright_monitor")
    __attribute__((weak, visibility("hidden")));

/* Scopes in constructors that run before this one are not recorded. */
__attribute__((constructor(101), used)) static void hw_monitor_find(void)
{
  if (hw_monitor_found)
    return;
  const struct hw_monitor *found = &hw_monitor_linked;
  if (!found && hw_monitor_dlsym)
    found = (const struct hw_monitor *)hw_monitor_dlsym(0, "heapwright_monitor");
  if (found && found->bytes >= sizeof *found) /* an older recorder lacks functions of this header */
    hw_monitor_found = found;
}

/* A place in the source that begins a scope, with the recorder's number of its name. Private. */
struct hw_scope_site {
  const char *name;
  uint32_t number; /* 0: not known yet */
  uint32_t begun;  /* of a forbidden zone: instances so far, as long as they are its warm-up */
};

static inline uint32_t hw_scope_number_of(struct hw_scope_site *site)
{
  uint32_t number = __atomic_load_n(&site->number, __ATOMIC_RELAXED);
  if (__builtin_expect(!number, 0)) {
    number = hw_monitor_found->name(site->name);
    __atomic_store_n(&site->number, number, __ATOMIC_RELAXED);
  }
  return number;
}

static inline struct hw_scope hw_scope_begin_at(struct hw_scope_site *site)
{
  struct hw_scope scope = {0};
  if (__builtin_expect(hw_monitor_found != 0, 0))
    scope.handle = hw_monitor_found->begin(hw_scope_number_of(site));
  return scope;
}

static inline struct hw_scope hw_scope_begin_number_at(struct hw_scope_site *site, uint64_t number)
{
  struct hw_scope scope = {0};
  if (__builtin_expect(hw_monitor_found != 0, 0))
    scope.handle = hw_monitor_found->begin_number(hw_scope_number_of(site), number);
  return scope;
}

static inline struct hw_scope hw_scope_begin_text_at(struct hw_scope_site *site, const char *text)
{
  struct hw_scope scope = {0};
  if (__builtin_expect(hw_monitor_found != 0, 0))
    scope.handle = hw_monitor_found->begin_text(hw_scope_number_of(site), text);
  return scope;
}

static inline struct hw_scope hw_no_alloc_begin_at(struct hw_scope_site *site, uint32_t warm_up)
{
  struct hw_scope scope = {0};
  if (__builtin_expect(hw_monitor_found != 0, 0)) {
    uint32_t number = hw_scope_number_of(site);
    int is_warm = __atomic_load_n(&site->begun, __ATOMIC_RELAXED) >= warm_up ||
                  __atomic_fetch_add(&site->begun, 1, __ATOMIC_RELAXED) >= warm_up;
    scope.handle = is_warm ? hw_monitor_found->begin_forbidden(number) : hw_monitor_found->begin(number);
  }
  return scope;
}

/* Each begins a scope of the calling thread, within its current scope, and returns it for hw_scope_end. `name` and `text`
 * end in NUL. A text is cut after 4,096 bytes. Each call looks the name up by its contents; the macros below do that once
 * for each place. */
static inline struct hw_scope hw_scope_begin(const char *name)
{
  struct hw_scope_site site = {name, 0, 0};
  return hw_scope_begin_at(&site);
}

static inline struct hw_scope hw_scope_begin_number(const char *name, uint64_t number)
{
  struct hw_scope_site site = {name, 0, 0};
  return hw_scope_begin_number_at(&site, number);
}

static inline struct hw_scope hw_scope_begin_text(const char *name, const char *text)
{
  struct hw_scope_site site = {name, 0, 0};
  return hw_scope_begin_text_at(&site, text);
}

/* The same for a forbidden zone: a scope in which the thread must not allocate or free. If it does, nothing changes for
 * the program; the report names the place, `heapwright check --max forbidden=0` fails, and with `heapwright record
 * --trap` the program gets SIGTRAP there. */
static inline struct hw_scope hw_no_alloc_begin(const char *name)
{
  struct hw_scope_site site = {name, 0, 0};
  return hw_no_alloc_begin_at(&site, 0);
}

/* Ends the scope, and all scopes within it that were left without an end (by longjmp, or forgotten); the report counts
 * those. The outermost scopes of a thread also end with the thread. Does nothing if the calling thread is not the one that
 * began the scope, or not in the task (see below) in which it began. */
static inline void hw_scope_end(struct hw_scope scope)
{
  if (__builtin_expect(scope.handle != 0 && hw_monitor_found != 0, 0))
    hw_monitor_found->end(scope.handle);
}

static inline void hw_scope_leave(struct hw_scope *scope)
{
  hw_scope_end(*scope);
}

#define HW_MONITOR_JOIN2(a, b) a##b
#define HW_MONITOR_JOIN(a, b) HW_MONITOR_JOIN2(a, b)
#define HW_SCOPE_OF(begin, name_text, ...)                                                                \
  static struct hw_scope_site HW_MONITOR_JOIN(hw_scope_site_, __LINE__) = {name_text, 0, 0};              \
  __attribute__((cleanup(hw_scope_leave), unused)) struct hw_scope HW_MONITOR_JOIN(hw_scope_, __LINE__) = \
      begin(&HW_MONITOR_JOIN(hw_scope_site_, __LINE__) __VA_ARGS__)

/* A scope from here to the end of the enclosing block, however it is left: also by return, and in C++ (or C with
 * -fexceptions) by an exception. `name_text` must be a constant. */
#define HW_SCOPE(name_text) HW_SCOPE_OF(hw_scope_begin_at, name_text, )
#define HW_SCOPE_NUMBER(name_text, number) HW_SCOPE_OF(hw_scope_begin_number_at, name_text, , number)
#define HW_SCOPE_TEXT(name_text, text) HW_SCOPE_OF(hw_scope_begin_text_at, name_text, , text)

/* A forbidden zone (hw_no_alloc_begin) from here to the end of the enclosing block. The first `warm_up` passes of this
 * place, by any thread, may still allocate and free: they are usual scopes. */
#define HW_NO_ALLOC(name_text) HW_NO_ALLOC_AFTER(name_text, 0)
#define HW_NO_ALLOC_AFTER(name_text, warm_up) HW_SCOPE_OF(hw_no_alloc_begin_at, name_text, , warm_up)

/* A task is work that moves between threads: a coroutine, a job of a thread pool, a chain of callbacks. While a thread is
 * inside, what it allocates belongs to the task, and not to the scopes around. Scopes that begin inside belong to the
 * task: they stay open when the thread leaves it, and may end when another thread is inside. Only forbidden zones also
 * apply from around: they are about the thread.
 *
 *     struct hw_task task = hw_task_create("request");
 *     hw_task_enter(&task);   on any thread, as often as needed; it leaves on the same thread
 *     hw_task_leave(&task);
 *     hw_task_finish(&task);  on any thread
 *
 * One thread is inside at a time; the program synchronizes, as it must for the work itself. `task` must not be copied
 * while a thread is inside.
 *
 * hw_task_enter   does nothing if another thread is inside, or if the calling thread is in 64 tasks. A thread that is
 *                 inside already must leave once more.
 * hw_task_leave   does nothing if the calling thread is not inside. It also leaves the tasks that the thread entered
 *                 inside this one and has not left.
 * hw_task_finish  ends the task, with its scopes. If the calling thread is inside, it leaves. If another thread is
 *                 inside, the task ends when that thread leaves.
 *
 * If a task was not left on its own (but with an outer task, or its thread has ended), or was made before a fork, the next
 * thread to enter it begins a new instance without open scopes. A child that is forked inside is in no scope. */
static inline struct hw_task hw_task_create(const char *name)
{
  struct hw_task task = HW_NO_TASK;
  if (__builtin_expect(hw_monitor_found != 0, 0))
    hw_monitor_found->task_create(&task, hw_monitor_found->name(name));
  return task;
}

static inline void hw_task_enter(struct hw_task *task)
{
  if (__builtin_expect(task->number != 0 && hw_monitor_found != 0, 0))
    hw_monitor_found->task_enter(task);
}

static inline void hw_task_leave(struct hw_task *task)
{
  if (__builtin_expect(task->number != 0 && hw_monitor_found != 0, 0))
    hw_monitor_found->task_leave(task);
}

static inline void hw_task_finish(struct hw_task *task)
{
  if (__builtin_expect(task->number != 0 && hw_monitor_found != 0, 0))
    hw_monitor_found->task_finish(task);
}

static inline void hw_task_leave_block(struct hw_task **task)
{
  hw_task_leave(*task);
}

static inline struct hw_task *hw_task_enter_block(struct hw_task *task)
{
  hw_task_enter(task);
  return task;
}

/* The thread is inside the task from here to the end of the enclosing block. */
#define HW_TASK(task)                                                                                         \
  __attribute__((cleanup(hw_task_leave_block), unused)) struct hw_task *HW_MONITOR_JOIN(hw_task_, __LINE__) = \
      hw_task_enter_block(task)

/* A heap that the program gives out itself: an arena, a slab, a memory pool, memory of a GPU or shared memory. It appears
 * in reports next to malloc, with stacks, peak and leaks of its own. What it takes from malloc for its blocks also counts
 * there, as what malloc gave out: the two are never added.
 *
 *     struct hw_custom_heap frames = hw_custom_heap_create("frame arena");
 *     hw_custom_heap_alloc(&frames, block, size);   after the heap gave out `block`; NULL: it had no room
 *     hw_custom_heap_free(&frames, block);          before the heap gets it back
 *     hw_custom_heap_reset(&frames);                all blocks end at once, and the heap goes on
 *     hw_custom_heap_destroy(&frames);              all blocks end, and so does the heap
 *
 * `block` is any address or offset that is not 0 and that no other live block of this heap has. Several heaps may have
 * one name, and then appear as one. Calls about one heap may come from any thread; those about one block must be in
 * order. The stack of a block is that of the call of hw_custom_heap_alloc. In a forked child the heap goes on; blocks
 * from before the fork belong to the parent. */
static inline struct hw_custom_heap hw_custom_heap_create(const char *name)
{
  struct hw_custom_heap heap = {0, 0};
  if (__builtin_expect(hw_monitor_found != 0, 0))
    hw_monitor_found->heap_create(&heap, hw_monitor_found->name(name));
  return heap;
}

/* Always inline, so that the calling function is the first one of the stack. */
static inline __attribute__((always_inline)) void hw_custom_heap_alloc(const struct hw_custom_heap *heap,
                                                                       const void *block, uint64_t size)
{
  if (__builtin_expect(heap->number != 0, 0) && hw_monitor_found)
    hw_monitor_found->heap_alloc(heap, block, size);
}

static inline void hw_custom_heap_free(const struct hw_custom_heap *heap, const void *block)
{
  if (__builtin_expect(heap->number != 0, 0) && hw_monitor_found)
    hw_monitor_found->heap_free(heap, block);
}

static inline void hw_custom_heap_reset(const struct hw_custom_heap *heap)
{
  if (__builtin_expect(heap->number != 0, 0) && hw_monitor_found)
    hw_monitor_found->heap_reset(heap);
}

static inline void hw_custom_heap_destroy(struct hw_custom_heap *heap)
{
  if (__builtin_expect(heap->number != 0, 0) && hw_monitor_found)
    hw_monitor_found->heap_destroy(heap);
}

/* Names this moment of the run, as `heapwright control PID mark` does from outside. */
static inline void hw_mark(const char *name)
{
  if (__builtin_expect(hw_monitor_found != 0, 0))
    hw_monitor_found->mark(hw_monitor_found->name(name));
}

static inline void hw_counter_at(struct hw_scope_site *site, double value)
{
  if (__builtin_expect(hw_monitor_found != 0, 0))
    hw_monitor_found->counter(hw_scope_number_of(site), value);
}

/* Sets the counter `name` of the process, a value along time such as the length of a queue. The macro looks the name up
 * once; `name_text` must be a constant. */
static inline void hw_counter(const char *name, double value)
{
  struct hw_scope_site site = {name, 0, 0};
  hw_counter_at(&site, value);
}

#define HW_COUNTER(name_text, value)                                 \
  do {                                                               \
    static struct hw_scope_site hw_counter_site = {name_text, 0, 0}; \
    hw_counter_at(&hw_counter_site, value);                          \
  } while (0)

/* Names the calling thread in reports. The kernel's name for it (pthread_setname_np) does not change. Cut after 15
 * bytes. */
static inline void hw_thread_name(const char *name)
{
  if (__builtin_expect(hw_monitor_found != 0, 0))
    hw_monitor_found->thread_name(name);
}

/* Returns what the calling thread has allocated and freed since its first call of this function, which starts the
 * counting: until then, threads pay nothing for it. So a test can assert that a function allocates nothing:
 *
 *     struct hw_counts before = hw_thread_counts();
 *     control_cycle();
 *     assert(hw_thread_counts().allocation_calls == before.allocation_calls);
 *
 * Without a recorder, or when it has stopped, is_counted is 0: let the test fail then, or skip it. Calls in signal
 * handlers count for the thread that they interrupt. */
static inline struct hw_counts hw_thread_counts(void)
{
  struct hw_counts counts = {0, 0, 0, 0, 0, 0};
  if (__builtin_expect(hw_monitor_found != 0, 0))
    hw_monitor_found->counts(&counts);
  return counts;
}

#else

static inline struct hw_counts hw_thread_counts(void)
{
  struct hw_counts none = {0, 0, 0, 0, 0, 0};
  return none;
}
static inline struct hw_scope hw_scope_begin(const char *name)
{
  struct hw_scope none = {0};
  (void)name;
  return none;
}
static inline struct hw_scope hw_scope_begin_number(const char *name, uint64_t number)
{
  (void)number;
  return hw_scope_begin(name);
}
static inline struct hw_scope hw_scope_begin_text(const char *name, const char *text)
{
  (void)text;
  return hw_scope_begin(name);
}
static inline struct hw_scope hw_no_alloc_begin(const char *name)
{
  return hw_scope_begin(name);
}
static inline void hw_scope_end(struct hw_scope scope)
{
  (void)scope;
}
#define HW_SCOPE(name_text) ((void)0)
#define HW_SCOPE_NUMBER(name_text, number) ((void)0)
#define HW_SCOPE_TEXT(name_text, text) ((void)0)
#define HW_NO_ALLOC(name_text) ((void)0)
#define HW_NO_ALLOC_AFTER(name_text, warm_up) ((void)0)
static inline struct hw_task hw_task_create(const char *name)
{
  struct hw_task none = HW_NO_TASK;
  (void)name;
  return none;
}
static inline void hw_task_enter(struct hw_task *task)
{
  (void)task;
}
static inline void hw_task_leave(struct hw_task *task)
{
  (void)task;
}
static inline void hw_task_finish(struct hw_task *task)
{
  (void)task;
}
#define HW_TASK(task) ((void)(task))
static inline struct hw_custom_heap hw_custom_heap_create(const char *name)
{
  struct hw_custom_heap none = {0, 0};
  (void)name;
  return none;
}
static inline void hw_custom_heap_alloc(const struct hw_custom_heap *heap, const void *block, uint64_t size)
{
  (void)heap;
  (void)block;
  (void)size;
}
static inline void hw_custom_heap_free(const struct hw_custom_heap *heap, const void *block)
{
  (void)heap;
  (void)block;
}
static inline void hw_custom_heap_reset(const struct hw_custom_heap *heap)
{
  (void)heap;
}
static inline void hw_custom_heap_destroy(struct hw_custom_heap *heap)
{
  (void)heap;
}
static inline void hw_mark(const char *name)
{
  (void)name;
}
static inline void hw_counter(const char *name, double value)
{
  (void)name;
  (void)value;
}
#define HW_COUNTER(name_text, value) ((void)0)
static inline void hw_thread_name(const char *name)
{
  (void)name;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
