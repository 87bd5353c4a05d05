/* core_crash.c - how a signal ended a process: what the thread did that got it, where, and which address explains it */
#include "report/content/core_crash.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/base_name.h"
#include "memory/image/module_bytes.h"

enum {
  A_LARGE_FRAME = 65536,
  SEARCHED_WORDS = 4096 /* at most */
};

const char *const hwi_crash_cause_names[HWI_CRASH_CAUSES] = {
    "signal", "access",   "null pointer",        "stack overflow", "no address", "end of file", "jump",     "halt",
    "musl",   "division", "invalid instruction", "abort",          "assertion",  "exception",   "terminate"};

/* --- frames --- */

static const struct hwi_symbol *function_of(const struct hwi_core_names *names, const struct hwi_thread_frame *frame)
{
  return hwi_core_names_function(names, frame->address, frame->is_return);
}

static const struct hwi_core_module *module_of(const struct hwi_core_names *names, const struct hwi_thread_frame *frame)
{
  return hwi_core_modules_of(names->threads->modules, frame->address - frame->is_return);
}

/* A function that only raises a signal, and why it was called: SIGNAL if that is not known. Names are those before their parameters. */
static const struct raising {
  const char *name;
  enum hwi_crash_cause cause;
} raisings[] = {
    {"raise", HWI_CRASH_SIGNAL},
    {"__GI_raise", HWI_CRASH_SIGNAL},
    {"gsignal", HWI_CRASH_SIGNAL},
    {"pthread_kill", HWI_CRASH_SIGNAL},
    {"__pthread_kill", HWI_CRASH_SIGNAL},
    {"__pthread_kill_internal", HWI_CRASH_SIGNAL},
    {"__pthread_kill_implementation", HWI_CRASH_SIGNAL},
    {"abort", HWI_CRASH_ABORT},
    {"__GI_abort", HWI_CRASH_ABORT},
    {"__libc_message", HWI_CRASH_ABORT},
    {"__libc_message_impl", HWI_CRASH_ABORT},
    {"__libc_fatal", HWI_CRASH_ABORT},
    {"malloc_printerr", HWI_CRASH_ABORT},
    {"__fortify_fail", HWI_CRASH_ABORT},
    {"__GI___fortify_fail", HWI_CRASH_ABORT},
    {"__stack_chk_fail", HWI_CRASH_ABORT},
    {"__chk_fail", HWI_CRASH_ABORT},
    {"__GI___chk_fail", HWI_CRASH_ABORT},
    {"__assert_fail", HWI_CRASH_ASSERTION},
    {"__GI___assert_fail", HWI_CRASH_ASSERTION},
    {"__assert_fail_base", HWI_CRASH_ASSERTION},
    {"__assert_fail_base.cold", HWI_CRASH_ASSERTION},
    {"__assert_perror_fail", HWI_CRASH_ASSERTION},
    {"abort_message", HWI_CRASH_ABORT}, /* of libc++ */
    {"demangling_terminate_handler", HWI_CRASH_TERMINATE},
    {"__gnu_cxx::__verbose_terminate_handler", HWI_CRASH_TERMINATE},
    {"__gnu_cxx::__verbose_terminate_handler.cold", HWI_CRASH_TERMINATE},
    {"__cxxabiv1::__terminate", HWI_CRASH_TERMINATE},
    {"std::__terminate", HWI_CRASH_TERMINATE},
    {"std::terminate", HWI_CRASH_TERMINATE},
    {"__cxa_call_terminate", HWI_CRASH_EXCEPTION},
    {"__cxa_throw", HWI_CRASH_EXCEPTION},
    {"__cxa_rethrow", HWI_CRASH_EXCEPTION},
    {"__gxx_personality_v0", HWI_CRASH_EXCEPTION},
    {"_Unwind_RaiseException", HWI_CRASH_EXCEPTION},
    {"_Unwind_Resume", HWI_CRASH_EXCEPTION},
    {"std::rethrow_exception", HWI_CRASH_EXCEPTION},
    {"__clang_call_terminate", HWI_CRASH_EXCEPTION},
};

static const struct raising *raising_of(const char *function)
{
  const size_t length = strcspn(function, "(");
  for (size_t i = 0; i < sizeof raisings / sizeof *raisings; i++)
    if (strlen(raisings[i].name) == length && memcmp(raisings[i].name, function, length) == 0)
      return &raisings[i];
  return NULL;
}

/* In a stripped library, functions that it does not export have no name: they belong to the raising ones around them, or to the last
 * one before them in the same library. */
static void skip_raising(struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  enum { RAISING_MOST = 32 };
  const struct hwi_core_module *raising_in = NULL; /* the library of the last raising frame */
  const bool is_cause_known = crash->cause;
  for (size_t i = 0; i < crash->stack->count && i < RAISING_MOST; i++) {
    const struct hwi_thread_frame *frame = &crash->stack->frames[i];
    const struct hwi_symbol *function = function_of(names, frame);
    const struct hwi_core_module *module = module_of(names, frame);
    const struct raising *raising = function ? raising_of(function->function) : NULL;
    if (function ? !raising : !(module && hwi_core_module_is_library(module)))
      break;
    if (raising && raising->cause && !is_cause_known)
      crash->cause = raising->cause;
    if (raising)
      raising_in = module;
    if (module == raising_in)
      crash->first = i + 1;
  }
  if (crash->first == crash->stack->count)
    crash->first = 0;
}

static bool is_start(const struct hwi_symbol *function)
{
  static const char *const names[] = {
      "_start", "__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl", "start_thread", "clone",
      "clone3", "__clone3"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (function && strcmp(function->function, names[i]) == 0)
      return true;
  return false;
}

/* Of the C library, by its name. */
static bool is_libc(const struct hwi_core_module *module)
{
  static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-"};
  const char *name = module ? hwi_base_name(module->path) : "";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(name, names[i], strlen(names[i])) == 0)
      return true;
  return false;
}

size_t hwi_core_crash_shown_end(const struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  enum { OUTERMOST = 4 };
  const size_t count = crash->stack ? crash->stack->count : 0;
  size_t end = count;
  for (size_t i = count; i > crash->first + 1 && count - i < OUTERMOST; i--)
    if (is_start(function_of(names, &crash->stack->frames[i - 1])))
      end = i - 1;
  while (end > crash->first + 1 && !function_of(names, &crash->stack->frames[end - 1]) &&
         is_libc(module_of(names, &crash->stack->frames[end - 1])))
    end--;
  return end;
}

const struct hwi_symbol *hwi_core_crash_function(const struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  return crash->stack ? function_of(names, &crash->stack->frames[crash->first]) : NULL;
}

/* --- the cause --- */

/* The stack has grown up to memory that it must not have: its pointer may be there already, or one large frame before. */
static bool is_at_end_of_stack(const struct hwi_memory *memory, uint64_t address)
{
  const uint64_t pointer = memory->threads[0].stack_pointer;
  const struct hwi_region *next = hwi_memory_region_from(memory, address);
  if (next && next->begin <= address && !next->is_writable) /* a guard page, which some images list */
    next = hwi_memory_region_from(memory, next->end);
  const bool is_mapped = next && next->begin <= address && next->is_writable;
  return !is_mapped && next && pointer - address + A_LARGE_FRAME < 2 * A_LARGE_FRAME && next->end > pointer &&
         next->begin - address < A_LARGE_FRAME;
}

static bool is_musl(const struct hwi_core_module *module)
{
  return module && (strstr(module->path, "/ld-musl-") || strstr(module->path, "-linux-musl/"));
}

/* musl aborts by a write to address 0 on CPUs without an instruction for it. The kernel of x86-64 does not know an address that no
 * pointer can have; others do. */
static enum hwi_crash_cause cause_of_access(const struct hwi_core_names *names)
{
  const struct hwi_memory *memory = names->threads->memory;
  const struct hwi_machine *machine = memory->threads[0].machine;
  const uint64_t address = memory->fault_address, counter = memory->threads[0].program_counter;
  if (address == counter)
    return HWI_CRASH_JUMP;
  if (address == 0 && machine && !machine->halt && is_musl(hwi_core_modules_of(names->threads->modules, counter)))
    return HWI_CRASH_MUSL;
  if (machine && !hwi_machine_can_point(machine, address))
    return HWI_CRASH_NO_ADDRESS;
  if (memory->signal == SIGBUS && memory->signal_code == BUS_ADRERR)
    return HWI_CRASH_FILE_END;
  if (is_at_end_of_stack(memory, address))
    return HWI_CRASH_OVERFLOW;
  return address < HWI_MEMORY_PAGE_BYTES ? HWI_CRASH_NULL : HWI_CRASH_ACCESS;
}

static enum hwi_crash_cause cause_without_address(const struct hwi_core_names *names)
{
  const struct hwi_memory *memory = names->threads->memory;
  const struct hwi_machine *machine = memory->threads[0].machine;
  const uint64_t counter = memory->threads[0].program_counter;
  const struct hwi_core_module *module = hwi_core_modules_of(names->threads->modules, counter);
  struct hwi_module_bytes bytes = {.memory = memory, .modules = names->threads->modules};
  const unsigned char *code = hwi_module_bytes_at(&bytes, counter, 1);
  const bool is_halt = code && machine && machine->halt && *code == machine->halt;
  hwi_module_bytes_release(&bytes);
  if (!is_halt)
    return HWI_CRASH_NO_ADDRESS;
  return is_musl(module) || hwi_core_heap_is_of(names->heap, HWI_CORE_MUSL) ? HWI_CRASH_MUSL : HWI_CRASH_HALT;
}

static enum hwi_crash_cause cause_of(const struct hwi_core_names *names)
{
  const struct hwi_memory *memory = names->threads->memory;
  if (memory->has_fault)
    return memory->is_fault_known ? cause_of_access(names) : cause_without_address(names);
  if (memory->signal == SIGFPE && memory->signal_code == FPE_INTDIV)
    return HWI_CRASH_DIVISION;
  return memory->signal == SIGILL && memory->signal_code > 0 ? HWI_CRASH_INSTRUCTION : HWI_CRASH_SIGNAL;
}

void hwi_core_crash_add_cause(struct hwi_line *line, const struct hwi_core_crash *crash,
                              const struct hwi_memory *memory)
{
  static const char *const words[HWI_CRASH_CAUSES] = {
      [HWI_CRASH_NULL] = ", near 0: a null pointer was followed",
      [HWI_CRASH_OVERFLOW] = ", where its stack ends: a stack overflow",
      [HWI_CRASH_FILE_END] = ": the file that is mapped there is shorter",
      [HWI_CRASH_JUMP] = ", where no code is",
      [HWI_CRASH_HALT] = "executed hlt, which only the kernel may",
      [HWI_CRASH_MUSL] = ": so musl aborts, for example if it finds its heap damaged",
      [HWI_CRASH_DIVISION] = "divided an integer by 0, or the result is too large",
      [HWI_CRASH_INSTRUCTION] = "executed an invalid instruction",
      [HWI_CRASH_ABORT] = "aborted",
      [HWI_CRASH_ASSERTION] = "failed an assertion",
      [HWI_CRASH_EXCEPTION] = "threw an exception that nothing caught",
      [HWI_CRASH_TERMINATE] = "called std::terminate",
  };
  const char *const name = sigabbrev_np(memory->signal);
  if (crash->cause == HWI_CRASH_SIGNAL)
    hwi_line_printf(line, "got SIG%s", name ? name : "?");
  else if (crash->cause == HWI_CRASH_NO_ADDRESS)
    hwi_line_puts(line, "accessed an address that no pointer can have");
  else if (crash->cause == HWI_CRASH_MUSL && !memory->is_fault_known)
    hwi_line_puts(line, "executed hlt");
  else if (memory->is_fault_known)
    hwi_line_printf(line, "%s 0x%" PRIx64, crash->cause == HWI_CRASH_JUMP ? "jumped to" : "accessed",
                    memory->fault_address);
  if (words[crash->cause])
    hwi_line_puts(line, words[crash->cause]);
  if (crash->cause == HWI_CRASH_NO_ADDRESS && memory->is_fault_known)
    hwi_line_printf(line, ", 0x%" PRIx64, memory->fault_address);
}

/* --- the address --- */

/* Takes an address in a block; one in a free block replaces one in a live block. */
static void take(struct hwi_core_crash *crash, const struct hwi_core_names *names, const struct hwi_core_crash *found)
{
  const struct hwi_core_block *block = hwi_core_heap_block_at(names->heap, found->address);
  const struct hwi_core_block *before = crash->source ? hwi_core_heap_block_at(names->heap, crash->address) : NULL;
  if (!block || hwi_core_block_state(block) == HWI_CORE_BLOCK_OWN ||
      hwi_core_block_state(block) == HWI_CORE_BLOCK_TOP ||
      (before && (hwi_core_block_is_free(before) || !hwi_core_block_is_free(block))))
    return;
  crash->source = found->source;
  crash->address = found->address;
  crash->reg = found->reg;
  crash->at = found->at;
}

static void search_registers(struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  const struct hwi_memory_thread *thread = &names->threads->memory->threads[0];
  for (unsigned reg = 0; reg < thread->register_count; reg++)
    take(crash, names,
         &(struct hwi_core_crash){.source = HWI_CRASH_FROM_REGISTER, .address = thread->registers[reg], .reg = reg});
}

/* Those of the C library, up to the one that called it. */
static void search_frames(struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  struct hwi_memory_reader reader = {.memory = names->threads->memory};
  const unsigned word = reader.memory->word_bytes;
  size_t last = crash->first + 1;
  if (!crash->stack)
    return;
  while (last < crash->stack->count && is_libc(module_of(names, &crash->stack->frames[last - 1])))
    last++;
  const uint64_t begin = crash->stack->frames[crash->first].begin, end = crash->stack->frames[last - 1].end;
  for (uint64_t at = begin; at < end && at - begin < (uint64_t)SEARCHED_WORDS * word; at += word) {
    struct hwi_core_crash found = {.source = HWI_CRASH_FROM_STACK, .at = at};
    if (hwi_memory_word(&reader, at, &found.address))
      take(crash, names, &found);
  }
}

/* Damage that was written beyond a block comes first. Returns NULL if there is none. */
static const struct hwi_damage *worst_damage(const struct hwi_core_heap *heap)
{
  const struct hwi_damage *overrun = hwi_core_heap_first_overrun(heap);
  return overrun || !heap->damage_count ? overrun : &heap->damages[0];
}

/* Returns whether the C library ended the process, or failed in it: damage is then the likely reason. */
static bool is_in_libc(const struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  return crash->first > 0 || crash->cause == HWI_CRASH_MUSL ||
         (crash->stack && is_libc(module_of(names, &crash->stack->frames[crash->first])));
}

/* In the registers of a thread that raised its signal is what the C library did last. */
static void find_address(struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  const struct hwi_memory *memory = names->threads->memory;
  const struct hwi_damage *damage = is_in_libc(crash, names) ? worst_damage(names->heap) : NULL;
  if (memory->is_fault_known && crash->cause != HWI_CRASH_NO_ADDRESS && crash->cause != HWI_CRASH_MUSL) {
    crash->source = HWI_CRASH_FROM_ACCESS;
    crash->address = memory->fault_address;
  } else if (damage) {
    crash->source = HWI_CRASH_FROM_DAMAGE;
    crash->address = damage->address;
    crash->damage = damage;
  }
  if (!crash->source && crash->first == 0)
    search_registers(crash, names);
  if (!crash->source)
    search_frames(crash, names);
}

void hwi_core_crash_find(struct hwi_core_crash *crash, const struct hwi_core_names *names)
{
  const struct hwi_memory *memory = names->threads->memory;
  *crash = (struct hwi_core_crash){.is_known = memory->signal && memory->thread_count};
  if (!crash->is_known)
    return;
  crash->cause = cause_of(names);
  crash->stack = hwi_thread_frames_of(names->threads, 0);
  if (crash->stack && !crash->stack->count)
    crash->stack = NULL;
  if (crash->stack)
    skip_raising(crash, names);
  find_address(crash, names);
}
