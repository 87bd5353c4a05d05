/* config_file.h - the config of a process's heap from a file
 *
 * A line has the name of a field (config.h), blanks, and its value, in the form of the field's variable. What follows
 * a # is a comment; lines without a field are ignored.
 */
#ifndef HWI_ALLOCATORS_PROCESS_HEAP_CONFIG_FILE_H
#define HWI_ALLOCATORS_PROCESS_HEAP_CONFIG_FILE_H

#include "allocators/heap/config.h"

/* Where the fields of a config are from. */
struct hwi_config_lines {
  const char *path;
  unsigned of[HWI_HEAP_FIELDS]; /* the line of each field; 0: it is not in the file */
};

/* Sets the fields that the file has, and *lines. A line that is wrong is reported on stderr, as FILE:LINE, and has no
 * effect; whether values are allowed is checked later. Does not call malloc. */
void hwi_config_file_read(struct hwi_heap_settings *settings, struct hwi_config_lines *lines, const char *path);

/* Adds "FILE:LINE: ", to report a field. */
struct hwi_message;
void hwi_config_lines_print(struct hwi_message *message, const struct hwi_config_lines *lines, unsigned line);

#endif
