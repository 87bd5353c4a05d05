/* entries.c - the entry points: each calls its real counterpart and reports to the recorder
 *
 * A free is reported before the real free, an allocation after the real allocation, so that a block is never recorded
 * as allocated twice at a time. All calls go to the real allocator, which also sets errno; only blocks from the time
 * before it was found (boot.h) are never passed to it.
 */
#include <errno.h>
#include <string.h>

#include "heapwright/detail/entries.h"
#include "platform/os.h"
#include "record/events/event.h"
#include "record/record.h"
#include "record/runtime/boot.h"
#include "record/runtime/operators.h"
#include "record/runtime/real.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Returns whether the real function can be called: always, except while it is being searched for. */
HW_OPERATION bool is_found(enum hw_entry entry)
{
  return LIKELY(hwi_real_function[entry]) || hwi_real_find();
}

/* The request of an allocation, with its entry point; `align` as in hwi_record_alloc. */
struct request {
  enum hw_entry entry;
  size_t size, align;
};

HW_OPERATION bool is_sample(void)
{
  return UNLIKELY(hwi_session.fields & HW_FIELD_SAMPLED);
}

static __attribute__((noinline)) void *allocated_slowly(struct hwi_caller caller, struct request request, void *block)
{
  if (hwi_operators_hold && hwi_operator_holds_alloc(&caller, request.entry, request.size, block))
    return block;
  if (block)
    hwi_record_alloc(&caller, request.entry, request.size, request.align, block);
  else
    hwi_record_failed(&caller, request.entry, request.size, request.align);
  return block;
}

/* Reports the result of an allocation. */
HW_OPERATION void *allocated(enum hw_entry entry, size_t size, size_t align, void *block)
{
  if (is_sample() && LIKELY(block) && LIKELY(hwi_event_skip_alloc(HWI_CALLER().pc, size)))
    return block;
  if (UNLIKELY(hwi_session.is_never_on))
    return block;
  return allocated_slowly(HWI_CALLER(), (struct request){entry, size, align}, block);
}

/* The same for the entry points that programs call most often. */
HW_OPERATION void *allocated_fast(enum hw_entry entry, size_t size, void *block)
{
  if (!is_sample() && LIKELY(block) && LIKELY(hwi_event_alloc(HWI_CALLER(), entry, size, block)))
    return block;
  return allocated(entry, size, 0, block);
}

static __attribute__((noinline)) bool freed_slowly(uintptr_t pc, enum hw_entry entry, void *block)
{
  if (!is_found(HW_ENTRY_FREE))
    return false;
  if (!hwi_operators_hold || !hwi_operator_holds_free(pc, block))
    hwi_record_free(pc, entry, block);
  return true;
}

/* Reports a free. Returns false if the block must not be passed to the real allocator. */
HW_OPERATION bool freed(enum hw_entry entry, void *block)
{
  if (UNLIKELY(!block || hwi_boot_owns(block)))
    return false;
  uintptr_t pc = HWI_CALLER().pc;
  bool is_done = is_sample() ? hwi_event_skip_free(pc, block) : hwi_event_free(pc, entry, block);
  return LIKELY(is_done) || UNLIKELY(hwi_session.is_never_on) || freed_slowly(pc, entry, block);
}

/* --- before the real functions are found --- */

static void *boot_aligned(size_t align, size_t size)
{
  if (!align || align & (align - 1)) {
    errno = EINVAL;
    return NULL;
  }
  void *block = hwi_boot_alloc(size, align);
  if (!block)
    errno = ENOMEM;
  return block;
}

static void *boot_malloc(size_t size)
{
  return boot_aligned(HWI_BOOT_ALIGN, size);
}

static void *boot_calloc(size_t count, size_t size)
{
  size_t bytes;
  return boot_malloc(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
}

/* Moves a boot block, or allocates one if there is no old one. */
static void *boot_realloc(void *old, size_t size, hwi_malloc_fn *get)
{
  if (old && !size)
    return NULL; /* as in glibc: the old block is freed */
  void *block = get(size);
  if (block && old) {
    size_t old_size = hwi_boot_size(old);
    memcpy(block, old, old_size < size ? old_size : size);
  }
  return block;
}

static int boot_posix_memalign(void **to, size_t align, size_t size)
{
  if (align % sizeof *to)
    return EINVAL;
  int errno_before = errno;
  void *block = boot_aligned(align, size);
  int error = block ? 0 : errno;
  errno = errno_before;
  if (block)
    *to = block;
  return error;
}

/* --- the most frequent entry points: one body for samples, where most calls are only counted, and one for all other recordings --- */

/* A body has the frame of its entry point: the entry point only jumps to it. Where the compiler does not make such jumps, it is a
 * part of the entry point. */
#ifdef __OPTIMIZE__
#define BODY static __attribute__((noinline))
#else
#define BODY HW_OPERATION
#endif

/* The caller of the entry point whose body is left. */
HW_OPERATION struct hwi_caller caller_of(struct hwi_arch_left_frame frame)
{
  return (struct hwi_caller){hwi_arch_left_pc(frame), hwi_arch_left_sp(frame), frame.bp};
}

/* What is not only counted: a last call of a body, so that the body saves few registers. */
static __attribute__((noinline)) void *allocated_in_sample(struct hwi_arch_left_frame frame, enum hw_entry entry,
                                                           size_t size, void *block)
{
  return allocated_slowly(caller_of(frame), (struct request){entry, size, 0}, block);
}

static __attribute__((noinline)) void free_in_sample(uintptr_t caller_pc, enum hw_entry entry, void *block)
{
  if (freed_slowly(caller_pc, entry, block))
    HWI_REAL(FREE, hwi_free_fn)(block);
}

HW_OPERATION void *sampled(enum hw_entry entry, size_t size, void *block)
{
  if (LIKELY(block) && LIKELY(hwi_event_skip_alloc(HWI_CALLER().pc, size)))
    return block;
  return allocated_in_sample(hwi_arch_leaving_frame(), entry, size, block);
}

BODY void *sampled_malloc(size_t size)
{
  return sampled(HW_ENTRY_MALLOC, size, HWI_REAL(MALLOC, hwi_malloc_fn)(size));
}

BODY void *recorded_malloc(size_t size)
{
  if (!is_found(HW_ENTRY_MALLOC))
    return boot_malloc(size);
  return allocated_fast(HW_ENTRY_MALLOC, size, HWI_REAL(MALLOC, hwi_malloc_fn)(size));
}

BODY void sampled_free(void *block, enum hw_entry entry)
{
  if (UNLIKELY(!block || hwi_boot_owns(block)))
    return;
  if (LIKELY(hwi_event_skip_free(HWI_CALLER().pc, block)))
    HWI_REAL(FREE, hwi_free_fn)(block);
  else
    free_in_sample(HWI_CALLER().pc, entry, block);
}

BODY void recorded_free(void *block, enum hw_entry entry)
{
  if (freed(entry, block))
    HWI_REAL(FREE, hwi_free_fn)(block);
}

HW_OPERATION size_t product(size_t count, size_t size)
{
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

BODY void *sampled_calloc(size_t count, size_t size)
{
  return sampled(HW_ENTRY_CALLOC, product(count, size), HWI_REAL(CALLOC, hwi_calloc_fn)(count, size));
}

BODY void *recorded_calloc(size_t count, size_t size)
{
  if (!is_found(HW_ENTRY_CALLOC))
    return boot_calloc(count, size);
  return allocated_fast(HW_ENTRY_CALLOC, product(count, size), HWI_REAL(CALLOC, hwi_calloc_fn)(count, size));
}

/* --- C --- */

HW_OPERATION void *hw_do_malloc(size_t size)
{
  return is_sample() ? sampled_malloc(size) : recorded_malloc(size);
}

HW_OPERATION void hw_do_free(void *block)
{
  if (is_sample())
    sampled_free(block, HW_ENTRY_FREE);
  else
    recorded_free(block, HW_ENTRY_FREE);
}

HW_OPERATION void *hw_do_calloc(size_t count, size_t size)
{
  return is_sample() ? sampled_calloc(count, size) : recorded_calloc(count, size);
}

/* realloc and reallocarray: `call` calls the real one, `size` is the total requested size. */
#define REALLOCATE(entry, old, size, call)                                                                   \
  do {                                                                                                       \
    if (UNLIKELY(!(old)))                                                                                    \
      return allocated(entry, size, 0, call);                                                                \
    if (UNLIKELY(!(size))) {                                                                                 \
      /* Nearly every allocator now frees the block, and another thread may get it: it is reported first. */ \
      hwi_record_free(HWI_CALLER().pc, entry, old);                                                          \
      void *empty = call;                                                                                    \
      return empty ? allocated(entry, 0, 0, empty) : NULL;                                                   \
    }                                                                                                        \
    uintptr_t old_address = (uintptr_t)(old);                                                                \
    bool may_skip = is_sample() && hwi_event_may_skip_realloc(old);                                          \
    uint64_t began = may_skip ? 0 : hwi_record_realloc_begin(old);                                           \
    void *block = call;                                                                                      \
    if (UNLIKELY(!block)) {                                                                                  \
      hwi_record_realloc_failed((void *)old_address, began);                                                 \
      return allocated(entry, size, 0, NULL);                                                                \
    }                                                                                                        \
    if (may_skip && LIKELY(hwi_event_skip(HWI_CALLER().pc, size, true)))                                     \
      return block;                                                                                          \
    struct hwi_caller caller = HWI_CALLER();                                                                 \
    struct hwi_realloc reallocated = {entry, began, old_address, block, size};                               \
    hwi_record_realloc(&caller, &reallocated);                                                               \
    return block;                                                                                            \
  } while (0)

/* The old block is a boot block, so its new place is recorded as a new block. */
HW_OPERATION void *leave_boot(enum hw_entry entry, void *old, size_t size)
{
  void *block = boot_realloc(old, size, HWI_REAL(MALLOC, hwi_malloc_fn));
  return block || size ? allocated(entry, size, 0, block) : NULL;
}

HW_OPERATION void *hw_do_realloc(void *old, size_t size)
{
  if (!is_found(HW_ENTRY_REALLOC))
    return boot_realloc(old, size, boot_malloc);
  if (UNLIKELY(hwi_boot_owns(old)))
    return leave_boot(HW_ENTRY_REALLOC, old, size);
  REALLOCATE(HW_ENTRY_REALLOC, old, size, HWI_REAL(REALLOC, hwi_realloc_fn)(old, size));
}

static __attribute__((noinline)) void *no_memory(void)
{
  errno = ENOMEM;
  return NULL;
}

HW_OPERATION void *hw_do_reallocarray(void *old, size_t count, size_t size)
{
  size_t bytes;
  if (UNLIKELY(__builtin_mul_overflow(count, size, &bytes)))
    return allocated(HW_ENTRY_REALLOCARRAY, SIZE_MAX, 0, no_memory());
  if (!is_found(HW_ENTRY_REALLOC))
    return boot_realloc(old, bytes, boot_malloc);
  if (UNLIKELY(hwi_boot_owns(old)))
    return leave_boot(HW_ENTRY_REALLOCARRAY, old, bytes);
  REALLOCATE(HW_ENTRY_REALLOCARRAY, old, bytes, HWI_REAL(REALLOC, hwi_realloc_fn)(old, bytes));
}

HW_OPERATION int hw_do_posix_memalign(void **to, size_t align, size_t size)
{
  if (!is_found(HW_ENTRY_POSIX_MEMALIGN))
    return boot_posix_memalign(to, align, size);
  int error = HWI_REAL(POSIX_MEMALIGN, hwi_posix_memalign_fn)(to, align, size);
  allocated(HW_ENTRY_POSIX_MEMALIGN, size, align, error ? NULL : *to);
  return error;
}

HW_OPERATION void *hw_do_aligned_alloc(size_t align, size_t size)
{
  if (!is_found(HW_ENTRY_ALIGNED_ALLOC))
    return boot_aligned(align, size);
  return allocated(HW_ENTRY_ALIGNED_ALLOC, size, align, HWI_REAL(ALIGNED_ALLOC, hwi_aligned_alloc_fn)(align, size));
}

HW_OPERATION void *hw_do_memalign(size_t align, size_t size)
{
  if (!is_found(HW_ENTRY_MEMALIGN))
    return boot_aligned(align, size);
  return allocated(HW_ENTRY_MEMALIGN, size, align, HWI_REAL(MEMALIGN, hwi_aligned_alloc_fn)(align, size));
}

HW_OPERATION void *hw_do_valloc(size_t size)
{
  if (!is_found(HW_ENTRY_VALLOC))
    return boot_aligned(HWI_OS_PAGE_BYTES, size);
  return allocated(HW_ENTRY_VALLOC, size, 0, HWI_REAL(VALLOC, hwi_malloc_fn)(size));
}

HW_OPERATION void *hw_do_pvalloc(size_t size)
{
  if (!is_found(HW_ENTRY_PVALLOC))
    return boot_aligned(HWI_OS_PAGE_BYTES, size);
  return allocated(HW_ENTRY_PVALLOC, size, 0, HWI_REAL(PVALLOC, hwi_malloc_fn)(size));
}

HW_OPERATION size_t hw_do_malloc_usable_size(void *block)
{
  if (UNLIKELY(hwi_boot_owns(block)))
    return hwi_boot_size(block);
  return is_found(HW_ENTRY_MALLOC_USABLE_SIZE) ? hwi_real_usable_size_for_program(block) : 0;
}

HW_OPERATION void hw_do_free_sized(void *block, size_t size)
{
  (void)size;
  if (freed(HW_ENTRY_FREE_SIZED, block))
    HWI_REAL(FREE, hwi_free_fn)(block);
}

HW_OPERATION void hw_do_free_aligned_sized(void *block, size_t align, size_t size)
{
  (void)align, (void)size;
  if (freed(HW_ENTRY_FREE_ALIGNED_SIZED, block))
    HWI_REAL(FREE, hwi_free_fn)(block);
}

/* --- C++ --- */

static __attribute__((noinline)) void *new_unusually(struct hwi_caller caller, struct request request, const void *tag)
{
  struct hwi_new_call call = {caller, request.entry, request.size, request.align, tag};
  return hwi_operator_new(&call);
}

static __attribute__((noinline)) void report_new(struct hwi_caller caller, struct request request, void *block)
{
  hwi_record_alloc(&caller, request.entry, request.size, request.align, block);
}

HW_OPERATION void *new_of(enum hw_entry entry, size_t size, size_t align, const void *tag)
{
  if (!is_found(HW_ENTRY_MALLOC))
    return boot_aligned(align ? align : HWI_BOOT_ALIGN, size);
  if (UNLIKELY(hwi_operator_modes[entry] != HWI_OPERATOR_OWN))
    return new_unusually(HWI_CALLER(), (struct request){entry, size, align}, tag);
  void *block = align ? hwi_operator_aligned_block(align, size) : HWI_REAL(MALLOC, hwi_malloc_fn)(size ? size : 1);
  if (UNLIKELY(!block))
    return new_unusually(HWI_CALLER(), (struct request){entry, size, align}, tag);
  bool is_done = is_sample() ? hwi_event_skip_alloc(HWI_CALLER().pc, size)
                             : !align && hwi_event_alloc(HWI_CALLER(), entry, size, block);
  if (!LIKELY(is_done))
    report_new(HWI_CALLER(), (struct request){entry, size, align}, block);
  return block;
}

static __attribute__((noinline)) void *new_in_sample(struct hwi_arch_left_frame frame, enum hw_entry entry, size_t size,
                                                     void *block)
{
  const struct request request = {entry, size, 0};
  if (UNLIKELY(!block))
    return new_unusually(caller_of(frame), request, NULL);
  report_new(caller_of(frame), request, block);
  return block;
}

BODY void *sampled_new(size_t size, enum hw_entry entry)
{
  void *block = HWI_REAL(MALLOC, hwi_malloc_fn)(size ? size : 1);
  if (LIKELY(block) && LIKELY(hwi_event_skip_alloc(HWI_CALLER().pc, size)))
    return block;
  return new_in_sample(hwi_arch_leaving_frame(), entry, size, block);
}

BODY void *recorded_new(size_t size, enum hw_entry entry)
{
  return new_of(entry, size, 0, NULL);
}

HW_OPERATION void *hw_do_new(enum hw_entry entry, size_t size)
{
  bool is_simple = is_sample() && LIKELY(hwi_operator_modes[entry] == HWI_OPERATOR_OWN);
  return is_simple ? sampled_new(size, entry) : recorded_new(size, entry);
}

HW_OPERATION void *hw_do_new_nothrow(enum hw_entry entry, size_t size, const void *tag)
{
  return new_of(entry, size, 0, tag);
}

HW_OPERATION void *hw_do_new_aligned(enum hw_entry entry, size_t size, size_t align)
{
  return new_of(entry, size, align, NULL);
}

HW_OPERATION void *hw_do_new_aligned_nothrow(enum hw_entry entry, size_t size, size_t align, const void *tag)
{
  return new_of(entry, size, align, tag);
}

BODY void delete_unusually(void *block, enum hw_entry entry, size_t size, size_t align, const void *tag)
{
  struct hwi_delete_call call = {HWI_CALLER().pc, entry, block, size, align, tag};
  hwi_operator_delete(&call);
}

HW_OPERATION void delete_of(enum hw_entry entry, void *block, size_t size, size_t align, const void *tag)
{
  if (UNLIKELY(hwi_operator_modes[entry] != HWI_OPERATOR_OWN) && block && !hwi_boot_owns(block))
    delete_unusually(block, entry, size, align, tag);
  else if (is_sample())
    sampled_free(block, entry);
  else
    recorded_free(block, entry);
}

HW_OPERATION void hw_do_delete(enum hw_entry entry, void *block)
{
  delete_of(entry, block, 0, 0, NULL);
}

HW_OPERATION void hw_do_delete_nothrow(enum hw_entry entry, void *block, const void *tag)
{
  delete_of(entry, block, 0, 0, tag);
}

HW_OPERATION void hw_do_delete_sized(enum hw_entry entry, void *block, size_t size)
{
  delete_of(entry, block, size, 0, NULL);
}

HW_OPERATION void hw_do_delete_aligned(enum hw_entry entry, void *block, size_t align)
{
  delete_of(entry, block, 0, align, NULL);
}

HW_OPERATION void hw_do_delete_aligned_nothrow(enum hw_entry entry, void *block, size_t align, const void *tag)
{
  delete_of(entry, block, 0, align, tag);
}

HW_OPERATION void hw_do_delete_sized_aligned(enum hw_entry entry, void *block, size_t size, size_t align)
{
  delete_of(entry, block, size, align, NULL);
}
