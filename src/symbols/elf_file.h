/* elf_file.h - one ELF file, opened so that nothing in it or about it can block or crash the tool */
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
  void *memory; /* of a file that is not one on disk */
};

/* Opens a regular file that is ELF for reading. *file is untouched unless HWI_SYMBOL_OK is returned; otherwise the reason. */
enum hwi_symbol_reason hwi_elf_file_open(struct hwi_elf_file *file, const char *path);

/* Opens the ELF image that lies, packed by xz, in the section .gnu_debugdata of `of`. False: there is none that is usable. */
bool hwi_elf_file_open_packed(struct hwi_elf_file *file, const struct hwi_elf_file *of);

/* Nothing is read through the descriptor any more: closes it, so that a program of a thousand libraries needs no thousand. */
void hwi_elf_file_detach(struct hwi_elf_file *file);

void hwi_elf_file_close(struct hwi_elf_file *file); /* an unopened one (all zero, fd -1) is fine */

/* The build-id is `bytes` bytes at `build_id`. */
bool hwi_elf_file_has_build_id(const struct hwi_elf_file *file, const uint8_t *build_id, size_t bytes);

/* The section named `name`, if its contents are in this file. */
Elf_Scn *hwi_elf_file_section(const struct hwi_elf_file *file, const char *name);

/* False where opening `path` might block or do worse: it exists and is no regular file. */
bool hwi_path_is_harmless(const char *path);

#endif
