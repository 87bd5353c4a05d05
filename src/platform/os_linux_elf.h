/* os_linux_elf.h - the dynamic symbols of an ELF image that is mapped; inside this folder
 *
 * Read from the image's own tables, since the loader's way (dlsym) words an error where a name is missing, frees the text of
 * the one before, and so calls the program's malloc and free. Nothing here allocates, locks or changes errno.
 */
#ifndef HWI_PLATFORM_OS_LINUX_ELF_H
#define HWI_PLATFORM_OS_LINUX_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct hwi_elf_image {
  uintptr_t bias; /* run-time address minus address in the file */
  const ElfW(Dyn) *dynamic;
  const ElfW(Sym) *symbols;
  const char *strings;
  const ElfW(Half) *versions; /* one a symbol; NULL: the image has none */
  const uint32_t *gnu_hash;   /* DT_GNU_HASH, or NULL */
  const ElfW(Word) *hash;     /* DT_HASH, or NULL */
};

/* False: the image has no table to find names by. */
bool hwi_elf_open(struct hwi_elf_image *image, uintptr_t bias, const ElfW(Dyn) *dynamic);

/* The address of the function or object that the image defines under `name`, in its default version where it has several; of
 * a function that is chosen at run time, the chosen one. 0: it defines none. */
uintptr_t hwi_elf_find(const struct hwi_elf_image *image, const char *name);

#endif
