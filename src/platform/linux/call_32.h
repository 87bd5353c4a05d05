/* call_32.h - Linux's system calls that depend on the size of a register, on CPUs with 32 bits; see call.h
 *
 * A number of 64 bits is in two registers, on 32-bit Arm in an even one and the next. Structs with times or sizes have newer forms that
 * are the same as on other CPUs.
 */
#ifndef HWI_PLATFORM_LINUX_CALL_32_H
#define HWI_PLATFORM_LINUX_CALL_32_H

enum { HWI_CALL_MAP_UNIT = 4096, HWI_CALL_WORD_BITS = 32 }; /* of the offset in a file, whatever the pages are */

static inline long hwi_call_map(const void *start, size_t bytes, long access, long flags, long fd, uint64_t off)
{
  return CALL(SYS_mmap2, start, bytes, access, flags, fd, off / HWI_CALL_MAP_UNIT);
}

static inline long hwi_call_write_at(long fd, const void *from, size_t bytes, uint64_t off)
{
  return CALL(SYS_pwrite64, fd, from, bytes, 0, off, off >> HWI_CALL_WORD_BITS);
}

static inline long hwi_call_truncate(long fd, uint64_t bytes)
{
  return CALL4(SYS_ftruncate64, fd, 0, bytes, bytes >> HWI_CALL_WORD_BITS);
}

/* Linux before 5.1 has only the older form, whose seconds end in 2038. */
static inline long hwi_call_clock(long clock, struct hwi_call_time *now)
{
  struct {
    int32_t seconds, ns;
  } old;
  long result = CALL2(SYS_clock_gettime64, clock, now);
  if (result != -ENOSYS)
    return result;
  result = CALL2(SYS_clock_gettime, clock, &old);
  if (result == 0)
    *now = (struct hwi_call_time){old.seconds, old.ns};
  return result;
}

static inline long hwi_call_file_system(const char *path, struct statfs64 *about)
{
  return CALL3(SYS_statfs64, path, sizeof *about, about);
}

static inline long hwi_call_about_file(long folder, const char *path, long flags, struct hwi_call_file *file)
{
  struct statx about;
  const long result = CALL(SYS_statx, folder, path, flags, STATX_BASIC_STATS, &about, 0);
  if (result == 0)
    *file = (struct hwi_call_file){about.stx_mode, about.stx_nlink, about.stx_size};
  return result;
}

#endif
