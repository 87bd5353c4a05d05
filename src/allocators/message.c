/* message.c - messages of the heap of a process on stderr: lines and stacks, without malloc or stdio */
#include "allocators/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "platform/os.h"
#include "platform/os_heap.h"

enum { MOST_FRAMES = 64, DECIMAL = 10, HEXADECIMAL = 16, MOST_DIGITS = 20 };

static void add(struct hwi_message *line, const char *text, size_t bytes)
{
  size_t room = sizeof line->text - 1 - line->bytes; /* reserves one for the newline */
  if (bytes > room)
    bytes = room;
  memcpy(line->text + line->bytes, text, bytes);
  line->bytes += bytes;
}

void hwi_message_text(struct hwi_message *line, const char *text)
{
  add(line, text, strlen(text));
}

void hwi_message_begin(struct hwi_message *line)
{
  line->bytes = 0;
  hwi_message_text(line, "heapwright: ");
}

static void add_number(struct hwi_message *line, uint64_t number, unsigned base)
{
  char digits[MOST_DIGITS];
  size_t at = MOST_DIGITS;
  do
    digits[--at] = "0123456789abcdef"[number % base];
  while (number /= base);
  add(line, digits + at, MOST_DIGITS - at);
}

void hwi_message_number(struct hwi_message *line, uint64_t number)
{
  add_number(line, number, DECIMAL);
}

void hwi_message_address(struct hwi_message *line, uintptr_t address)
{
  hwi_message_text(line, "0x");
  add_number(line, address, HEXADECIMAL);
}

/* What calls for files and memory return, as strerror says it, which may allocate. */
static const struct {
  int error;
  const char *text;
} errors[] = {
    {EPERM, "Operation not permitted"},
    {ENOENT, "No such file or directory"},
    {EIO, "Input/output error"},
    {ENXIO, "No such device or address"},
    {EAGAIN, "Resource temporarily unavailable"},
    {ENOMEM, "Cannot allocate memory"},
    {EACCES, "Permission denied"},
    {ENODEV, "No such device"},
    {ENOTDIR, "Not a directory"},
    {EISDIR, "Is a directory"},
    {EINVAL, "Invalid argument"},
    {ENFILE, "Too many open files in system"},
    {EMFILE, "Too many open files"},
    {EFBIG, "File too large"},
    {ENOSPC, "No space left on device"},
    {EROFS, "Read-only file system"},
    {EPIPE, "Broken pipe"},
    {ENAMETOOLONG, "File name too long"},
    {ENOSYS, "Function not implemented"},
    {ELOOP, "Too many levels of symbolic links"},
};

enum { ERRORS = sizeof errors / sizeof *errors };

void hwi_message_error(struct hwi_message *line, long error)
{
  size_t i = 0;
  while (i < ERRORS && errors[i].error != -error)
    i++;
  hwi_message_text(line, i < ERRORS ? " (" : " (error ");
  if (i < ERRORS)
    hwi_message_text(line, errors[i].text);
  else
    hwi_message_number(line, (uint64_t)-error);
  hwi_message_text(line, ")");
}

static void (*copy_to)(const char *text, size_t bytes);

void hwi_message_copy_to(void (*copy)(const char *text, size_t bytes))
{
  copy_to = copy;
}

void hwi_message_print(struct hwi_message *line)
{
  line->text[line->bytes++] = '\n';
  hwi_os_print_error(line->text, line->bytes);
  if (copy_to)
    copy_to(line->text, line->bytes);
}

/* The loader has no name for the program itself. */
static void add_path(struct hwi_message *line, const struct hwi_os_module *module)
{
  char path[HWI_OS_PATH_BYTES];
  long bytes = 0;
  if (module->path && *module->path)
    hwi_message_text(line, module->path);
  else if ((bytes = hwi_os_executable_path(path, sizeof path)) > 0)
    add(line, path, (size_t)bytes);
}

void hwi_message_module(struct hwi_message *line, uintptr_t address)
{
  struct hwi_os_module module = {0};
  if (!hwi_os_find_module(address, &module))
    module.path = NULL; /* a static program that allocates before libc has made its own data of it */
  add_path(line, &module);
}

static void add_place(struct hwi_message *line, uintptr_t pc, const struct hwi_os_module *module)
{
  uintptr_t start;
  const char *function = hwi_os_function_name(pc, &start);
  hwi_message_text(line, function ? function : "?");
  if (function) {
    hwi_message_text(line, "+");
    hwi_message_address(line, pc - start);
  }
  hwi_message_text(line, " (");
  add_path(line, module);
  hwi_message_text(line, "+");
  hwi_message_address(line, pc - module->bias);
  hwi_message_text(line, ")");
}

/* In libheapwright-heap.a, all code of it: it is in the program's module. Otherwise NULL. */
extern const char text_start[] __asm__("__start_hwi_heap_text") __attribute__((weak, visibility("hidden")));
extern const char text_end[] __asm__("__stop_hwi_heap_text") __attribute__((weak, visibility("hidden")));

struct stack {
  uintptr_t own_start, own_end; /* of this library, whose innermost frames are not shown */
  unsigned count;
};

static bool print_frame(void *context, uintptr_t pc)
{
  struct stack *stack = (struct stack *)context;
  struct hwi_os_module module = {0};
  struct hwi_message line;
  bool is_known = hwi_os_find_module(pc - 1, &module);
  if (!stack->count && pc - stack->own_start < stack->own_end - stack->own_start)
    return true;
  hwi_message_begin(&line);
  hwi_message_text(&line, "  #");
  hwi_message_number(&line, stack->count);
  hwi_message_text(&line, " ");
  hwi_message_address(&line, pc);
  hwi_message_text(&line, " ");
  if (is_known)
    add_place(&line, pc - 1, &module); /* a return address may be the start of the next function */
  hwi_message_print(&line);
  return ++stack->count < MOST_FRAMES;
}

void hwi_message_stack(void)
{
  struct hwi_os_module own = {0};
  hwi_os_find_module((uintptr_t)&hwi_message_stack, &own);
  struct stack stack = {own.start, own.end, 0};
  if (&text_end[0] != &text_start[0])
    stack = (struct stack){(uintptr_t)text_start, (uintptr_t)text_end, 0};
#ifdef HEAPWRIGHT_HEAP_IMPLEMENTATION /* with the single header, the module also has the program's code: all frames are shown */
  stack = (struct stack){0};
#endif
  hwi_os_each_frame(print_frame, &stack);
}

void hwi_message_foreign(const char *function, const void *address, const char *heap)
{
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, function);
  hwi_message_text(&line, " of ");
  hwi_message_address(&line, (uintptr_t)address);
  hwi_message_text(&line, ": not a block of the ");
  hwi_message_text(&line, heap);
  hwi_message_text(&line, "; it goes to the next malloc");
  hwi_message_print(&line);
  hwi_message_stack();
}

void hwi_message_fault(uintptr_t address, const char *text, bool ends_process)
{
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, "block ");
  hwi_message_address(&line, address);
  hwi_message_text(&line, ": ");
  hwi_message_text(&line, text);
  hwi_message_text(&line, ends_process ? "; the process ends here" : "; it stays as it is");
  hwi_message_print(&line);
  hwi_message_stack();
  if (ends_process)
    hwi_os_abort();
}
