/* test_cgroup.c - which control groups limit the memory and the CPU time of a process, and their figures, in both versions of the interface
 *
 * Breaks if the limit of another group is reported, or if "max" and what version 1 has for it are taken for limits.
 */
#include "platform/linux/tools/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char mounts_v2[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char mounts_v1[] = "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                                "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n"
                                "34 31 0:31 / /sys/fs/cgroup/other rw - cgroup cgroup rw,name=memory2\n"
                                "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                                "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
static const char mounts_of_container[] =
    "30 23 0:26 /docker/12ab /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

/* Returns the folder, or NULL. */
static const char *find_of(const char *controller, const char *groups, const char *mounts)
{
  static char folder[HWI_OS_PATH_BYTES];
  FILE *of_groups = fmemopen((void *)(uintptr_t)groups, strlen(groups), "r");
  FILE *of_mounts = fmemopen((void *)(uintptr_t)mounts, strlen(mounts), "r");
  assert_true(of_groups && of_mounts);
  const bool found = hwi_proc_find_cgroup(of_groups, of_mounts, controller, folder);
  fclose(of_groups);
  fclose(of_mounts);
  return found ? folder : NULL;
}

static const char *find(const char *groups, const char *mounts)
{
  return find_of("memory", groups, mounts);
}

static void folders(void **state)
{
  (void)state;
  assert_string_equal(find("0::/user.slice/a\n", mounts_v2), "/sys/fs/cgroup/user.slice/a");
  assert_string_equal(find("0::/\n", mounts_v2), "/sys/fs/cgroup");
  assert_string_equal(find("9:name=systemd:/x\n4:memory:/a/b\n0::/c\n", mounts_v1), "/sys/fs/cgroup/memory/a/b");
  assert_string_equal(find("4:cpu,memory:/a\n0::/\n", "35 31 0:32 / /cg/both rw - cgroup cgroup rw,cpu,memory\n"),
                      "/cg/both/a");
  assert_string_equal(find("0::/docker/12ab/x\n", mounts_of_container), "/sys/fs/cgroup/x");
  assert_string_equal(find("0::/docker/12ab\n", mounts_of_container), "/sys/fs/cgroup");
  assert_null(find("0::/docker/12abc\n", mounts_of_container));
  assert_null(find("0::/../elsewhere\n", mounts_v2));
  assert_null(find("9:name=systemd:/x\n", mounts_v2));
  assert_null(find("0::/a\n", "no mounts\n- - -\n1 2 - cgroup2\n"));
  assert_null(find(":::\n0\n\n", mounts_v2));
}

/* Version 1 has a group for each controller, and others whose names begin alike. */
static void folders_of_cpus(void **state)
{
  static const char groups[] = "9:memory:/a/b\n5:cpuset:/s\n4:cpuacct,cpu:/c\n0::/d\n";
  (void)state;
  assert_string_equal(find_of("cpu", groups, mounts_v1), "/sys/fs/cgroup/cpu/c");
  assert_string_equal(find_of("cpu", "5:cpuset:/s\n0::/d\n", mounts_v1), "/sys/fs/cgroup/unified/d");
  assert_string_equal(find_of("cpu", "0::/user.slice/a\n", mounts_v2), "/sys/fs/cgroup/user.slice/a");
  assert_string_equal(find_of("cpu", "4:cpu,memory:/a\n", "35 31 0:32 / /cg/both rw - cgroup cgroup rw,cpu,memory\n"),
                      "/cg/both/a");
  assert_null(find_of("cpu", "9:memory:/a/b\n5:cpuset:/s\n", mounts_v1));
  assert_null(find_of("cpu", "4:cpu:/c\n0::/d\n", mounts_v2));
}

static void put(const char *folder, const char *name, const char *text)
{
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* Makes a folder in a new one that has the other file, and returns its path. */
static char *make(char *outer, size_t room, const char *name)
{
  static char inner[256];
  snprintf(outer, room, "/tmp/cgroup-XXXXXX");
  assert_non_null(mkdtemp(outer));
  snprintf(inner, sizeof inner, "%s/%s", outer, name);
  assert_int_equal(mkdir(inner, 0700), 0);
  return inner;
}

static void clear(const char *outer)
{
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", outer);
  assert_int_equal(system(command), 0);
}

static void version_2(void **state)
{
  char outer[64];
  const char *inner = make(outer, sizeof outer, "inner");
  struct hwi_os_cgroup_memory memory;
  (void)state;
  assert_false(hwi_os_cgroup_memory(inner, &memory));
  put(inner, "memory.current", "1000\n");
  put(inner, "memory.max", "max\n");
  put(inner, "memory.events", "low 0\nhigh 3\nmax 9\noom 2\noom_kill 5\noom_group_kill 7\n");
  assert_true(hwi_os_cgroup_memory(inner, &memory));
  assert_int_equal(memory.limit, 0);
  assert_int_equal(memory.current, 1000);
  assert_int_equal(memory.oom_kills, 5);
  put(outer, "memory.current", "3000\n"); /* a group that includes it has the limit */
  put(outer, "memory.max", "4096\n");
  assert_true(hwi_os_cgroup_memory(inner, &memory));
  assert_int_equal(memory.limit, 4096);
  assert_int_equal(memory.current, 3000);
  assert_int_equal(memory.oom_kills, 5);
  put(inner, "memory.max", "2048\n"); /* both have one: the lower counts */
  assert_true(hwi_os_cgroup_memory(inner, &memory));
  assert_int_equal(memory.limit, 2048);
  assert_int_equal(memory.current, 1000);
  clear(outer);
}

static void version_1(void **state)
{
  char outer[64];
  const char *inner = make(outer, sizeof outer, "inner");
  struct hwi_os_cgroup_memory memory;
  (void)state;
  put(inner, "memory.usage_in_bytes", "1000\n");
  put(inner, "memory.limit_in_bytes", "9223372036854771712\n"); /* none */
  put(inner, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  assert_true(hwi_os_cgroup_memory(inner, &memory));
  assert_int_equal(memory.limit, 0);
  assert_int_equal(memory.oom_kills, 3);
  put(inner, "memory.limit_in_bytes", "5000\n");
  assert_true(hwi_os_cgroup_memory(inner, &memory));
  assert_int_equal(memory.limit, 5000);
  assert_int_equal(memory.current, 1000);
  clear(outer);
}

static void time_of_cpus(void **state)
{
  char outer[64];
  const char *inner = make(outer, sizeof outer, "inner");
  (void)state;
  assert_false(hwi_os_cgroup_limits_cpu(inner));
  put(inner, "cpu.max", "max 100000\n");
  put(inner, "cpu.cfs_quota_us", "-1\n");
  assert_false(hwi_os_cgroup_limits_cpu(inner));
  put(outer, "cpu.max", "150000 100000\n"); /* a group that includes it is limited */
  assert_true(hwi_os_cgroup_limits_cpu(inner));
  put(outer, "cpu.max", "max 100000\n");
  put(inner, "cpu.cfs_quota_us", "50000\n");
  assert_true(hwi_os_cgroup_limits_cpu(inner));
  clear(outer);
}

static void rubbish(void **state)
{
  char outer[64];
  const char *inner = make(outer, sizeof outer, "inner");
  struct hwi_os_cgroup_memory memory;
  (void)state;
  put(inner, "memory.current", "words\n");
  assert_false(hwi_os_cgroup_memory(inner, &memory));
  put(inner, "memory.current", "7");
  put(inner, "memory.max", "");
  put(inner, "memory.events", "oom_kill");
  assert_true(hwi_os_cgroup_memory(inner, &memory));
  assert_int_equal(memory.limit + memory.oom_kills, 0);
  assert_false(hwi_os_cgroup_memory("/nowhere/at/all", &memory));
  clear(outer);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folders),   cmocka_unit_test(folders_of_cpus), cmocka_unit_test(version_2),
      cmocka_unit_test(version_1), cmocka_unit_test(time_of_cpus),    cmocka_unit_test(rubbish),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
