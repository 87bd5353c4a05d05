/* annotate.h - puts the owner of each block into memory in front of it, where a core dump or a debugger probe finds it
 *
 *   #define HW_ANNOTATE_ALLOC(bytes, align) my_alloc(bytes, align)     the allocator beneath: any that there is
 *   #define HW_ANNOTATE_FREE(memory) my_free(memory)
 *   #include <heapwright/annotate.h>
 *
 *   void *block = hw_annotate_malloc(100);                             instead of my_alloc
 *   hw_annotate_free(block);
 *
 *   heapwright core PROGRAM --raw memory.bin                           lists the blocks with their stacks
 *
 * The header needs no libc and no operating system: only <stdbool.h>, <stddef.h> and <stdint.h>. It works on 32-bit and
 * 64-bit machines of either byte order, in C11 and C++17, with gcc and clang. Include it in exactly one source file: all of its functions
 * are static. docs/annotate.md describes every byte that it writes.
 *
 * header     16 bytes directly in front of a block: who allocated it, and how many bytes.
 * stack      return addresses, innermost first. Each different stack is stored once, in the table of stacks; its number
 *            is its place there.
 * root       describes the table of stacks and these settings. It is found by its magic.
 * red zone   bytes directly behind a block, whose value is known: a write beyond the end changes them.
 * incident   something that the program must not do, found when it frees a block.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_ANNOTATE_H
#define HEAPWRIGHT_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- settings, each to be defined before this header is included --- */

/* The most frames of a stack. */
#ifndef HW_ANNOTATE_FRAMES
#define HW_ANNOTATE_FRAMES 16
#endif

/* The alignment of all blocks of the allocator beneath, a power of two, from 8 on. */
#ifndef HW_ANNOTATE_ALIGN
#define HW_ANNOTATE_ALIGN 16
#endif

/* 0: the stack is in the table. 1: each block has its whole stack in front of its header, for memory of which only parts
 * can be read. It costs HW_ANNOTATE_FRAMES + 5 words a block. */
#ifndef HW_ANNOTATE_INLINE
#define HW_ANNOTATE_INLINE 0
#endif

/* Bytes of a red zone; 0: none. */
#ifndef HW_ANNOTATE_RED_ZONE
#define HW_ANNOTATE_RED_ZONE 0
#endif

/* Bytes of the table of stacks, which is a static array, unless HW_ANNOTATE_CHUNK gives other memory. */
#ifndef HW_ANNOTATE_TABLE_BYTES
#define HW_ANNOTATE_TABLE_BYTES 16384
#endif

/* Places of its index, a power of two. */
#ifndef HW_ANNOTATE_BUCKETS
#define HW_ANNOTATE_BUCKETS 256
#endif

/* Around changes of the table, if there are several threads or cores. They may be nested in no other way. */
#ifndef HW_ANNOTATE_LOCK
#define HW_ANNOTATE_LOCK() ((void)0)
#define HW_ANNOTATE_UNLOCK() ((void)0)
#endif

/* A number of the calling thread, for inline stacks. */
#ifndef HW_ANNOTATE_THREAD
#define HW_ANNOTATE_THREAD() 0
#endif

/* A number that differs from run to run, if there is one. Blocks of earlier runs in the same memory are then not taken
 * for blocks of this one. */
#ifndef HW_ANNOTATE_KEY
#define HW_ANNOTATE_KEY() 0
#endif

/* Called for each incident, after it was stored in the root. */
#ifndef HW_ANNOTATE_INCIDENT
#define HW_ANNOTATE_INCIDENT(incident) ((void)(incident))
#endif

/* HW_ANNOTATE_BACKTRACE(frames, max): stores at most `max` return addresses, innermost first, at `uintptr_t *frames`, and
 * returns how many. The default is hw_annotate_backtrace. */

/* --- what is in memory: see docs/annotate.md --- */

enum {
  HW_ANNOTATE_VERSION = 1,
  HW_ANNOTATE_HEADER_BYTES = 16,
  HW_ANNOTATE_SIZE_BITS = 48, /* of the header's `meta`: size, then log2 of the alignment, then the mark */
  HW_ANNOTATE_ALIGN_SHIFT = 48,
  HW_ANNOTATE_MARK_SHIFT = 56,
  HW_ANNOTATE_MARK = 0x48,
  HW_ANNOTATE_RED_BYTE = 0xfb,
  HW_ANNOTATE_POISON_BYTE = 0xdf,
  HW_ANNOTATE_BEGIN_MAGIC = 0x50616548, /* "HeaP" in little-endian memory: begins an inline stack */
  HW_ANNOTATE_END_MAGIC = 0x466f7250,   /* "ProF" ends it */
  HW_ANNOTATE_INLINE_WORDS = 5,         /* of an inline stack, except frames: magic, size, thread, sequence; magic */
  HW_ANNOTATE_UNIT_BYTES = 8,           /* a stack's number counts these in the table */
  HW_ANNOTATE_INCIDENTS = 16,
};

struct hw_annotation {
  uint32_t check; /* hw_annotate_check of all else; its complement if the block was freed */
  uint32_t stack; /* 0: unknown */
  uint64_t meta;
};

struct hw_annotate_entry { /* of the table of stacks */
  uint32_t next;           /* in the same bucket; 0: none */
  uint32_t hash;
  uint32_t count;
  uint32_t reserved;
  uintptr_t frames[];
};

enum hw_annotate_fault {
  HW_ANNOTATE_DAMAGED = 1, /* the header is not one that was written here: overwritten, or no block of ours */
  HW_ANNOTATE_FREED_TWICE,
  HW_ANNOTATE_OVERRUN,           /* the red zone has changed */
  HW_ANNOTATE_WRITTEN_AFTER_FREE /* a kept block has changed */
};

struct hw_annotate_incident {
  uint64_t block;
  uint64_t at;    /* the first byte that is wrong */
  uint32_t fault; /* enum hw_annotate_fault */
  uint32_t stack; /* that found it */
};

struct hw_annotate_root {
  char magic[16];
  uint32_t byte_order; /* 0x01020304 */
  uint16_t version;
  uint8_t word_bytes;
  uint8_t is_inline;
  uint64_t self; /* the address of this struct */
  uint64_t key;
  uint64_t chunks;      /* the address of an array of words: addresses of the parts of the table */
  uint32_t chunk_log2;  /* bytes of a part */
  uint32_t chunk_count; /* parts in use */
  uint32_t used;        /* units of the table in use */
  uint32_t stack_count;
  uint32_t stacks_lost; /* stacks for which there was no room: their blocks have number 0 */
  uint32_t frames_max;
  uint32_t red_zone_bytes;
  uint32_t front_bytes; /* of the header and the inline stack */
  uint32_t align;
  uint32_t sequence; /* of the latest block with an inline stack */
  uint32_t incident_count;
  uint32_t covers_all;                                          /* 1: all blocks of the process's malloc have headers */
  struct hw_annotate_incident incidents[HW_ANNOTATE_INCIDENTS]; /* a ring */
};

/* --- the table of stacks --- */

#define HW_ANNOTATE_FUNCTION static inline __attribute__((unused))
#define HW_ANNOTATE_SLOW static __attribute__((noinline, unused))

/* HW_ANNOTATE_CHUNK(index): memory for a part of 2^HW_ANNOTATE_CHUNK_LOG2 bytes, zeroed and aligned to 16, or NULL. */
#ifndef HW_ANNOTATE_CHUNK
#define HW_ANNOTATE_CHUNK_LOG2 31
#define HW_ANNOTATE_CHUNKS 1
#define HW_ANNOTATE_LIMIT HW_ANNOTATE_TABLE_BYTES
static unsigned char hw_annotate_table[HW_ANNOTATE_TABLE_BYTES] __attribute__((aligned(16)));
#define HW_ANNOTATE_CHUNK(index) ((void)(index), (void *)hw_annotate_table)
#else
#define HW_ANNOTATE_LIMIT ((uint32_t)1 << HW_ANNOTATE_CHUNK_LOG2)
#endif

static struct hw_annotate_root hw_annotate_state;
static uintptr_t hw_annotate_chunks[HW_ANNOTATE_CHUNKS];
static uint32_t hw_annotate_buckets[HW_ANNOTATE_BUCKETS];

#define HW_ANNOTATE_UNITS_LOG2 (HW_ANNOTATE_CHUNK_LOG2 - 3) /* units of a part */

/* Returns the number before. On machines that cannot do it in one step, two threads may get the same number. */
HW_ANNOTATE_FUNCTION uint32_t hw_annotate_increment(uint32_t *number)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
  return __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
#else
  return (*number)++;
#endif
}

/* Returns the entry of a stack that the table has. */
HW_ANNOTATE_FUNCTION struct hw_annotate_entry *hw_annotate_entry_of(uint32_t stack)
{
  uintptr_t chunk = hw_annotate_chunks[HW_ANNOTATE_CHUNKS == 1 ? 0 : stack >> HW_ANNOTATE_UNITS_LOG2];
  uintptr_t unit = HW_ANNOTATE_CHUNKS == 1 ? stack : stack & (((uint32_t)1 << HW_ANNOTATE_UNITS_LOG2) - 1);
  return (struct hw_annotate_entry *)(chunk + unit * HW_ANNOTATE_UNIT_BYTES);
}

/* Returns the number for a stack of that many bytes, or 0 if there is no room. */
HW_ANNOTATE_FUNCTION uint32_t hw_annotate_reserve(uint32_t units)
{
  const uint32_t per_chunk = HW_ANNOTATE_LIMIT / HW_ANNOTATE_UNIT_BYTES;
  struct hw_annotate_root *root = &hw_annotate_state;
  uint32_t chunk = HW_ANNOTATE_CHUNKS == 1 ? 0 : root->used >> HW_ANNOTATE_UNITS_LOG2;
  uint32_t in_chunk = HW_ANNOTATE_CHUNKS == 1 ? root->used : root->used & (per_chunk - 1);
  if (units > per_chunk - in_chunk) {
    chunk++;
    in_chunk = 0;
  }
  if (chunk >= HW_ANNOTATE_CHUNKS)
    return 0;
  if (chunk >= root->chunk_count) {
    void *memory = HW_ANNOTATE_CHUNK(chunk);
    if (!memory)
      return 0;
    hw_annotate_chunks[chunk] = (uintptr_t)memory;
    root->chunk_count = chunk + 1;
    in_chunk = chunk ? 0 : 1; /* number 0 is none */
  }
  uint32_t number = (HW_ANNOTATE_CHUNKS == 1 ? 0 : chunk << HW_ANNOTATE_UNITS_LOG2) + in_chunk;
  if (units > per_chunk - in_chunk)
    return 0;
  root->used = number + units;
  return number;
}

HW_ANNOTATE_FUNCTION bool hw_annotate_is_entry(const struct hw_annotate_entry *entry, uint32_t hash,
                                               const uintptr_t *frames, uint32_t count)
{
  if (entry->hash != hash || entry->count != count)
    return false;
  for (uint32_t i = 0; i < count; i++)
    if (entry->frames[i] != frames[i])
      return false;
  return true;
}

HW_ANNOTATE_FUNCTION uint32_t hw_annotate_find(uint32_t first, uint32_t hash, const uintptr_t *frames, uint32_t count)
{
  while (first && !hw_annotate_is_entry(hw_annotate_entry_of(first), hash, frames, count))
    first = hw_annotate_entry_of(first)->next;
  return first;
}

HW_ANNOTATE_SLOW uint32_t hw_annotate_add(uint32_t *bucket, uint32_t hash, const uintptr_t *frames, uint32_t count)
{
  struct hw_annotate_root *root = &hw_annotate_state;
  HW_ANNOTATE_LOCK();
  uint32_t number = hw_annotate_find(*bucket, hash, frames, count);
  if (!number) {
    uint32_t bytes = (uint32_t)(sizeof(struct hw_annotate_entry) + count * sizeof *frames);
    number = hw_annotate_reserve((bytes + HW_ANNOTATE_UNIT_BYTES - 1) / HW_ANNOTATE_UNIT_BYTES);
    if (number) {
      struct hw_annotate_entry *entry = hw_annotate_entry_of(number);
      entry->next = *bucket;
      entry->hash = hash;
      entry->count = count;
      for (uint32_t i = 0; i < count; i++)
        ((volatile uintptr_t *)entry->frames)[i] = frames[i];
      root->stack_count++;
      __atomic_store_n(bucket, number, __ATOMIC_RELEASE);
    } else {
      root->stacks_lost++;
    }
  }
  HW_ANNOTATE_UNLOCK();
  return number;
}

/* Returns the number of a stack, which is stored if it is new; 0 if there is no room for it. */
HW_ANNOTATE_FUNCTION uint32_t hw_annotate_stack(const uintptr_t *frames, uint32_t count)
{
  uint32_t hash = count;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t frame = frames[i];
    hash = (hash ^ (uint32_t)frame ^ (uint32_t)(frame >> 32)) * 0x9e3779b1u;
    hash ^= hash >> 15;
  }
  uint32_t *bucket = &hw_annotate_buckets[hash & (HW_ANNOTATE_BUCKETS - 1)];
  uint32_t number = hw_annotate_find(__atomic_load_n(bucket, __ATOMIC_ACQUIRE), hash, frames, count);
  return number ? number : hw_annotate_add(bucket, hash, frames, count);
}

/* --- the stack of the caller --- */

/* The default of HW_ANNOTATE_BACKTRACE. On x86 it follows frame pointers, which code has that was compiled with
 * -fno-omit-frame-pointer. On Arm, where gcc makes no chain of them, it searches the stack for what look like return
 * addresses, if HW_ANNOTATE_CODE_BEGIN and _END (addresses of the code) and HW_ANNOTATE_STACK_END are defined; a word that an
 * earlier call left there may be among them. Elsewhere it has one frame. It must not be inlined. */
#ifndef HW_ANNOTATE_BACKTRACE
#define HW_ANNOTATE_BACKTRACE(frames, max) hw_annotate_backtrace(frames, max, __builtin_return_address(0))
#if defined __arm__ && defined HW_ANNOTATE_CODE_BEGIN
#define HW_ANNOTATE_THUMB ((uintptr_t)1) /* set in return addresses, and not part of them */

/* Returns whether the instruction before the address is a call. */
HW_ANNOTATE_FUNCTION bool hw_annotate_is_return(uintptr_t address)
{
  const uintptr_t code = address & ~HW_ANNOTATE_THUMB;
  if (code == address || code < (uintptr_t)(HW_ANNOTATE_CODE_BEGIN) + 4 || code >= (uintptr_t)(HW_ANNOTATE_CODE_END))
    return false;
  const uint16_t *before = (const uint16_t *)code;
  const bool is_bl = (before[-2] & 0xf800) == 0xf000 && (before[-1] & 0xd000) == 0xd000;
  return is_bl || (before[-1] & 0xff87) == 0x4780;
}

HW_ANNOTATE_SLOW uint32_t hw_annotate_backtrace(uintptr_t *frames, uint32_t max, void *caller)
{
  uint32_t count = 0;
  uintptr_t first = (uintptr_t)caller;
  bool is_past = false; /* words below the caller's return address are of this header's functions, as `frames` is */
  const uintptr_t *end = (const uintptr_t *)(HW_ANNOTATE_STACK_END);
  for (const uintptr_t *at = frames + max; at < end && count < max; at++) {
    is_past |= *at == first;
    if (is_past && hw_annotate_is_return(*at))
      frames[count++] = *at & ~HW_ANNOTATE_THUMB;
  }
  if (!count && max)
    frames[count++] = first & ~HW_ANNOTATE_THUMB;
  return count;
}
#elif defined __x86_64__ || defined __i386__
HW_ANNOTATE_SLOW uint32_t hw_annotate_backtrace(uintptr_t *frames, uint32_t max, void *caller)
{
  uint32_t count = 0;
  const uintptr_t *frame = (const uintptr_t *)__builtin_frame_address(0), *limit = frame;
  bool is_past = false;
  while (frame >= limit && frame - limit < 1 << 16 && !((uintptr_t)frame & (sizeof *frame - 1)) && count < max) {
    is_past |= frame[1] == (uintptr_t)caller;
    if (!frame[1])
      break;
    if (is_past)
      frames[count++] = frame[1];
    limit = frame + 2;
    frame = (const uintptr_t *)frame[0];
  }
  if (!count && max)
    frames[count++] = (uintptr_t)caller;
  return count;
}
#else
HW_ANNOTATE_SLOW uint32_t hw_annotate_backtrace(uintptr_t *frames, uint32_t max, void *caller)
{
  if (max)
    frames[0] = (uintptr_t)caller;
  return max ? 1 : 0;
}
#endif
#endif

/* HW_ANNOTATE_STACK(): the number of the caller's stack. Default: HW_ANNOTATE_BACKTRACE, and the table. It is used only in
 * the functions that the program calls, so that the return address there is the program's. */
#ifndef HW_ANNOTATE_STACK
#define HW_ANNOTATE_STACK()                                                                       \
  __extension__({                                                                                 \
    uintptr_t hw_frames[HW_ANNOTATE_FRAMES];                                                      \
    hw_annotate_begin();                                                                          \
    hw_annotate_stack(hw_frames, (uint32_t)HW_ANNOTATE_BACKTRACE(hw_frames, HW_ANNOTATE_FRAMES)); \
  })
#endif

/* --- headers --- */

/* Writes the root, if it is not written yet. The library's other functions call it. */
HW_ANNOTATE_SLOW void hw_annotate_begin_now(void)
{
  static const char magic[] = "heapwrig-owners\n";
  struct hw_annotate_root *root = &hw_annotate_state;
  if (!root->frames_max)
    root->frames_max = HW_ANNOTATE_FRAMES;
  root->byte_order = 0x01020304;
  root->version = HW_ANNOTATE_VERSION;
  root->word_bytes = sizeof(uintptr_t);
  root->self = (uintptr_t)root;
  root->chunks = (uintptr_t)hw_annotate_chunks;
  root->chunk_log2 = HW_ANNOTATE_CHUNK_LOG2;
  root->align = HW_ANNOTATE_ALIGN;
  root->key = HW_ANNOTATE_KEY();
  uint32_t inline_bytes =
      root->is_inline ? (root->frames_max + HW_ANNOTATE_INLINE_WORDS) * (uint32_t)sizeof(uintptr_t) : 0;
  root->front_bytes =
      HW_ANNOTATE_HEADER_BYTES + ((inline_bytes + HW_ANNOTATE_ALIGN - 1) & ~(uint32_t)(HW_ANNOTATE_ALIGN - 1));
  for (unsigned i = 0; i < sizeof root->magic; i++)
    ((volatile char *)root->magic)[i] = magic[i]; /* so that no memcpy is called */
}

HW_ANNOTATE_FUNCTION void hw_annotate_begin(void)
{
  if (__builtin_expect(!hw_annotate_state.self, 0)) {
    hw_annotate_state.is_inline = HW_ANNOTATE_INLINE;
    hw_annotate_state.red_zone_bytes = HW_ANNOTATE_RED_ZONE;
    hw_annotate_begin_now();
  }
}

HW_ANNOTATE_FUNCTION struct hw_annotation *hw_annotation_of(const void *block)
{
  return (struct hw_annotation *)((uintptr_t)block - HW_ANNOTATE_HEADER_BYTES);
}

HW_ANNOTATE_FUNCTION uint32_t hw_annotate_check(uint64_t key, uint64_t address, uint32_t stack, uint64_t meta)
{
  const uint64_t mixed = key ^ address ^ (uint64_t)stack << 32 ^ (meta << 24 | meta >> 40);
  return (uint32_t)((mixed * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

HW_ANNOTATE_FUNCTION uint32_t hw_annotate_check_of(const void *block)
{
  const struct hw_annotation *header = hw_annotation_of(block);
  return hw_annotate_check(hw_annotate_state.key, (uintptr_t)block, header->stack, header->meta);
}

HW_ANNOTATE_FUNCTION size_t hw_annotate_size(const void *block)
{
  return (size_t)(hw_annotation_of(block)->meta & ((UINT64_C(1) << HW_ANNOTATE_SIZE_BITS) - 1));
}

/* Returns how far in front of a block its memory begins. `align` is at least HW_ANNOTATE_ALIGN. */
HW_ANNOTATE_FUNCTION size_t hw_annotate_front(size_t align)
{
  return (hw_annotate_state.front_bytes + align - 1) & ~(align - 1);
}

/* Returns the memory that a block is in, as the allocator beneath knows it. The header is sound. */
HW_ANNOTATE_FUNCTION void *hw_annotate_memory_of(const void *block)
{
  unsigned log2 = (unsigned)(hw_annotation_of(block)->meta >> HW_ANNOTATE_ALIGN_SHIFT) & 63;
  return (void *)((uintptr_t)block - hw_annotate_front(log2 ? (size_t)1 << log2 : HW_ANNOTATE_ALIGN));
}

HW_ANNOTATE_FUNCTION void hw_annotate_fill(void *to, unsigned char byte, size_t count)
{
  volatile unsigned char *at = (volatile unsigned char *)to; /* so that no memset is called */
  for (size_t i = 0; i < count; i++)
    at[i] = byte;
}

/* Returns the first of the bytes that has another value, or NULL. */
HW_ANNOTATE_FUNCTION const unsigned char *hw_annotate_other(const void *from, unsigned char byte, size_t count)
{
  const unsigned char *at = (const unsigned char *)from;
  for (size_t i = 0; i < count; i++)
    if (at[i] != byte)
      return &at[i];
  return NULL;
}

HW_ANNOTATE_SLOW void hw_annotate_write_inline(void *block, size_t size, uint32_t stack)
{
  struct hw_annotate_root *root = &hw_annotate_state;
  volatile uintptr_t *end = (volatile uintptr_t *)((uintptr_t)block - HW_ANNOTATE_HEADER_BYTES);
  volatile uintptr_t *words = end - (root->frames_max + HW_ANNOTATE_INLINE_WORDS);
  const struct hw_annotate_entry *entry = stack ? hw_annotate_entry_of(stack) : NULL;
  words[0] = HW_ANNOTATE_BEGIN_MAGIC;
  words[1] = size;
  words[2] = (uintptr_t)HW_ANNOTATE_THREAD();
  words[3] = hw_annotate_increment(&root->sequence) + 1;
  for (uint32_t i = 0; i < root->frames_max; i++)
    words[4 + i] = entry && i < entry->count ? entry->frames[i] : 0;
  end[-1] = HW_ANNOTATE_END_MAGIC;
}

/* Writes the header and all else around a block. `align_log2`: 0 if the block's alignment is that of all blocks. */
HW_ANNOTATE_FUNCTION void hw_annotate_write(void *block, size_t size, unsigned align_log2, uint32_t stack)
{
  struct hw_annotation *header = hw_annotation_of(block);
  const uint64_t meta =
      size | (uint64_t)align_log2 << HW_ANNOTATE_ALIGN_SHIFT | (uint64_t)HW_ANNOTATE_MARK << HW_ANNOTATE_MARK_SHIFT;
  header->stack = stack;
  header->meta = meta;
  if (__builtin_expect(hw_annotate_state.red_zone_bytes != 0, 0))
    hw_annotate_fill((char *)block + size, HW_ANNOTATE_RED_BYTE, hw_annotate_state.red_zone_bytes);
  if (__builtin_expect(hw_annotate_state.is_inline, 0))
    hw_annotate_write_inline(block, size, stack);
  header->check = hw_annotate_check(hw_annotate_state.key, (uintptr_t)block, stack, meta);
}

/* Marks a block as freed. */
HW_ANNOTATE_FUNCTION void hw_annotate_retire(void *block)
{
  struct hw_annotation *header = hw_annotation_of(block);
  header->check = ~header->check;
  if (__builtin_expect(hw_annotate_state.is_inline, 0)) {
    uintptr_t *end = (uintptr_t *)header;
    end[-1] = 0;
    end[-(ptrdiff_t)(hw_annotate_state.frames_max + HW_ANNOTATE_INLINE_WORDS)] = 0;
  }
}

HW_ANNOTATE_SLOW void hw_annotate_note(enum hw_annotate_fault fault, const void *block, const void *at, uint32_t stack)
{
  struct hw_annotate_root *root = &hw_annotate_state;
  uint32_t number = hw_annotate_increment(&root->incident_count);
  struct hw_annotate_incident *incident = &root->incidents[number % HW_ANNOTATE_INCIDENTS];
  *incident = (struct hw_annotate_incident){(uintptr_t)block, (uintptr_t)at, fault, stack};
  HW_ANNOTATE_INCIDENT(incident);
}

/* Returns whether the block may be freed: it is allocated, and its header is sound. Otherwise the incident is noted,
 * and the block must be left alone. `stack`: the number of the stack that frees it, or 0. */
HW_ANNOTATE_FUNCTION bool hw_annotate_is_sound(const void *block, uint32_t stack)
{
  const uint32_t check = hw_annotate_check_of(block), found = hw_annotation_of(block)->check;
  if (__builtin_expect(found != check, 0)) {
    hw_annotate_note(found == ~check ? HW_ANNOTATE_FREED_TWICE : HW_ANNOTATE_DAMAGED, block, hw_annotation_of(block),
                     stack);
    return false;
  }
  if (__builtin_expect(hw_annotate_state.red_zone_bytes != 0, 0)) {
    const unsigned char *wrong = hw_annotate_other((const char *)block + hw_annotate_size(block), HW_ANNOTATE_RED_BYTE,
                                                   hw_annotate_state.red_zone_bytes);
    if (wrong)
      hw_annotate_note(HW_ANNOTATE_OVERRUN, block, wrong, stack);
  }
  return true;
}

/* --- the functions that a program calls instead of its allocator's --- */

#ifdef HW_ANNOTATE_ALLOC

/* Returns a block of `size` bytes with the given stack, or NULL. `align`: a power of two. */
HW_ANNOTATE_FUNCTION void *hw_annotate_allocate(size_t size, size_t align, uint32_t stack)
{
  const size_t to_align = align > HW_ANNOTATE_ALIGN ? align : HW_ANNOTATE_ALIGN, front = hw_annotate_front(to_align);
  const size_t around = front + hw_annotate_state.red_zone_bytes;
  if (size > (size_t)PTRDIFF_MAX - around)
    return NULL;
  char *memory = (char *)HW_ANNOTATE_ALLOC(size + around, to_align);
  if (!memory)
    return NULL;
  hw_annotate_write(memory + front, size, align > HW_ANNOTATE_ALIGN ? (unsigned)__builtin_ctzll(align) : 0, stack);
  return memory + front;
}

HW_ANNOTATE_SLOW void *hw_annotate_malloc(size_t size)
{
  hw_annotate_begin();
  uint32_t stack = HW_ANNOTATE_STACK();
  return hw_annotate_allocate(size, HW_ANNOTATE_ALIGN, stack);
}

HW_ANNOTATE_SLOW void *hw_annotate_aligned(size_t align, size_t size)
{
  hw_annotate_begin();
  uint32_t stack = HW_ANNOTATE_STACK();
  return hw_annotate_allocate(size, align, stack);
}

HW_ANNOTATE_SLOW void *hw_annotate_calloc(size_t count, size_t size)
{
  size_t bytes;
  hw_annotate_begin();
  if (__builtin_mul_overflow(count, size, &bytes))
    return NULL;
  uint32_t stack = HW_ANNOTATE_STACK();
  void *block = hw_annotate_allocate(bytes, HW_ANNOTATE_ALIGN, stack);
  if (block)
    hw_annotate_fill(block, 0, bytes);
  return block;
}

/* Does nothing for NULL, and for an address that is no block of these functions or whose header is damaged. */
HW_ANNOTATE_SLOW void hw_annotate_free(void *block)
{
  if (!block)
    return;
  hw_annotate_begin();
  if (hw_annotate_is_sound(block, 0)) {
    hw_annotate_retire(block);
    HW_ANNOTATE_FREE(hw_annotate_memory_of(block));
  }
}

/* As realloc; `size` 0 frees the block. Returns NULL if there is no memory, or if the block's header is damaged; the
 * block is then as before. */
HW_ANNOTATE_SLOW void *hw_annotate_realloc(void *block, size_t size)
{
  hw_annotate_begin();
  uint32_t stack = HW_ANNOTATE_STACK();
  if (!block)
    return hw_annotate_allocate(size, HW_ANNOTATE_ALIGN, stack);
  if (!size) {
    hw_annotate_free(block);
    return NULL;
  }
  if (!hw_annotate_is_sound(block, stack))
    return NULL;
  char *moved = (char *)hw_annotate_allocate(size, HW_ANNOTATE_ALIGN, stack);
  if (!moved)
    return NULL;
  size_t bytes = hw_annotate_size(block) < size ? hw_annotate_size(block) : size;
  for (size_t i = 0; i < bytes; i++)
    ((volatile char *)moved)[i] = ((const char *)block)[i];
  hw_annotate_retire(block);
  HW_ANNOTATE_FREE(hw_annotate_memory_of(block));
  return moved;
}

#endif
#endif
