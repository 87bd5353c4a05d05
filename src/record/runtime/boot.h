/* boot.h - blocks for the time before there is a real allocator
 *
 * The resolvers of other libraries' functions run before the loader has relocated this library, and may allocate. Such
 * requests get blocks from a buffer in .bss, extended by mapped regions; they are never reused. Everything here is
 * async-signal-safe and lock-free, works before this library is relocated, and never frees.
 */
#ifndef HWI_RECORD_RUNTIME_BOOT_H
#define HWI_RECORD_RUNTIME_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HWI_BOOT_BUFFER_BYTES = 32 << 10, HWI_BOOT_ALIGN = 16 };

/* Returns a zeroed block of `size` bytes, aligned to `align` (a power of two), or NULL if there is no memory. */
void *hwi_boot_alloc(size_t size, size_t align);

/* Returns the requested size of `block`, a boot block; all of it may be used. */
size_t hwi_boot_size(const void *block);

/* Returns how many boot blocks were allocated: they have no stack in the trace. */
uint64_t hwi_boot_block_count(void);

/* There are boot blocks. */
extern __attribute__((visibility("hidden"))) bool hwi_boot_is_used;

/* The same as hwi_boot_owns, if there are boot blocks. */
bool hwi_boot_has(const void *block);

/* Returns whether `block` is a boot block. Called on every free and malloc_usable_size; most programs have no such blocks. */
static inline bool hwi_boot_owns(const void *block)
{
  return __builtin_expect(hwi_boot_is_used, 0) && hwi_boot_has(block);
}

#endif
