/* core_threads.c - the registers of threads in the notes of a core dump */
#include "memory/image/core_threads.h"

#include "trace/grow.h"

bool hwi_core_take_thread(struct hwi_memory *memory, const struct hwi_machine *machine, const unsigned char *bytes,
                          size_t size)
{
  if (!machine || size < machine->note_bytes)
    return true;
  if (!hwi_grow((void **)&memory->threads, &memory->thread_capacity, memory->thread_count + 1, sizeof *memory->threads))
    return false;
  struct hwi_memory_thread *thread = &memory->threads[memory->thread_count++];
  *thread = (struct hwi_memory_thread){.machine = machine,
                                       .tid = hwi_memory_load_32(memory, bytes + machine->tid_off),
                                       .register_count = machine->register_count};
  for (unsigned i = 0; i < machine->register_count; i++)
    thread->registers[i] = hwi_memory_load(memory, bytes + machine->registers_off + (size_t)i * machine->word_bytes);
  thread->stack_pointer = thread->registers[machine->stack_pointer];
  thread->program_counter = thread->registers[machine->program_counter];
  if (machine->thread_pointer != HWI_MACHINE_NO_PLACE)
    thread->thread_pointer = thread->registers[machine->thread_pointer];
  if (memory->thread_count == 1)
    memory->signal = (int)(hwi_memory_load_32(memory, bytes + HWI_MACHINE_SIGNAL_OFF) & UINT16_MAX);
  return true;
}

/* No call keeps vector registers: in a system call they have what is left of earlier work. The note that says whether the thread is in
 * one follows vector_note, and precedes long_vector_note. */
void hwi_core_take_more_of_thread(struct hwi_memory *memory, uint32_t note, const unsigned char *bytes, size_t size)
{
  const struct hwi_machine_note whole = {note, bytes, size};
  struct hwi_memory_thread *thread = memory->thread_count ? &memory->threads[memory->thread_count - 1] : NULL;
  const struct hwi_machine *machine = thread ? thread->machine : NULL;
  if (!machine || !note) /* 0 is what a CPU has that lacks a note */
    return;
  if (note == machine->vector_note || note == machine->long_vector_note) {
    if (!thread->vector_count && !thread->is_in_call && hwi_machine_system_call(machine, thread->registers) < 0)
      thread->vector_count = hwi_machine_vector_words(machine, &whole, thread->vectors, HWI_THREAD_VECTORS);
  } else if (note == machine->thread_pointer_note) {
    thread->thread_pointer = hwi_machine_thread_pointer(machine, thread->registers, &whole);
  } else if (note == machine->system_call_note && size >= sizeof(int32_t) &&
             (int32_t)hwi_memory_load_32(memory, bytes) >= 0) {
    thread->is_in_call = true;
    thread->vector_count = 0;
  }
}
