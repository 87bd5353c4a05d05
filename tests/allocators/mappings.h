/* mappings.h - what the kernel says about the memory of this process */
#ifndef TESTS_ALLOCATORS_MAPPINGS_H
#define TESTS_ALLOCATORS_MAPPINGS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#ifdef HW_SANITIZED_ADDRESS
void __asan_get_shadow_mapping(size_t *scale, size_t *offset);

/* Returns the pages that are in memory of ASan's shadow. ASan reads the part of it that belongs to what a program writes, and some
 * kernels count memory that was only read as present. */
static inline size_t shadow_pages(void)
{
  char line[512];
  size_t scale, offset, start, end, kib, pages = 0;
  bool is_shadow = false;
  __asan_get_shadow_mapping(&scale, &offset);
  FILE *file = fopen("/proc/self/smaps", "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%zx-%zx ", &start, &end) == 2)
      is_shadow = start >= offset && start - offset < ((size_t)1 << 47) >> scale;
    else if (is_shadow && sscanf(line, "Rss: %zu", &kib) == 1)
      pages += kib / 4;
  }
  fclose(file);
  return pages;
}
#else
static inline size_t shadow_pages(void)
{
  return 0;
}
#endif

/* Pages of the system: all that are mapped, and those in memory. */
static inline void process_pages(size_t *mapped, size_t *resident)
{
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%zu %zu", mapped, resident), 2);
  fclose(file);
  *resident -= shadow_pages();
}

/* Returns how many mappings the process has. */
static inline int mapping_count(void)
{
  int count = 0;
  FILE *file = fopen("/proc/self/maps", "r");
  assert_non_null(file);
  for (int c; (c = fgetc(file)) != EOF;)
    count += c == '\n';
  fclose(file);
  return count;
}

static inline size_t resident_bytes(void)
{
  size_t mapped, resident;
  process_pages(&mapped, &resident);
  return resident * 4096;
}

/* Returns the line of /proc/self/smaps that begins with `name` for the mapping of an address; "" if there is none. */
static inline const char *smaps_line(const void *address, const char *name)
{
  static char line[512];
  unsigned long start, end;
  bool is_it = false, is_found = false;
  FILE *file = fopen("/proc/self/smaps", "r");
  assert_non_null(file);
  while (!is_found && fgets(line, sizeof line, file)) {
    if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
      is_it = (uintptr_t)address - start < end - start;
    is_found = is_it && !strncmp(line, name, strlen(name));
  }
  fclose(file);
  return is_found ? line : "";
}

static inline const char *flags_of(const void *address)
{
  return smaps_line(address, "VmFlags:");
}

/* Returns the kibibytes of a line of smaps. */
static inline size_t smaps_kib(const void *address, const char *name)
{
  size_t kib = 0;
  sscanf(smaps_line(address, name) + strlen(name), "%zu", &kib);
  return kib;
}

#endif
