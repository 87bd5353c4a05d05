/* program.h - which file a command is, and whether the recorder can be loaded into it */
#ifndef HWI_LAUNCH_PROGRAM_H
#define HWI_LAUNCH_PROGRAM_H

#include <stdbool.h>

/* Why a program cannot be recorded. */
enum hwi_obstacle {
  HWI_OBSTACLE_NONE = 0,
  HWI_OBSTACLE_STATIC, /* no dynamic loader; programs that it starts can be recorded */
  HWI_OBSTACLE_32_BIT,
  HWI_OBSTACLE_MACHINE,    /* made for another CPU */
  HWI_OBSTACLE_MUSL,       /* another libc than the recorder's */
  HWI_OBSTACLE_SANITIZER,  /* its runtime replaces malloc, and minds being recorded */
  HWI_OBSTACLE_PRIVILEGED, /* setuid, setgid or with capabilities: the loader ignores LD_PRELOAD */
};

struct hwi_program {
  char *path;                 /* malloc'd; NULL: not found */
  int os_error;               /* why it cannot be executed, as execve would say; 0: nothing is known against it */
  enum hwi_obstacle obstacle; /* of the program, or of the interpreter of a script */
  const char *allocator; /* linked into that one, unseen by the recorder: see hwi_static_allocator. NULL: none known */
};

/* Looks `command` up as execvp does. */
void hwi_program_find(struct hwi_program *program, const char *command);
void hwi_program_release(struct hwi_program *program);

/* Of an executable that is no script. NONE where it cannot be read, too. */
enum hwi_obstacle hwi_program_obstacle(const char *path);

/* A phrase: "is statically linked". Never NULL. */
const char *hwi_obstacle_text(enum hwi_obstacle obstacle);

#endif
