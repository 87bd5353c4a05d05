/* tuning.h - the functions of <malloc.h> that do not allocate: glibc's settings and statistics
 *
 * Part of allocator.h; a recorder leaves these to the malloc that it records. Programs call them because they expect
 * glibc's malloc; at most they print the result.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_DETAIL_TUNING_H
#define HEAPWRIGHT_DETAIL_TUNING_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "heapwright/detail/begin.h"

#define HW_SYMBOL_MALLOC_TRIM "malloc_trim"
#define HW_SYMBOL_MALLOPT "mallopt"
#define HW_SYMBOL_MALLINFO "mallinfo"
#define HW_SYMBOL_MALLINFO2 "mallinfo2"
#define HW_SYMBOL_MALLOC_INFO "malloc_info"
#define HW_SYMBOL_MALLOC_STATS "malloc_stats"

static struct hw_allocator_stats hw_stats_now(void)
{
  struct hw_allocator_stats stats;
  memset(&stats, 0, sizeof stats);
  if (hw_given.stats && hw_is_begun())
    hw_given.stats(&stats);
  return stats;
}

/* Returns 1 if memory was returned to the system. */
HW_ENTRY(int, malloc_trim, MALLOC_TRIM, (size_t pad))
{
  return hw_given.trim && hw_is_begun() && hw_given.trim(pad);
}

/* Returns 1, as glibc does for parameters that have no effect any more; 0 would be an error that some programs
 * report. */
HW_ENTRY(int, mallopt, MALLOPT, (int parameter, int value))
{
  (void)parameter, (void)value;
  return 1;
}

HW_ENTRY(int, malloc_info, MALLOC_INFO, (int options, FILE *out))
{
  if (options != 0)
    return EINVAL;
  struct hw_allocator_stats stats = hw_stats_now();
  size_t peak_bytes = stats.system_peak_bytes ? stats.system_peak_bytes : stats.system_bytes;
  fprintf(
      out,
      "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
      "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n</heap>\n"
      "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n</malloc>\n",
      stats.system_bytes - stats.used_bytes, stats.system_bytes, peak_bytes, stats.system_bytes, peak_bytes);
  return 0;
}

HW_ENTRY(void, malloc_stats, MALLOC_STATS, (void))
{
  if (hw_given.print_stats && hw_is_begun()) {
    hw_given.print_stats();
    return;
  }
  struct hw_allocator_stats stats = hw_stats_now();
  fprintf(stderr, "system bytes     = %10zu\nin use bytes     = %10zu\n", stats.system_bytes, stats.used_bytes);
}

#ifdef __GLIBC__

static int hw_clamped(size_t bytes)
{
  return bytes > INT_MAX ? INT_MAX : (int)bytes;
}

HW_ENTRY(struct mallinfo, mallinfo, MALLINFO, (void))
{
  struct hw_allocator_stats stats = hw_stats_now();
  struct mallinfo info;
  memset(&info, 0, sizeof info);
  info.arena = hw_clamped(stats.system_bytes);
  info.uordblks = hw_clamped(stats.used_bytes);
  info.fordblks = hw_clamped(stats.system_bytes - stats.used_bytes);
  return info;
}

#if __GLIBC_PREREQ(2, 33)
HW_ENTRY(struct mallinfo2, mallinfo2, MALLINFO2, (void))
{
  struct hw_allocator_stats stats = hw_stats_now();
  struct mallinfo2 info;
  memset(&info, 0, sizeof info);
  info.arena = stats.system_bytes;
  info.uordblks = stats.used_bytes;
  info.fordblks = stats.system_bytes - stats.used_bytes;
  return info;
}
#endif
#endif

#endif
