/* thread_frames.h - the calls in which the threads of a process are: the part of the stack that each one has
 *
 * Stacks are unwound by the tables in the files of modules, for the CPUs of platform/machine.h. A file whose build-id is not that of
 * the module is not used.
 * Where there is no table, a stack ends early: what is beyond is in no frame.
 */
#ifndef HWI_MEMORY_IMAGE_THREAD_FRAMES_H
#define HWI_MEMORY_IMAGE_THREAD_FRAMES_H

#include "memory/image/modules.h"
#include "symbols/frame_variables.h"

struct hwi_thread_frame {
  uint64_t address;       /* where its function goes on */
  bool is_return;         /* `address` is behind a call */
  uint64_t begin, end;    /* its part of the stack */
  uint64_t frame_pointer; /* the register of that name */
  bool has_frame_pointer; /* it is known */
};

/* Innermost first. All zero: nothing was read. */
struct hwi_thread_stack {
  struct hwi_thread_frame *frames;
  size_t count, capacity;
  bool is_read;
  uint32_t setters[HWI_THREAD_REGISTERS]; /* of each register: the frame that set it */
};

struct hwi_thread_unwinder;

/* All zero, except for the first two members: nothing was read. */
struct hwi_thread_frames {
  const struct hwi_memory *memory;
  const struct hwi_core_modules *modules;
  struct hwi_thread_unwinder *unwinder; /* made when the first stack is read */
  struct hwi_thread_stack *stacks;      /* of each thread */
};

/* Returns the stack of a thread, which may have no frames, or NULL if there is no memory. */
const struct hwi_thread_stack *hwi_thread_frames_of(struct hwi_thread_frames *frames, size_t thread);

/* Returns the frame with the word at an address in the stack of a thread, or NULL. */
const struct hwi_thread_frame *hwi_thread_frames_at(struct hwi_thread_frames *frames, size_t thread, uint64_t address);

/* Returns the frame whose function set a register of a thread, or NULL. */
const struct hwi_thread_frame *hwi_thread_frames_setter(struct hwi_thread_frames *frames, size_t thread, unsigned reg);

/* Gets what places of variables in a frame of the thread are relative to. Returns false if its caller is not known, and so its end. */
bool hwi_thread_frame_bases(const struct hwi_thread_frames *frames, size_t thread, const struct hwi_thread_frame *frame,
                            struct hwi_frame_bases *bases);

void hwi_thread_frames_release(struct hwi_thread_frames *frames);

#endif
