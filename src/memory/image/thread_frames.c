/* thread_frames.c - the calls in which the threads of a process are: the part of the stack that each one has
 *
 * libdwfl unwinds, with the memory of the image. A function that changes one of the registers which a call preserves saves it
 * before, so that the register's value differs in its caller's frame: the innermost frame where it does is that which set the
 * register. If it differs nowhere, the outermost function set it, or its caller's value is the same by chance.
 */
#include "memory/image/thread_frames.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/grow.h"

enum { FRAMES_MAX = 1 << 20, KERNEL_CODE_MOST = 4 /* a forged image may have any number */ };

struct hwi_thread_unwinder {
  Dwfl *dwfl;
  struct hwi_memory_reader reader;
};

/* --- what libdwfl asks for --- */

static int find_no_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
  (void)module, (void)data, (void)name, (void)base, (void)path, (void)elf;
  return -1;
}

/* It would ask servers for them. */
static int find_no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                              const char *link, GElf_Word sum, char **path)
{
  (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)sum, (void)path;
  return -1;
}

/* A thread has its place, plus 1, as its number. */
static bool get_thread(Dwfl *dwfl, pid_t number, void *context, void **thread)
{
  (void)dwfl, (void)number;
  *thread = context;
  return true;
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
  (void)dwfl, (void)context, (void)thread;
  return 0;
}

/* A return address may be signed: in the bits above those of an address it has a checksum, which libdwfl does not know. */
static uint64_t without_signature(const struct hwi_thread_frames *frames, uint64_t word)
{
  const unsigned bits = frames->memory->threads[0].machine->address_bits;
  const uint64_t address = bits < 64 ? word & ((UINT64_C(1) << bits) - 1) : word;
  return address != word && hwi_core_modules_of(frames->modules, address) ? address : word;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
  (void)dwfl;
  const struct hwi_thread_frames *frames = context;
  uint64_t found;
  if (!hwi_memory_word(&frames->unwinder->reader, address, &found))
    return false;
  *word = without_signature(frames, found);
  return true;
}

/* The program called an address without code: its registers are those at the call, except for what the call pushed. A core dump may
 * leave out the code of modules. */
static bool is_in_no_code(const struct hwi_thread_frames *frames, uint64_t counter)
{
  const struct hwi_region *region = hwi_memory_region(frames->memory, counter);
  return (!region || !region->is_executable) && !hwi_core_modules_of(frames->modules, counter);
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
  const struct hwi_thread_frames *frames = context;
  const struct hwi_memory_thread *of = &frames->memory->threads[dwfl_thread_tid(thread) - 1];
  const struct hwi_machine *machine = of->machine;
  Dwarf_Word registers[HWI_MACHINE_NUMBERS_MAX], counter = of->program_counter;
  uint64_t caller;
  for (unsigned i = 0; i < machine->number_count; i++)
    registers[i] = machine->places[i] == machine->link ? without_signature(frames, of->registers[machine->link])
                                                       : of->registers[machine->places[i]];
  if (is_in_no_code(frames, counter) && machine->link != HWI_MACHINE_NO_PLACE) {
    counter = without_signature(frames, of->registers[machine->link]);
  } else if (is_in_no_code(frames, counter) && hwi_memory_word(&frames->unwinder->reader, of->stack_pointer, &caller)) {
    counter = caller;
    registers[machine->stack_number] += frames->memory->word_bytes;
  }
  if (machine->counter_number != HWI_MACHINE_NO_PLACE)
    registers[machine->counter_number] = counter;
  dwfl_thread_state_register_pc(thread, counter);
  return dwfl_thread_state_registers(thread, 0, machine->number_count, registers);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
                                                       .get_thread = get_thread,
                                                       .memory_read = read_word,
                                                       .set_initial_registers = set_registers};
static const Dwfl_Callbacks callbacks = {
    .find_elf = find_no_file, .find_debuginfo = find_no_debug_file, .section_address = dwfl_offline_section_address};

/* --- the unwinder --- */

/* The kernel maps code of its own (vdso), through which system calls of 32 bits go. It is in no file, but whole in memory. */
static bool add_code_of_kernel(const struct hwi_region *region, Dwfl *dwfl)
{
  enum { BYTES_MOST = 1 << 16 };
  if (region->file || !region->is_executable || region->known < SELFMAG || region->known > BYTES_MOST ||
      memcmp(region->bytes, ELFMAG, SELFMAG) != 0)
    return false;
  const int fd = memfd_create("vdso", MFD_CLOEXEC);
  const bool is_written = fd >= 0 && write(fd, region->bytes, region->known) == (ssize_t)region->known;
  if (fd >= 0 && !(is_written && dwfl_report_elf(dwfl, "vdso", "vdso", fd, region->begin, true)))
    close(fd);
  return true;
}

static void add_modules(const struct hwi_thread_frames *frames, Dwfl *dwfl)
{
  dwfl_report_begin(dwfl);
  unsigned left = KERNEL_CODE_MOST;
  for (size_t i = 0; i < frames->memory->region_count && left > 0; i++)
    left -= add_code_of_kernel(&frames->memory->regions[i], dwfl);
  for (size_t i = 0; i < frames->modules->count; i++) {
    const struct hwi_core_module *module = &frames->modules->modules[i];
    if (hwi_core_module_is_file(module))
      dwfl_report_elf(dwfl, module->path, module->path, -1, module->bias, true);
  }
  dwfl_report_end(dwfl, NULL, NULL);
}

static bool make_unwinder(struct hwi_thread_frames *frames)
{
  if (frames->unwinder)
    return true;
  frames->stacks = calloc(frames->memory->thread_count + 1, sizeof *frames->stacks);
  frames->unwinder = calloc(1, sizeof *frames->unwinder);
  if (!frames->stacks || !frames->unwinder) {
    hwi_thread_frames_release(frames);
    return false;
  }
  frames->unwinder->reader.memory = frames->memory;
  Dwfl *dwfl = dwfl_begin(&callbacks);
  if (!dwfl)
    return true;
  add_modules(frames, dwfl);
  if (dwfl_attach_state(dwfl, NULL, 1, &thread_callbacks, frames)) {
    frames->unwinder->dwfl = dwfl;
    return true;
  }
  dwfl_end(dwfl); /* there is no file to unwind with */
  return true;
}

/* --- one stack --- */

struct unwinding {
  struct hwi_thread_stack *stack;
  const struct hwi_memory_thread *thread;
  unsigned set; /* bits of the preserved registers whose setters were found */
  bool failed;
};

static void find_setters(struct unwinding *unwinding, Dwfl_Frame *frame)
{
  const size_t inner = unwinding->stack->count - 1;
  const struct hwi_machine *machine = unwinding->thread->machine;
  for (unsigned i = 0; i < machine->preserved_count; i++) {
    const uint8_t place = machine->places[machine->preserved[i]];
    Dwarf_Word value;
    if (unwinding->set & 1U << i)
      continue;
    unwinding->stack->setters[place] = (uint32_t)inner;
    if (dwfl_frame_reg(frame, machine->preserved[i], &value) != 0 || value != unwinding->thread->registers[place])
      unwinding->set |= 1U << i;
  }
}

/* Where calls store the return address in a register, a function that calls none may need no memory. */
static bool may_have_no_frame(const struct unwinding *unwinding, const struct hwi_thread_frame *frame)
{
  return unwinding->thread->machine->link != HWI_MACHINE_NO_PLACE && !frame->is_return;
}

static int take_frame(Dwfl_Frame *frame, void *context)
{
  struct unwinding *unwinding = context;
  struct hwi_thread_stack *stack = unwinding->stack;
  Dwarf_Addr address;
  Dwarf_Word pointer;
  bool is_activation;
  if (!dwfl_frame_pc(frame, &address, &is_activation) ||
      dwfl_frame_reg(frame, unwinding->thread->machine->stack_number, &pointer) != 0 || stack->count == FRAMES_MAX)
    return DWARF_CB_ABORT;
  if (stack->count) {
    const struct hwi_thread_frame *inner = &stack->frames[stack->count - 1];
    if (pointer < inner->begin || (pointer == inner->begin && !may_have_no_frame(unwinding, inner)))
      return DWARF_CB_ABORT;
    stack->frames[stack->count - 1].end = pointer;
    find_setters(unwinding, frame);
  }
  if (!hwi_grow((void **)&stack->frames, &stack->capacity, stack->count + 1, sizeof *stack->frames)) {
    unwinding->failed = true;
    return DWARF_CB_ABORT;
  }
  struct hwi_thread_frame *taken = &stack->frames[stack->count++];
  *taken = (struct hwi_thread_frame){.address = address, .is_return = !is_activation, .begin = pointer, .end = pointer};
  taken->has_frame_pointer =
      dwfl_frame_reg(frame, unwinding->thread->machine->frame_number, &taken->frame_pointer) == 0;
  return DWARF_CB_OK;
}

const struct hwi_thread_stack *hwi_thread_frames_of(struct hwi_thread_frames *frames, size_t thread)
{
  if (!make_unwinder(frames))
    return NULL;
  struct hwi_thread_stack *stack = &frames->stacks[thread];
  struct unwinding unwinding = {.stack = stack, .thread = &frames->memory->threads[thread]};
  if (stack->is_read || !frames->unwinder->dwfl || !unwinding.thread->machine)
    return stack;
  stack->is_read = true;
  dwfl_getthread_frames(frames->unwinder->dwfl, (pid_t)thread + 1, take_frame, &unwinding);
  if (stack->count && is_in_no_code(frames, unwinding.thread->program_counter))
    stack->frames[0].is_return = true;
  return unwinding.failed ? NULL : stack;
}

const struct hwi_thread_frame *hwi_thread_frames_at(struct hwi_thread_frames *frames, size_t thread, uint64_t address)
{
  const struct hwi_thread_stack *stack = hwi_thread_frames_of(frames, thread);
  for (size_t i = 0; stack && i < stack->count; i++)
    if (stack->frames[i].begin <= address && address < stack->frames[i].end)
      return &stack->frames[i];
  return NULL;
}

const struct hwi_thread_frame *hwi_thread_frames_setter(struct hwi_thread_frames *frames, size_t thread, unsigned reg)
{
  const struct hwi_thread_stack *stack = hwi_thread_frames_of(frames, thread);
  return stack && stack->count && reg < HWI_THREAD_REGISTERS ? &stack->frames[stack->setters[reg]] : NULL;
}

bool hwi_thread_frame_bases(const struct hwi_thread_frames *frames, size_t thread, const struct hwi_thread_frame *frame,
                            struct hwi_frame_bases *bases)
{
  const struct hwi_machine *machine = frames->memory->threads[thread].machine;
  if (!machine || frame->end == frame->begin)
    return false;
  *bases = (struct hwi_frame_bases){.cfa = frame->end,
                                    .stack_pointer = frame->begin,
                                    .frame_pointer = frame->frame_pointer,
                                    .has_frame_pointer = frame->has_frame_pointer,
                                    .stack_pointer_number = machine->stack_number,
                                    .frame_pointer_number = machine->frame_number};
  return true;
}

void hwi_thread_frames_release(struct hwi_thread_frames *frames)
{
  for (size_t i = 0; frames->stacks && i < frames->memory->thread_count; i++)
    free(frames->stacks[i].frames);
  free(frames->stacks);
  if (frames->unwinder)
    dwfl_end(frames->unwinder->dwfl);
  free(frames->unwinder);
  frames->unwinder = NULL;
  frames->stacks = NULL;
}
