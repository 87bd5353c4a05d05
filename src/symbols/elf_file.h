/* elf_file.h - opens an ELF file so that neither its contents nor its file type can block or crash the tool */
#ifndef HWI_SYMBOLS_ELF_FILE_H
#define HWI_SYMBOLS_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct hwi_elf_file {
  int fd;       /* -1: none */
  Elf *elf;     /* NULL: nothing is open */
  char *path;   /* without symbolic links; NULL for a file in memory */
  void *memory; /* of a file that is not on disk */
};

/* Opens a regular ELF file for reading. Returns HWI_SYMBOL_OK, or the reason why not; then *file is unchanged. */
enum hwi_symbol_reason hwi_elf_file_open(struct hwi_elf_file *file, const char *path);

/* Opens the ELF image, packed by xz, in the section .gnu_debugdata of `of`. Returns false if there is no usable one. */
bool hwi_elf_file_open_packed(struct hwi_elf_file *file, const struct hwi_elf_file *of);

/* Closes the descriptor when the file needs no more reading, so that a program with a thousand libraries does not need
 * a thousand descriptors. */
void hwi_elf_file_detach(struct hwi_elf_file *file);

void hwi_elf_file_close(struct hwi_elf_file *file); /* one that is not open (all zero, fd -1) is allowed */

/* Returns whether the file's build-id is the `bytes` bytes at `build_id`. */
bool hwi_elf_file_has_build_id(const struct hwi_elf_file *file, const uint8_t *build_id, size_t bytes);

/* Returns the section named `name` if its contents are in this file, or NULL. */
Elf_Scn *hwi_elf_file_section(const struct hwi_elf_file *file, const char *name);

/* Returns false if opening `path` might block or have side effects: it exists and is not a regular file. */
bool hwi_path_is_harmless(const char *path);

#endif
