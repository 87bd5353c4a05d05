/* start_texts.h - the arguments or the variables that the program was started with, as a list */
#ifndef HWI_RECORD_START_TEXTS_H
#define HWI_RECORD_START_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

/* Consecutive texts, each ended by NUL, and a list of their starts, ended by NULL. All zero: none. */
struct hwi_start_texts {
  char *bytes;
  char **list;
  long length;
  size_t room, list_bytes; /* of the mappings */
};

/* Reads the texts with hwi_os_command_line or hwi_os_environment, into memory of its own, which the caller releases in
 * any case. Returns false if they cannot be read. */
bool hwi_start_texts_read(struct hwi_start_texts *texts, long (*read)(char *to, size_t bytes));
void hwi_start_texts_release(struct hwi_start_texts *texts);

#endif
