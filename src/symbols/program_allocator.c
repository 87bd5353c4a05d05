/* program_allocator.c - whose malloc a program's file has: a sanitizer's, that of an allocator linked into it, or the recorder's
 *
 * A call within a program to a function that the program defines does not go through the dynamic linker, unless the
 * function is exported under the name of one in the recorder. So the program's symbol tables are searched for
 * definitions: the functions that known allocators have in addition to malloc, and a malloc that is defined (.symtab)
 * but not exported (.dynsym). Functions of shared libraries are undefined symbols, so they are not found. In a stripped
 * program, which has no .symtab, texts of these allocators are searched for.
 *
 * A static program with the recorder calls it instead of malloc, whichever malloc that is. Nothing is redirected there, so calls of an
 * allocator's functions by names of its own are not seen, also if it is malloc. Whether there are such calls, the symbols do not show.
 */
#define _GNU_SOURCE
#include "symbols/program_allocator.h"

#include <limits.h>
#include <string.h>

#include "base/allocator_texts.h"
#include "base/suffix.h"
#include "platform/os.h"
#include "symbols/elf_file.h"

/* --- the recorder --- */

static bool is_recorders(Elf_Data *notes)
{
  GElf_Nhdr note;
  size_t name, contents, off = 0;
  while (notes && (off = gelf_getnote(notes, off, &note, &name, &contents)) > 0)
    if (note.n_type == HWI_OS_NOTE_RECORDER && note.n_namesz == sizeof HWI_OS_NOTE_NAME &&
        memcmp((const char *)notes->d_buf + name, HWI_OS_NOTE_NAME, sizeof HWI_OS_NOTE_NAME) == 0)
      return true;
  return false;
}

static bool has_recorder(Elf *elf)
{
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE && is_recorders(elf_getdata(section, NULL)))
      return true;
  }
  return false;
}

/* The recorder that is linked in leaves a program with a dynamic loader to the one that is preloaded. */
static bool is_static(Elf *elf)
{
  size_t count = 0;
  GElf_Phdr header;
  if (elf_getphdrnum(elf, &count) != 0)
    return false;
  for (size_t i = 0; i < count && i <= INT_MAX; i++)
    if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_INTERP)
      return false;
  return true;
}

bool hwi_has_linked_recorder(const char *path)
{
  struct hwi_elf_file file;
  if (hwi_elf_file_open(&file, path) != HWI_SYMBOL_OK)
    return false;
  const bool has = has_recorder(file.elf);
  hwi_elf_file_close(&file);
  return has;
}

/* --- an allocator that is linked in --- */

/* The recorder redirects the calls of an allocator that it knows completely (record/runtime/redirect.c), and notes in the trace
 * whether it could. What it needs is a function that only this allocator has, and one that frees. */
#define OWN_API(owner, function) owner "'s own API (" function "; malloc is recorded)"
static const struct mark {
  const char *function, *text;
  const char *own_api; /* instead of the text, if malloc reaches a recorder that is linked in */
  const char *free;    /* NULL: the recorder does not know this allocator */
  bool is_jemalloc;    /* it is known by its mallctl... functions, whose prefix may be any */
} marks[] = {
    {"je_malloc", "jemalloc (je_malloc)", OWN_API("jemalloc", "je_malloc"), "je_free", true},
    /* as Rust programs link it */
    {"_rjem_malloc", "jemalloc (_rjem_malloc)", OWN_API("jemalloc", "_rjem_malloc"), "_rjem_free", true},
    {"mi_malloc", "mimalloc (mi_malloc)", OWN_API("mimalloc", "mi_malloc"), "mi_free", false},
    {"tc_malloc", "tcmalloc (tc_malloc)", OWN_API("tcmalloc", "tc_malloc"), "tc_free", false},
    {"rpmalloc", "rpmalloc (rpmalloc)", OWN_API("rpmalloc", "rpmalloc"), NULL, false},
    {"scalable_malloc", "TBB's allocator (scalable_malloc)", OWN_API("TBB", "scalable_malloc"), NULL, false},
    {"malloc", "its own malloc (not exported)", NULL, "free", true},
};
enum { MARK_COUNT = sizeof marks / sizeof *marks, MALLOC = MARK_COUNT - 1 };

/* What a program contains even if its symbols were stripped. The first character is not a part: this program has these texts, too. */
static const struct text_mark {
  const char *content, *text;
} text_marks[] = {
    {"-" HWI_JEMALLOC_TEXT, "jemalloc (known by the text '" HWI_JEMALLOC_TEXT "'; its symbols were stripped)"},
    {"-" HWI_MIMALLOC_TEXT, "mimalloc (known by the text '" HWI_MIMALLOC_TEXT "'; its symbols were stripped)"},
    {"-" HWI_TCMALLOC_TEXT, "tcmalloc (known by the text '" HWI_TCMALLOC_TEXT "'; its symbols were stripped)"},
};
enum { TEXT_MARK_COUNT = sizeof text_marks / sizeof *text_marks };

struct found {
  bool allocates[MARK_COUNT], frees[MARK_COUNT];
  bool exports_malloc, is_jemalloc, has_symbols, has_recorder, is_static;
  GElf_Addr malloc_at, libcs_malloc_at; /* 0: none */
  const char *stripped;                 /* the text of what it contains */
};

/* glibc's malloc has further names, of which other allocators define __libc_malloc, too, but not __malloc; that of musl, until it is
 * replaced, is a weak name of a local function. */
static void look_for_libcs(struct found *found, const char *name, GElf_Addr at)
{
  if (strcmp(name, "malloc") == 0)
    found->malloc_at = at;
  else if (strcmp(name, "__malloc") == 0 || strcmp(name, "default_malloc") == 0)
    found->libcs_malloc_at = at;
}

static void look_at(struct found *found, const char *name, bool is_dynamic)
{
  found->is_jemalloc |= hwi_ends_in(name, strlen(name), "mallctlnametomib");
  for (size_t i = 0; i < MARK_COUNT; i++) {
    if (marks[i].free && strcmp(name, marks[i].free) == 0)
      found->frees[i] = true;
    if (strcmp(name, marks[i].function) != 0)
      continue;
    found->allocates[i] = true;
    if (i == MALLOC && is_dynamic)
      found->exports_malloc = true;
  }
}

static void look_through(struct found *found, Elf *elf, Elf_Scn *table, const GElf_Shdr *header)
{
  Elf_Data *data = elf_getdata(table, NULL);
  size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
  size_t count = data && entry_bytes > 0 ? data->d_size / entry_bytes : 0;
  for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, (int)i, &symbol))
      return;
    int type = GELF_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
      continue;
    const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
    if (!name)
      continue;
    look_at(found, name, header->sh_type == SHT_DYNSYM);
    look_for_libcs(found, name, symbol.st_value);
  }
}

static void look_for_texts(struct found *found, Elf_Data *data)
{
  for (size_t i = 0; i < TEXT_MARK_COUNT && data && data->d_buf && !found->stripped; i++)
    if (hwi_has_string(data->d_buf, data->d_size, text_marks[i].content + 1))
      found->stripped = text_marks[i].text;
}

static void look_into_section(struct found *found, Elf *elf, Elf_Scn *section)
{
  GElf_Shdr header;
  if (!gelf_getshdr(section, &header))
    return;
  if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
    look_through(found, elf, section, &header);
  found->has_symbols |= header.sh_type == SHT_SYMTAB;
}

static bool is_constants(Elf *elf, Elf_Scn *section)
{
  GElf_Shdr header;
  size_t names;
  if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS || elf_getshdrstrndx(elf, &names) != 0)
    return false;
  const char *name = elf_strptr(elf, names, header.sh_name);
  return name && strcmp(name, ".rodata") == 0;
}

/* Searches all symbol tables of the file, if it has the module's build-id; and what a stripped one contains. */
static struct found look_into(const struct hwi_symbol_module *module)
{
  struct hwi_elf_file file;
  struct found found = {0};
  if (hwi_elf_file_open(&file, module->path) != HWI_SYMBOL_OK)
    return found;
  bool is_same =
      module->build_id_bytes == 0 || hwi_elf_file_has_build_id(&file, module->build_id, module->build_id_bytes);
  found.has_recorder = is_same && has_recorder(file.elf);
  found.is_static = is_static(file.elf);
  for (Elf_Scn *section = NULL; is_same && (section = elf_nextscn(file.elf, section));)
    look_into_section(&found, file.elf, section);
  bool knows_names = found.has_symbols || found.has_recorder; /* the recorder has such texts, too */
  for (Elf_Scn *section = NULL; is_same && !knows_names && (section = elf_nextscn(file.elf, section));)
    if (is_constants(file.elf, section))
      look_for_texts(&found, elf_getdata(section, NULL));
  hwi_elf_file_close(&file);
  return found;
}

/* The allocators that are not malloc, or of which malloc is not the only name. */
static const char *not_seen_by_linked_recorder(const struct found *found)
{
  const bool is_libcs_malloc = found->malloc_at && found->malloc_at == found->libcs_malloc_at;
  for (size_t i = 0; i < MALLOC; i++)
    if (found->allocates[i])
      return is_libcs_malloc ? marks[i].text : marks[i].own_api;
  if (!found->is_jemalloc)
    return NULL;
  return is_libcs_malloc ? "jemalloc (with another prefix)" : OWN_API("jemalloc", "mallocx");
}

static bool is_redirected(const struct found *found, size_t i)
{
  return found->frees[i] && (!marks[i].is_jemalloc || found->is_jemalloc);
}

static struct hwi_program_allocator allocator_of(const struct hwi_symbol_module *program)
{
  const struct found found = look_into(program);
  struct hwi_program_allocator allocator = {.exports_malloc = found.exports_malloc && !found.has_recorder};
  size_t i = 0;
  while (i < MARK_COUNT && !found.allocates[i])
    i++;
  if (found.stripped) {
    allocator.linked_in = found.stripped;
  } else if (found.has_recorder && found.is_static) {
    allocator.linked_in = not_seen_by_linked_recorder(&found);
  } else if (i < MARK_COUNT && !found.exports_malloc) {
    allocator.linked_in = marks[i].text;
    allocator.is_redirected = is_redirected(&found, i);
  }
  return allocator;
}

struct hwi_program_allocator hwi_program_allocator(const char *path)
{
  return allocator_of(&(struct hwi_symbol_module){.path = path});
}

const char *hwi_static_allocator(const struct hwi_symbol_module *program)
{
  const struct hwi_program_allocator allocator = allocator_of(program);
  return allocator.is_redirected ? NULL : allocator.linked_in;
}

const char *hwi_static_allocator_advice(const char *text)
{
  for (size_t i = 0; i < TEXT_MARK_COUNT; i++)
    if (text == text_marks[i].text)
      return "keep the symbols (strip -g removes only what debuggers need), or link the program statically with the "
             "recorder";
  return NULL;
}

/* --- a sanitizer --- */

/* The runtimes of gcc, and those of clang with -shared-libsan; Scudo is a malloc that shares their code. The runtime of
 * UndefinedBehaviorSanitizer has no malloc. */
static bool is_sanitizer(const char *library)
{
  static const char *const beginnings[] = {
      "libasan.so",       "libtsan.so",       "liblsan.so",         "libhwasan.so",      "libclang_rt.asan",
      "libclang_rt.tsan", "libclang_rt.lsan", "libclang_rt.hwasan", "libclang_rt.scudo",
  };
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (strncmp(library, beginnings[i], strlen(beginnings[i])) == 0)
      return true;
  return false;
}

static bool needs_sanitizer(Elf *elf, Elf_Scn *dynamic, const GElf_Shdr *header)
{
  Elf_Data *data = elf_getdata(dynamic, NULL);
  GElf_Dyn entry;
  for (int i = 0; data && i < INT_MAX && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
    const char *library = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header->sh_link, entry.d_un.d_val) : NULL;
    if (library && is_sanitizer(library))
      return true;
  }
  return false;
}

/* All runtimes with a malloc export this function. */
static bool exports_sanitizer(Elf *elf, Elf_Scn *symbols, const GElf_Shdr *header)
{
  Elf_Data *data = elf_getdata(symbols, NULL);
  GElf_Sym symbol;
  for (int i = 1; data && i < INT_MAX && gelf_getsym(data, i, &symbol); i++) {
    const char *name = symbol.st_shndx != SHN_UNDEF ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
    if (name && strcmp(name, "__sanitizer_get_allocated_size") == 0)
      return true;
  }
  return false;
}

bool hwi_has_sanitizer(const char *path)
{
  struct hwi_elf_file file;
  bool has = false;
  if (hwi_elf_file_open(&file, path) != HWI_SYMBOL_OK)
    return false;
  for (Elf_Scn *section = NULL; !has && (section = elf_nextscn(file.elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header))
      continue;
    has = (header.sh_type == SHT_DYNAMIC && needs_sanitizer(file.elf, section, &header)) ||
          (header.sh_type == SHT_DYNSYM && exports_sanitizer(file.elf, section, &header));
  }
  hwi_elf_file_close(&file);
  return has;
}
