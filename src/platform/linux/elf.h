/* elf.h - the dynamic symbols of a mapped ELF image; internal to this folder
 *
 * They are read from the image's own tables. For a missing name, the loader's dlsym formats an error text and frees the
 * previous one, and so calls the program's malloc and free. Nothing here allocates, locks or changes errno.
 */
#ifndef HWI_PLATFORM_LINUX_ELF_H
#define HWI_PLATFORM_LINUX_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct hwi_elf_image {
  uintptr_t bias; /* run-time address minus address in the file */
  const ElfW(Dyn) *dynamic;
  const ElfW(Sym) *symbols;
  const char *strings;
  const ElfW(Half) *versions; /* one per symbol; NULL: the image has none */
  const uint32_t *gnu_hash;   /* DT_GNU_HASH, or NULL */
  const ElfW(Word) *hash;     /* DT_HASH, or NULL */
};

/* Returns false if the image has no table to find names with. */
bool hwi_elf_open(struct hwi_elf_image *image, uintptr_t bias, const ElfW(Dyn) *dynamic);

/* Returns the address of the function or object that the image defines under `name`, in its default version if there
 * are several, or 0 if there is none. For a function that is chosen at run time (ifunc) it is the chosen one. */
uintptr_t hwi_elf_find(const struct hwi_elf_image *image, const char *name);

/* Returns the number of symbols in image->symbols; of an image that defines none, those that its relocations name. */
uint32_t hwi_elf_symbol_count(const struct hwi_elf_image *image);

/* Calls found(context, index) for each relocation by a symbol. An index comes as often as there are relocations by it. */
void hwi_elf_relocated(const struct hwi_elf_image *image, void (*found)(void *context, uint32_t index), void *context);

#endif
