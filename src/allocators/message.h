/* message.h - messages of the heap of a process on stderr: lines and stacks, without malloc or stdio */
#ifndef HWI_ALLOCATORS_MESSAGE_H
#define HWI_ALLOCATORS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line that is built and then written at once, so that lines of several threads do not mix. A line that is too long
 * is truncated. */
struct hwi_message {
  size_t bytes;
  char text[4608]; /* enough for a path */
};

/* These functions begin a line with "heapwright: ", add to it, and write it to stderr. */
void hwi_message_begin(struct hwi_message *line);
void hwi_message_text(struct hwi_message *line, const char *text);
void hwi_message_number(struct hwi_message *line, uint64_t number);
void hwi_message_address(struct hwi_message *line, uintptr_t address);
void hwi_message_error(struct hwi_message *line,
                       long error); /* " (Cannot allocate memory)"; `error` is a negative errno value */
void hwi_message_print(struct hwi_message *line);

/* Adds the path of the library that has this address, or of the program. It may take the loader's lock. */
void hwi_message_module(struct hwi_message *line, uintptr_t address);

/* Passes each line that is printed from now on to a function, too. */
void hwi_message_copy_to(void (*copy)(const char *text, size_t bytes));

/* Prints the stack of the calling thread, from the caller of this library on, one line per frame: function, module, and
 * the offset in it that addr2line takes. Must be called without the heap's locks: it takes the loader's lock. */
void hwi_message_stack(void);

/* Reports a call for an address that is no block of the heap or pool, with the stack. Without the locks, too. */
void hwi_message_foreign(const char *function, const void *address, const char *heap);

/* Reports a fault of a block with its stack; the process then ends by SIGABRT, or goes on. Without the locks, too. */
void hwi_message_fault(uintptr_t address, const char *text, bool ends_process);

#endif
