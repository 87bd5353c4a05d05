/* os_code.h - the functions of the loaded modules, and their code, which may be changed; as os.h
 *
 * For the start of a recording: the loader must be idle, and no other thread may run.
 */
#ifndef HWI_PLATFORM_OS_CODE_H
#define HWI_PLATFORM_OS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded module, and its symbols. */
struct hwi_os_image {
  const char *path; /* the loader's name for it; "" for the executable */
  uintptr_t bias;
  const void *loaded;  /* private */
  const uint8_t *file; /* private: the mapped file, if it has more symbols than the loaded image; or NULL */
  size_t file_bytes;
};

/* A function that an image defines. */
struct hwi_os_function {
  const char *name;
  uintptr_t address;
  size_t bytes;   /* 0: unknown */
  bool is_chosen; /* a function at `address` returns the address: hwi_os_chosen_function */
};

/* Opens the first image in the order of the loader's search, or the next one. This library, the C library and the loader
 * itself are left out. Returns false, and has nothing open, after the last one. */
bool hwi_os_image_first(struct hwi_os_image *image);
bool hwi_os_image_next(struct hwi_os_image *image);

/* Closes an image before the last one. */
void hwi_os_image_close(struct hwi_os_image *image);

/* Calls found(context, function) for each function that the image defines: those of the symbol table of its file, or the exported
 * ones, if it was stripped, if it cannot be read, or if the file at its path is another one. The name is valid while the image is open. */
void hwi_os_image_functions(const struct hwi_os_image *image,
                            void (*found)(void *context, const struct hwi_os_function *function), void *context);

/* Calls found(context, name) for each symbol that the image uses and does not define. */
void hwi_os_image_references(const struct hwi_os_image *image, void (*found)(void *context, const char *name),
                             void *context);

/* Returns whether [at, at + bytes) is in a segment of the image with code, so that it may be read and called. */
bool hwi_os_image_has_code(const struct hwi_os_image *image, uintptr_t at, size_t bytes);

/* Returns whether the image's constants have a string of C that begins with `text`. All of them are read; if that
 * would take long, the result is false. */
bool hwi_os_image_has_string(const struct hwi_os_image *image, const char *text);

/* Returns whether the image itself finds a function at this address through the loader's tables, so that it may find that of
 * another image instead. If not, the linker has bound its calls. */
bool hwi_os_image_looks_up(const struct hwi_os_image *image, uintptr_t address);

/* Returns the address of a function that is chosen at run time. */
uintptr_t hwi_os_chosen_function(uintptr_t resolver);

/* Returns how many threads this process has, or 0 if it cannot be known. */
uint32_t hwi_os_thread_count(void);

/* Returns zeroed memory of which no byte is farther than `farthest` from `address`, which is in a module, readable and writable, or
 * NULL. It is not where brk puts the program's heap. */
void *hwi_os_map_near(uintptr_t address, size_t bytes, size_t farthest);

/* Makes memory of hwi_os_map_near executable, and no longer writable. Returns 0 or a negative value. */
int hwi_os_make_code(void *start, size_t bytes);

/* Make the pages with [at, at + bytes), which is code of the image, writable as well, or undo this. Return 0 or a negative value;
 * the first one leaves the pages as they are then. */
int hwi_os_open_code(const struct hwi_os_image *image, uintptr_t at, size_t bytes);
int hwi_os_close_code(const struct hwi_os_image *image, uintptr_t at, size_t bytes);

#endif
