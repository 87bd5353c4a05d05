/* names_file.h - an ELF file that contains only names, for code of which only the names are known
 *
 * place      a function at a line of a source file. Place number N, from 0, has the addresses [HWI_PLACE_FIRST + N *
 *            HWI_PLACE_BYTES, + HWI_PLACE_BYTES), which are artificial: they only link a trace to the names.
 * The file has a symbol table for the functions and a line table (DWARF 4) for the lines, so that readers of debug
 * files find both.
 */
#ifndef HWI_EXPORT_IMPORT_NAMES_FILE_H
#define HWI_EXPORT_IMPORT_NAMES_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { HWI_PLACE_FIRST = 0x1000, HWI_PLACE_BYTES = 16, HWI_NAMES_BUILD_ID_BYTES = 20 };

struct hwi_named_place {
  const char *function; /* NULL: unknown */
  const char *file;     /* NULL: unknown; then the line is unknown, too */
  uint32_t line;
};

/* Writes the file, and replaces an existing one at `path`. Returns 0, HW_ERR_MEMORY, or HW_ERR_IO with errno. */
int hwi_names_file_write(const char *path, const uint8_t build_id[HWI_NAMES_BUILD_ID_BYTES],
                         const struct hwi_named_place *places, uint32_t count);

#endif
