/* elf.c - the dynamic symbols of a mapped ELF image
 *
 * DT_GNU_HASH: a Bloom filter says for most names that they are missing; then each bucket has the index of its first
 * symbol, and from there on `chains` has the hash of every symbol; its lowest bit marks the last symbol of the bucket.
 * Images with only DT_HASH (the vdso) are small, and searched from end to end.
 */
#include "platform/linux/elf.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

enum { VERSION_IS_HIDDEN = 0x8000, WORD_BITS = 8 * sizeof(ElfW(Addr)) };

/* The beginning of DT_GNU_HASH. */
struct gnu_table {
  uint32_t bucket_count, first_symbol, bloom_words, bloom_shift;
};

/* glibc writes run-time addresses into the dynamic section of a relocated image; the kernel and musl leave the
 * addresses of the file there. */
static const void *table_at(const struct hwi_elf_image *image, uintptr_t address)
{
  return (const void *)(address < image->bias ? address + image->bias : address);
}

bool hwi_elf_open(struct hwi_elf_image *image, uintptr_t bias, const ElfW(Dyn) *dynamic)
{
  *image = (struct hwi_elf_image){.bias = bias, .dynamic = dynamic};
  for (const ElfW(Dyn) *at = dynamic; at && at->d_tag != DT_NULL; at++) {
    const void *table = table_at(image, at->d_un.d_ptr);
    if (at->d_tag == DT_SYMTAB)
      image->symbols = (const ElfW(Sym) *)table;
    else if (at->d_tag == DT_STRTAB)
      image->strings = (const char *)table;
    else if (at->d_tag == DT_VERSYM)
      image->versions = (const ElfW(Half) *)table;
    else if (at->d_tag == DT_GNU_HASH)
      image->gnu_hash = (const uint32_t *)table;
    else if (at->d_tag == DT_HASH)
      image->hash = (const ElfW(Word) *)table;
  }
  return image->symbols && image->strings && (image->gnu_hash || image->hash);
}

/* --- one symbol --- */

/* On CPUs other than x86, glibc's resolvers take the CPU's capabilities as an argument. */
static uintptr_t address_of(const struct hwi_elf_image *image, const ElfW(Sym) *symbol)
{
  uintptr_t address = image->bias + symbol->st_value;
  if (ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC)
    return address;
  return ((uintptr_t(*)(unsigned long))address)(getauxval(AT_HWCAP));
}

/* The executable may have an entry (SHN_UNDEF) for a library's function whose address it takes; that is not a
 * definition. */
static bool is_definition(const struct hwi_elf_image *image, uint32_t index, const char *name)
{
  const ElfW(Sym) *symbol = &image->symbols[index];
  return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) != STT_TLS &&
         ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && strcmp(image->strings + symbol->st_name, name) == 0;
}

/* Returns whether the symbol is found without naming a version. Other versions exist for programs that were linked long
 * ago. */
static bool is_default(const struct hwi_elf_image *image, uint32_t index)
{
  return !image->versions || !(image->versions[index] & VERSION_IS_HIDDEN);
}

/* --- the tables --- */

static uint32_t gnu_hash_of(const char *name)
{
  uint32_t hash = 5381;
  for (; *name; name++)
    hash = hash * 33 + (uint8_t)*name;
  return hash;
}

/* Returns false if the image does not have this name. */
static bool may_have(const struct gnu_table *table, uint32_t hash)
{
  const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table + 1);
  ElfW(Addr) word = bloom[hash / WORD_BITS % table->bloom_words];
  return word >> hash % WORD_BITS & word >> (hash >> table->bloom_shift) % WORD_BITS & 1;
}

/* Returns the index of the symbol, or 0 if there is none. A hidden version is taken only if there is no other. */
static uint32_t find_by_gnu_hash(const struct hwi_elf_image *image, const char *name)
{
  const struct gnu_table *table = (const struct gnu_table *)image->gnu_hash;
  uint32_t hash = gnu_hash_of(name), hidden = 0;
  if (!table->bucket_count || !table->bloom_words || !may_have(table, hash))
    return 0;
  const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(table + 1) + table->bloom_words);
  const uint32_t *chains = buckets + table->bucket_count;
  uint32_t index = buckets[hash % table->bucket_count];
  if (index < table->first_symbol)
    return 0;
  for (;; index++) {
    uint32_t chained = chains[index - table->first_symbol];
    if ((chained | 1) == (hash | 1) && is_definition(image, index, name)) {
      if (is_default(image, index))
        return index;
      hidden = hidden ? hidden : index;
    }
    if (chained & 1)
      return hidden;
  }
}

static uint32_t find_by_scan(const struct hwi_elf_image *image, const char *name)
{
  uint32_t count = image->hash[1], hidden = 0;
  for (uint32_t index = 1; index < count; index++) {
    if (!is_definition(image, index, name))
      continue;
    if (is_default(image, index))
      return index;
    hidden = hidden ? hidden : index;
  }
  return hidden;
}

uintptr_t hwi_elf_find(const struct hwi_elf_image *image, const char *name)
{
  uint32_t index = image->gnu_hash ? find_by_gnu_hash(image, name) : find_by_scan(image, name);
  return index ? address_of(image, &image->symbols[index]) : 0;
}

/* --- all symbols --- */

/* A relocation is an address, the index of a symbol above a type, and with words of 64 bits an addend. */
enum {
  IS_LONG = sizeof(ElfW(Addr)) == 8,
  RELOCATION_WORDS = IS_LONG ? 3 : 2,
  RELOCATION_BYTES = RELOCATION_WORDS * sizeof(ElfW(Addr)),
  SYMBOL_SHIFT = IS_LONG ? 32 : 8,
};

struct relocations {
  const ElfW(Addr) *list;
  size_t count;
};

/* Stores the relocations of calls, and all others. */
static void find_relocations(const struct hwi_elf_image *image, struct relocations *calls, struct relocations *others)
{
  *calls = *others = (struct relocations){NULL, 0};
  for (const ElfW(Dyn) *at = image->dynamic; at->d_tag != DT_NULL; at++) {
    if (at->d_tag == DT_JMPREL)
      calls->list = table_at(image, at->d_un.d_ptr);
    else if (at->d_tag == DT_PLTRELSZ)
      calls->count = at->d_un.d_val / RELOCATION_BYTES;
    else if (at->d_tag == (IS_LONG ? DT_RELA : DT_REL))
      others->list = table_at(image, at->d_un.d_ptr);
    else if (at->d_tag == (IS_LONG ? DT_RELASZ : DT_RELSZ))
      others->count = at->d_un.d_val / RELOCATION_BYTES;
  }
}

static void each_relocated(const struct relocations *of, void (*found)(void *context, uint32_t index), void *context)
{
  for (size_t i = 0; of->list && i < of->count; i++) {
    const uint32_t index = (uint32_t)(of->list[RELOCATION_WORDS * i + 1] >> SYMBOL_SHIFT);
    if (index)
      found(context, index);
  }
}

void hwi_elf_relocated(const struct hwi_elf_image *image, void (*found)(void *context, uint32_t index), void *context)
{
  struct relocations calls, others;
  find_relocations(image, &calls, &others);
  each_relocated(&calls, found, context);
  each_relocated(&others, found, context);
}

static void count_up_to(void *context, uint32_t index)
{
  uint32_t *count = context;
  if (index >= *count)
    *count = index + 1;
}

/* DT_GNU_HASH has no count: the last symbol is the last one of the bucket that begins last. Symbols before the first that it
 * has are references, and so are all symbols of an image that defines none. There, GNU ld writes 1 as the first. */
static uint32_t count_by_gnu_hash(const struct hwi_elf_image *image)
{
  const struct gnu_table *table = (const struct gnu_table *)image->gnu_hash;
  const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(table + 1) + table->bloom_words);
  const uint32_t *chains = buckets + table->bucket_count;
  uint32_t last = 0;
  for (uint32_t i = 0; i < table->bucket_count; i++)
    last = buckets[i] > last ? buckets[i] : last;
  if (last < table->first_symbol) {
    uint32_t count = table->first_symbol;
    hwi_elf_relocated(image, count_up_to, &count);
    return count;
  }
  while (!(chains[last - table->first_symbol] & 1))
    last++;
  return last + 1;
}

uint32_t hwi_elf_symbol_count(const struct hwi_elf_image *image)
{
  return image->gnu_hash ? count_by_gnu_hash(image) : image->hash[1];
}
