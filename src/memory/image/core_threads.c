/* core_threads.c - the registers of threads in the notes of a core dump */
#include "memory/image/core_threads.h"

#include <elf.h>

#include "platform/x86_registers.h"
#include "platform/x86_vectors.h"
#include "trace/grow.h"

/* Where NT_PRSTATUS has what. */
struct layout {
  unsigned machine, word_bytes;
  unsigned bytes, tid_off, registers_off;
  unsigned count, stack_pointer, program_counter; /* of registers */
  int thread_pointer;                             /* register; -1: it is in another note */
};
enum { SIGNAL_OFF = 12, NO_REGISTER = -1 };

static const struct layout layouts[] = {
    {EM_X86_64, 8, 336, 32, 112, HWI_X86_64_REGISTERS, HWI_X86_64_RSP, HWI_X86_64_RIP, HWI_X86_64_FS_BASE},
    {EM_386, 4, 144, 24, 72, HWI_I386_REGISTERS, HWI_I386_ESP, HWI_I386_EIP, NO_REGISTER},
};

static const struct layout *layout_of(const struct hwi_memory *memory, unsigned machine)
{
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (layouts[i].machine == machine && layouts[i].word_bytes == memory->word_bytes)
      return &layouts[i];
  return NULL;
}

bool hwi_core_take_thread(struct hwi_memory *memory, unsigned machine, const unsigned char *bytes, size_t size)
{
  const struct layout *layout = layout_of(memory, machine);
  if (!layout || size < layout->bytes)
    return true;
  if (!hwi_grow((void **)&memory->threads, &memory->thread_capacity, memory->thread_count + 1, sizeof *memory->threads))
    return false;
  struct hwi_memory_thread *thread = &memory->threads[memory->thread_count++];
  *thread = (struct hwi_memory_thread){.tid = hwi_memory_load_32(memory, bytes + layout->tid_off),
                                       .register_count = layout->count};
  for (unsigned i = 0; i < layout->count; i++)
    thread->registers[i] = hwi_memory_load(memory, bytes + layout->registers_off + (size_t)i * layout->word_bytes);
  thread->stack_pointer = thread->registers[layout->stack_pointer];
  thread->program_counter = thread->registers[layout->program_counter];
  if (layout->thread_pointer != NO_REGISTER)
    thread->thread_pointer = thread->registers[layout->thread_pointer];
  if (memory->thread_count == 1)
    memory->signal = (int)(hwi_memory_load_32(memory, bytes + SIGNAL_OFF) & UINT16_MAX);
  return true;
}

static struct hwi_memory_thread *last_thread(struct hwi_memory *memory)
{
  return memory->thread_count ? &memory->threads[memory->thread_count - 1] : NULL;
}

/* No call keeps these registers: in a system call they have what is left of earlier work. */
void hwi_core_take_vectors(struct hwi_memory *memory, const unsigned char *bytes, size_t size)
{
  struct hwi_memory_thread *thread = last_thread(memory);
  if (thread && hwi_x86_system_call(thread->registers, thread->register_count) < 0)
    thread->vector_count = hwi_x86_vector_words(thread->vectors, HWI_THREAD_VECTORS, bytes, size, memory->word_bytes);
}

/* Descriptions of segments; the selector in gs chooses one. */
void hwi_core_take_segments(struct hwi_memory *memory, const unsigned char *bytes, size_t size)
{
  struct hwi_memory_thread *thread = last_thread(memory);
  if (!thread || thread->register_count != HWI_I386_REGISTERS)
    return;
  for (size_t at = 0; at + HWI_I386_SEGMENT_BYTES <= size; at += HWI_I386_SEGMENT_BYTES)
    if (hwi_memory_load_32(memory, bytes + at) == hwi_i386_segment_of(thread->registers[HWI_I386_GS]))
      thread->thread_pointer = hwi_memory_load_32(memory, bytes + at + HWI_I386_SEGMENT_BASE_OFF);
}
