/* say.h - what the heap of a process has to say on stderr: lines and stacks, without malloc or stdio */
#ifndef HWI_ALLOCATORS_PROCESS_SAY_H
#define HWI_ALLOCATORS_PROCESS_SAY_H

#include <stddef.h>
#include <stdint.h>

/* A line that is put together and then written at once, so that lines of several threads do not mix. What is too long is cut. */
struct hwi_saying {
  size_t bytes;
  char text[4608]; /* room for a path */
};

/* Every line begins with "heapwright: ". */
void hwi_say_begin(struct hwi_saying *line);
void hwi_say_text(struct hwi_saying *line, const char *text);
void hwi_say_number(struct hwi_saying *line, uint64_t number);
void hwi_say_address(struct hwi_saying *line, uintptr_t address);
void hwi_say_print(struct hwi_saying *line);

/* The stack of the calling thread from whoever called this library on, a line each frame: function, module and the offset in it
 * that addr2line takes. To be called without the heap's locks: it takes the loader's. */
void hwi_say_stack(void);

#endif
