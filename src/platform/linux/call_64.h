/* call_64.h - Linux's system calls that depend on the size of a register, on CPUs with 64 bits; see call.h */
#ifndef HWI_PLATFORM_LINUX_CALL_64_H
#define HWI_PLATFORM_LINUX_CALL_64_H

static inline long hwi_call_map(const void *start, size_t bytes, long access, long flags, long fd, uint64_t off)
{
  return CALL(SYS_mmap, start, bytes, access, flags, fd, off);
}

static inline long hwi_call_write_at(long fd, const void *from, size_t bytes, uint64_t off)
{
  return CALL4(SYS_pwrite64, fd, from, bytes, off);
}

static inline long hwi_call_truncate(long fd, uint64_t bytes)
{
  return CALL2(SYS_ftruncate, fd, bytes);
}

static inline long hwi_call_clock(long clock, struct hwi_call_time *now)
{
  return CALL2(SYS_clock_gettime, clock, now);
}

static inline long hwi_call_file_system(const char *path, struct statfs64 *about)
{
  return CALL2(SYS_statfs, path, about);
}

static inline long hwi_call_about_file(long folder, const char *path, long flags, struct hwi_call_file *file)
{
  struct stat about;
  const long result = CALL4(SYS_newfstatat, folder, path, &about, flags);
  if (result == 0)
    *file = (struct hwi_call_file){about.st_mode, about.st_nlink, (uint64_t)about.st_size};
  return result;
}

#endif
