"""test_limits.py - when nothing more can be recorded, the program goes on unharmed and the report says from when on
events are missing

Breaks if a full disk raises SIGBUS, a file size limit SIGXFSZ, or if any limit changes what the program prints.
"""

import os
import resource
import shutil
import subprocess

import pytest
from small_disk import mounted, small_disk

BUSY = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
  unsigned long sum = 0;
  for (int i = 0; i < 2000000; i++) {
    char *volatile block = malloc(100 + i % 100);
    block[0] = (char)i;
    sum += (unsigned char)block[0];
    free(block);
  }
  printf("%lu\\n", sum);
  return 7;
}
"""


@pytest.fixture
def busy(compile_c):
    program = compile_c(BUSY, name="busy")
    plain = subprocess.run([program], capture_output=True, text=True)
    return program, (plain.returncode, plain.stdout, plain.stderr)


def outcome(process):
    return process.returncode, process.stdout, process.stderr


def why_silent_at_the_end(report):
    last = report["images"][0]["silences"][-1]
    assert 0 < last["from_ns"] <= report["duration_ns"] and "until_ns" not in last
    return last["why"]


def test_size_limit(busy, preload):
    program, plain = busy
    recording = preload([program], env={"HEAPWRIGHT_MAX_SIZE": "3M"})
    assert outcome(recording.process) == plain
    assert recording.header.state == 2
    assert 0 < recording.report["allocation_calls"] < 2000000
    assert "limit" in why_silent_at_the_end(recording.report)
    assert "limit" in recording.hw("report", recording.trace).stdout


def test_size_limit_under_the_launcher(busy, record):
    """A user who saw only how the recording ended used to take its figures for those of the whole run."""
    program, plain = busy
    recording = record([program], "--max-size", "4M")
    assert (recording.process.returncode, recording.process.stdout) == plain[:2]
    assert "recording stopped before the end: the trace reached its size limit (--max-size" in recording.process.stderr
    assert "limit" in why_silent_at_the_end(recording.report)


def test_children_forked_after_the_limit(compile_c, preload):
    """They are not recorded, and that is reported; a child of theirs counts, too."""
    program = compile_c("""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void work(int count)
{
  for (int i = 0; i < count; i++) {
    void *volatile block = malloc((size_t)(100 + i * 7 % 1000));
    free(block);
  }
}
int main(void)
{
  work(2000000);
  for (int i = 0; i < 3; i++) {
    if (fork() == 0) {
      work(100);
      if (i == 0 && fork() == 0)
        work(100);
      wait(NULL);
      _exit(0);
    }
    wait(NULL);
  }
  work(100);
  return 0;
}
""", name="late")
    for children, expected in (("1", 4), ("0", 0)):
        recording = preload([program], env={"HEAPWRIGHT_MAX_SIZE": "3M", "HEAPWRIGHT_CHILDREN": children})
        assert outcome(recording.process) == (0, "", "")
        assert recording.header.state == 2 and len(recording.traces) == 1
        assert recording.report["children_unseen"] == expected


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request, tmp_path):
    """A separate file system with a few MiB."""
    image = tmp_path / "image"
    if request.param == "ext4":
        image.write_bytes(bytes(8 << 20))
        if not shutil.which("mkfs.ext4") or subprocess.run(["mkfs.ext4", "-q", image], capture_output=True).returncode:
            pytest.skip("there is no mkfs.ext4")
    with small_disk(tmp_path / "disk", "4m") if request.param == "tmpfs" else mounted(tmp_path / "disk", "-o", "loop", image) as disk:
        yield disk


def fill(disk, leave_bytes):
    """Fills the free space of the disk, except this amount."""
    free = os.statvfs(disk)
    with open(disk / "other", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize - leave_bytes)


def test_full_disk(busy, preload, disk):
    program, plain = busy
    fill(disk, 2 << 20)
    recording = preload([program], trace=disk / "x.hwt", env={"HEAPWRIGHT_MAX_SIZE": "100M"})
    assert outcome(recording.process) == plain
    assert recording.header.state == 3
    assert 0 < recording.report["allocation_calls"] < 2000000
    assert "disk" in why_silent_at_the_end(recording.report)
    assert "disk" in recording.hw("report", recording.trace).stdout


def test_full_disk_under_the_launcher(busy, record, disk):
    """It packs onto the same disk, and may find no room itself; the recorded events stay readable."""
    program, plain = busy
    fill(disk, 1 << 20)
    recording = record([program], "--max-size", "100M", trace=disk / "x.hwt")
    assert (recording.process.returncode, recording.process.stdout) == plain[:2]
    report = recording.report
    assert 0 < report["allocation_calls"] and report["damaged_chunks"] == report["missing_chunks"] == 0
    if report["allocation_calls"] < 2000000:
        assert "disk" in why_silent_at_the_end(report)
        assert "recording stopped before the end: the disk was full" in recording.process.stderr


def test_a_disk_with_little_room(busy, record, disk):
    """Half of it is too little for a trace to begin, and no message said that it may use more."""
    program, plain = busy
    fill(disk, 2 << 20)
    recording = record([program], trace=disk / "x.hwt")
    assert (recording.process.returncode, recording.process.stdout) == plain[:2]
    assert "2 MB are left on the disk" in recording.process.stderr and "use --max-size to allow more" in recording.process.stderr
    recording = record([program], "--max-size", "100M", trace=disk / "x.hwt")
    assert "MB are left on the disk" not in recording.process.stderr
    assert recording.report["allocation_calls"] > 0


@pytest.mark.parametrize("left_bytes", [0, 4096, 65536])
def test_disk_that_is_full_already(busy, preload, disk, left_bytes, request):
    program, plain = busy
    fill(disk, left_bytes)
    recording = preload([program], trace=disk / "x.hwt")
    assert outcome(recording.process) == plain
    if recording.trace.is_symlink() or request.node.callspec.params["disk"] == "tmpfs":
        assert says_why_there_is_none(recording) == "disk full"
    else:  # ext4 keeps some blocks for root
        assert "disk" in why_silent_at_the_end(recording.report)


def says_why_there_is_none(recording):
    """The file in the trace's place says so, and so does a report on it."""
    text = os.readlink(recording.trace)
    start = "heapwright: no trace: "
    assert text.startswith(start) and len(text) < 60
    for asked in [recording.trace], []:
        done = recording.hw("report", *asked, cwd=recording.trace.parent)
        assert done.returncode == 2 and f"could not be begun, so nothing was recorded: {text[len(start):]}" in done.stderr
    return text[len(start):]


def limit_file_size(limit_bytes):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))


@pytest.mark.parametrize("limit_bytes", [0, 1 << 20])
def test_file_size_limit_that_forbids_the_trace(busy, preload, record, tmp_path, limit_bytes):
    """There used to be no trace and no message. A link is made even if no byte may be written, and is removed when a
    trace comes."""
    program, plain = busy
    recording = preload([program], trace=tmp_path / "x.hwt", preexec_fn=limit_file_size(limit_bytes))
    assert outcome(recording.process) == plain
    assert says_why_there_is_none(recording) == "limit of file size (ulimit -f)"
    recording = preload([program], trace=tmp_path / "x.hwt")
    assert recording.report["allocation_calls"] >= 2000000


def test_a_trace_takes_the_place_of_what_says_why_there_was_none(busy, preload, record, tmp_path):
    program, plain = busy
    preload([program], trace=tmp_path / "x.hwt", preexec_fn=limit_file_size(0))
    recording = record([program], trace=tmp_path / "x.hwt")
    assert (recording.process.returncode, recording.process.stdout) == plain[:2]
    assert recording.report["allocation_calls"] >= 2000000


def test_any_other_link_stays(busy, preload, record, tmp_path):
    program, plain = busy
    for text in "elsewhere", "heapwright", "heapwright: no trac":
        link = tmp_path / "x.hwt"
        link.unlink(missing_ok=True)
        link.symlink_to(text)
        assert outcome(preload([program], trace=link).process) == plain
        assert record([program], trace=link).process.returncode == 125
        assert os.readlink(link) == text


def test_a_launcher_tells_by_itself(busy, record, tmp_path):
    program, plain = busy
    recording = record(["sh", "-c", f"ulimit -f 0; exec {program}"], "--only-process", "busy")
    assert (recording.process.returncode, recording.process.stdout) == plain[:2]
    assert "nothing was recorded" in recording.process.stderr
    assert not os.path.lexists(recording.trace)


def test_no_link_where_another_place_has_room(busy, preload, disk, tmp_path, request):
    """The default name is tried in three places."""
    program, plain = busy
    fill(disk, 0)
    recording = preload([program], cwd=disk, env={"HEAPWRIGHT_OUTPUT": "", "HOME": str(tmp_path)})
    assert outcome(recording.process) == plain
    if request.node.callspec.params["disk"] == "ext4":
        return  # it reserves some blocks for root, so that there may be room after all
    assert not [name for name in os.listdir(disk) if name.startswith("heapwright")]
    (recording.trace,) = (tmp_path / ".local/state/heapwright").iterdir()
    assert recording.report["allocation_calls"] >= 2000000


def test_file_size_limit(busy, preload):
    program, plain = busy
    recording = preload([program], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20)))
    assert outcome(recording.process) == plain
    assert recording.header.state == 2
    assert "limit" in why_silent_at_the_end(recording.report)
    assert recording.trace.stat().st_size <= 4 << 20


def test_address_space_limit(busy, preload):
    program, plain = busy
    recording = preload([program], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)))
    assert outcome(recording.process) == plain
    assert recording.report["allocation_calls"] >= 2000000


@pytest.mark.parametrize("place", ["/nonexistent/x.hwt", "/proc/x.hwt", "/dev/null"])
def test_nowhere_to_write(busy, preload, place):
    program, plain = busy
    assert outcome(preload([program], trace=place).process) == plain


def test_no_descriptors_left(preload, compile_c):
    program = compile_c("""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  int count = 0;
  char *volatile first = malloc(1); /* the trace begins here */
  free(first);
  while (open("/dev/null", O_RDONLY) >= 0)
    count++;
  for (int i = 0; i < 300000; i++) {
    char *volatile block = malloc(64);
    free(block);
  }
  printf("%d\\n", count);
}
""", name="descriptors")
    plain = subprocess.run([program], capture_output=True, text=True)
    recording = preload([program])
    assert outcome(recording.process) == outcome(plain)  # the same count: the recorder holds no descriptor
    assert recording.report["allocation_calls"] >= 300000


def test_sandbox(preload, compile_c):
    """After start, a system call that a strict sandbox forbids must not be made: the recorder must need no file, and
    tolerate a refused madvise."""
    program = compile_c("""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define WHEN(call, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
int main(void)
{
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      WHEN(SYS_openat, SECCOMP_RET_KILL_PROCESS), WHEN(SYS_readlinkat, SECCOMP_RET_KILL_PROCESS),
  #ifdef SYS_open /* not on all CPUs */
      WHEN(SYS_open, SECCOMP_RET_KILL_PROCESS), WHEN(SYS_readlink, SECCOMP_RET_KILL_PROCESS),
  #endif
      WHEN(SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS), WHEN(SYS_ftruncate, SECCOMP_RET_KILL_PROCESS),
      WHEN(SYS_madvise, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  char *volatile first = malloc(1); /* the trace begins here */
  free(first);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    return 9;
  for (int i = 0; i < 300000; i++) {
    char *volatile block = malloc(64);
    free(block);
  }
  puts("done");
}
""", name="sandboxed")
    recording = preload([program])
    assert outcome(recording.process) == (0, "done\n", "")
    report = recording.report
    assert report["allocation_calls"] >= 300000 and report["lost_events"] == 0


def test_chroot_setuid_closefrom(preload, compile_c, tmp_path):
    program = compile_c("""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  char *volatile first = malloc(1); /* the trace begins here */
  free(first);
  closefrom(3);
  if (chroot(argv[1]) || chdir("/") || setgid(65534) || setuid(65534))
    return 9;
  for (int i = 0; i < 300000; i++) {
    char *volatile block = malloc(64);
    free(block);
  }
  return argc - 2;
}
""", name="jailed")
    if os.geteuid():
        pytest.skip("chroot needs root")
    recording = preload([program, tmp_path])
    assert recording.process.returncode == 0
    report = recording.report
    assert report["allocation_calls"] >= 300000 and report["lost_events"] == 0


def test_locked_memory(preload, compile_c):
    """mlockall, which every real-time program calls, must not lock the whole window or tables for millions of nodes."""
    program = compile_c("""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
static void print_sizes(void)
{
  char line[200];
  FILE *file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, "VmLck:", 6) || !strncmp(line, "VmRSS:", 6))
      printf("%ld\\n", atol(line + 6));
  fclose(file);
}
int main(void)
{
  char *volatile first = malloc(1); /* the trace begins here */
  free(first);
  if (mlockall(MCL_CURRENT | MCL_FUTURE))
    return 77;
  print_sizes();
  for (int i = 0; i < 3000000; i++) {
    char *volatile block = malloc(100);
    free(block);
  }
  print_sizes();
}
""", name="locked")
    plain = subprocess.run([program], capture_output=True, text=True)
    if plain.returncode == 77:
        pytest.skip("locking memory is not allowed here")
    recording = preload([program])
    assert recording.process.returncode == 0
    sizes, sizes_plain = ([int(line) for line in output.split()] for output in (recording.process.stdout, plain.stdout))
    assert len(sizes) == len(sizes_plain) == 4
    for locked, resident, locked_plain, resident_plain in (sizes[:2] + sizes_plain[:2], sizes[2:] + sizes_plain[2:]):
        assert locked - locked_plain < 32 << 10  # KiB; the first segment of the window has no pages to lock
        assert resident - resident_plain < 8 << 10
    report = recording.report
    assert report["allocation_calls"] >= 3000000 and report["lost_events"] == 0
