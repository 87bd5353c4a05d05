/* library.h - shared libraries that only some commands need, loaded when one of them does
 *
 * The tool is linked with none of them, so that other commands do not wait until they are loaded. Their headers are used when it is
 * built: a library's functions are pointers in a struct, declared with the types of its headers.
 */
#ifndef HWI_BASE_LIBRARY_H
#define HWI_BASE_LIBRARY_H

#include <stddef.h>

#include "base/error.h"

struct hwi_library_symbol {
  const char *name;
  size_t off; /* of its pointer in the library's struct */
};

struct hwi_library {
  const char *user;              /* what needs it, for messages */
  const char *file;              /* as the dynamic loader knows it; the build finds it out */
  const char *package, *version; /* of Debian; the oldest one that has all symbols */
  const struct hwi_library_symbol *symbols;
  size_t symbol_count;
};

/* Loads a library, and puts the addresses of its symbols into `pointers`. Returns 0 or HW_ERR_USAGE. It stays loaded until the
 * process ends: some libraries do not support being unloaded. */
int hwi_library_load(const struct hwi_library *library, void *pointers, struct hwi_error *error);

/* Puts a note into the executable, for tools that make packages: it may load a library, for a feature. The format is "dlopen
 * metadata for ELF files" of the UAPI group. Once in a file; the arguments are literals. */
#define HWI_LIBRARY_NOTE(FILE, FEATURE, DESCRIPTION)                                                        \
  static const struct {                                                                                     \
    uint32_t name_bytes, text_bytes, type;                                                                  \
    char name[4];                                                                                           \
    _Alignas(4) char text[sizeof HWI_LIBRARY_NOTE_TEXT(FILE, FEATURE, DESCRIPTION)];                        \
  } dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = {                              \
      sizeof "FDO", sizeof HWI_LIBRARY_NOTE_TEXT(FILE, FEATURE, DESCRIPTION), HWI_LIBRARY_NOTE_TYPE, "FDO", \
      HWI_LIBRARY_NOTE_TEXT(FILE, FEATURE, DESCRIPTION)}
#define HWI_LIBRARY_NOTE_TYPE 0x407c0c0a
#define HWI_LIBRARY_NOTE_TEXT(FILE, FEATURE, DESCRIPTION)                                                              \
  "[{\"feature\":\"" FEATURE "\",\"description\":\"" DESCRIPTION "\",\"priority\":\"recommended\",\"soname\":[\"" FILE \
  "\"]}]"

#endif
