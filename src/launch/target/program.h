/* program.h - finds the file of a command, and whether the recorder can be loaded into it */
#ifndef HWI_LAUNCH_TARGET_PROGRAM_H
#define HWI_LAUNCH_TARGET_PROGRAM_H

#include <stdbool.h>

#include "symbols/program_allocator.h"

/* Why a program cannot be recorded. */
enum hwi_obstacle {
  HWI_OBSTACLE_NONE = 0,
  HWI_OBSTACLE_STATIC, /* no dynamic loader, and no recorder linked in; programs that it starts can be recorded */
  HWI_OBSTACLE_32_BIT,
  HWI_OBSTACLE_MACHINE,    /* made for another CPU */
  HWI_OBSTACLE_SANITIZER,  /* its runtime replaces malloc, and does not work with the recorder */
  HWI_OBSTACLE_PAGES,      /* the kernel's pages are larger than the recorder's tables are made for */
  HWI_OBSTACLE_PRIVILEGED, /* setuid, setgid or with capabilities: the loader ignores LD_PRELOAD */
};

struct hwi_program {
  char *path;                             /* malloc'd; NULL: not found */
  int os_error;                           /* the error that execve would set; 0: none is known */
  enum hwi_obstacle obstacle;             /* of the program; for a script, of its interpreter */
  bool is_static, is_on_musl;             /* that one; not known if it is for another CPU or gains privileges */
  struct hwi_program_allocator allocator; /* of that one; known if there is no obstacle */
};

/* Looks `command` up as execvp does. */
void hwi_program_find(struct hwi_program *program, const char *command);
void hwi_program_release(struct hwi_program *program);

/* Returns why the executable at `path`, which is not a script, cannot be recorded. Returns HWI_OBSTACLE_NONE also if it
 * cannot be read. */
enum hwi_obstacle hwi_program_obstacle(const char *path);

/* Returns a phrase such as "is statically linked". Never NULL. */
const char *hwi_obstacle_text(enum hwi_obstacle obstacle);

#endif
