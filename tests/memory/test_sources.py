"""test_sources.py - memory from running processes, compressed and stored cores, raw images; what is missing in a core"""

import ctypes
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from heap_listing import build_program, core_of, parse_heap, started
from small_disk import small_disk
from waiting import wait_until

PACKERS = {"zst": ["zstd", "-q"], "gz": ["gzip", "-c"], "lz4": ["lz4", "-q", "-c"], "xz": ["xz", "-0", "-c"]}
PTRACE_SEIZE = 0x4206


def state_of(pid):
    """R, S, T (stopped), t (held by a debugger) ... of the main thread."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def tracer_of(pid):
    return Path(f"/proc/{pid}/status").read_text().split("TracerPid:")[1].split()[0]


@pytest.fixture
def waiting(shapes, tmp_path):
    """A program that waits with a small heap."""
    with started([shapes, "one"], tmp_path) as process:
        yield process


@pytest.fixture
def core(shapes, tmp_path):
    with started([shapes, "one"], tmp_path) as process:
        return core_of(process, tmp_path)


# --- processes


def test_process_goes_on(waiting, find_heap):
    heap = find_heap("process", waiting.pid)
    heap.assert_sound()
    assert heap.stop_ns > 0 and heap.threads == 1 and heap.copied_bytes > 10 << 20
    assert tracer_of(waiting.pid) == "0" and state_of(waiting.pid) == "S"
    running = find_heap("running", waiting.pid)
    assert running.stop_ns == 0 and running.threads == 0 and running.blocks == heap.blocks


def test_only_pages_that_exist_are_copied(compile_c, find_heap, tmp_path):
    program = compile_c("""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
  char *large = malloc((size_t)1 << 30);
  if (large)
    memset(large + 4096, 1, 1 << 20);
  mmap(NULL, (size_t)1 << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  write(1, "ready\\n", 6);
  pause();
}""", "-fno-builtin")
    with started([program], tmp_path) as process:
        heap = find_heap("process", process.pid)
    heap.assert_sound()
    assert heap.copied_bytes < 4 << 20
    assert max(heap.blocks["live"].values()) >= 1 << 30
    assert heap.notes == {"mappings of more than 256 GiB were not read": (0, 1 << 40)}


def test_reader_that_is_killed_lets_the_process_go_on(compile_c, build, tmp_path):
    program = compile_c("""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
  memset(malloc(400 << 20), 1, 400 << 20);
  write(1, "ready\\n", 6);
  for (char byte; read(0, &byte, 1) > 0;)
    write(1, "going\\n", 6);
}""", "-fno-builtin")
    words = [str(build / "tests/memory/list_heap"), "process"]
    with started([program], tmp_path) as process:
        held = 0
        for _ in range(6):
            with subprocess.Popen([*words, str(process.pid)], stdout=subprocess.DEVNULL) as reader:
                while reader.poll() is None:
                    if state_of(process.pid) == "t":
                        held += 1
                        reader.kill()
                        break
            wait_until(lambda: state_of(process.pid) == "S")
            assert tracer_of(process.pid) == "0"
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.readline() == b"going\n"
        assert held > 0


def test_process_that_starts_threads_and_gets_signals(program_folder, build, tmp_path):
    """No signal is lost, no child's end either, and all threads are held before the memory is read."""
    program = build_program(program_folder, "busy.c", "busy", "-pthread")
    words, sent = [str(build / "tests/memory/list_heap"), "process"], 0
    with started([program], tmp_path) as process:
        for _ in range(15):
            with subprocess.Popen([*words, str(process.pid)], stdout=subprocess.PIPE, text=True) as reader:
                for _ in range(50):
                    os.kill(process.pid, signal.SIGRTMIN)
                    sent += 1
                    time.sleep(0.0002)  # so that some come while it is held
                assert parse_heap(reader.communicate()[0]).threads >= 5  # some of them may be in malloc
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and int(said) == sent


def test_stopped_process_stays_stopped(waiting, find_heap):
    waiting.send_signal(signal.SIGSTOP)
    wait_until(lambda: state_of(waiting.pid) == "T")
    find_heap("process", waiting.pid).assert_sound()
    wait_until(lambda: state_of(waiting.pid) == "T")
    waiting.send_signal(signal.SIGCONT)
    wait_until(lambda: state_of(waiting.pid) == "S")


def test_thread_that_cannot_be_stopped(compile_c, list_heap, find_heap, tmp_path):
    """It waits in the kernel for a child that has its memory. That is said, and all threads go on, in the end this one, too."""
    program = compile_c("""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int waiting[2];
static void *answer(void *unused)
{
  char byte;
  while (read(0, &byte, 1) > 0 && byte == 'x')
    (void)!write(1, "going\\n", 6);
  close(waiting[1]);
  return unused;
}
int main(void)
{
  pthread_t thread;
  (void)!pipe(waiting);
  pthread_create(&thread, NULL, answer, NULL);
  (void)!write(1, "ready\\n", 6);
  if (vfork() == 0) {
    char byte;
    close(waiting[1]);
    _exit(read(waiting[0], &byte, 1) != 0);
  }
  (void)!write(1, "both\\n", 5);
  pthread_join(thread, NULL);
  pause();
}""", "-pthread")
    with started([program], tmp_path) as process:
        wait_until(lambda: state_of(process.pid) == "D")
        done = list_heap("process", process.pid)
        assert done.returncode == 1
        assert done.stderr == (f"process {process.pid} was not stopped: a thread waits in the kernel; try again, or read it as it "
                               "runs with --no-stop\n")
        process.stdin.write(b"xy")
        process.stdin.flush()
        assert process.stdout.readline() == b"going\n" and process.stdout.readline() == b"both\n"
        wait_until(lambda: state_of(process.pid) == "S")
        find_heap("process", process.pid).assert_sound()


def test_no_process(list_heap):
    for way in ("process", "running"):
        done = list_heap(way, 1 << 22)
        assert done.returncode == 1 and done.stderr == "there is no process 4194304, or it is ending\n"


def test_process_that_is_debugged(waiting, list_heap, find_heap):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(PTRACE_SEIZE, waiting.pid, None, None) < 0:
        pytest.skip("ptrace is not allowed here")
    done = list_heap("process", waiting.pid)
    assert done.returncode == 1
    assert done.stderr == (f"cannot stop process {waiting.pid}: process {os.getpid()} debugs it; end that first, or read it "
                           "as it runs with --no-stop\n")
    find_heap("running", waiting.pid).assert_sound()


def test_process_of_another_user(waiting, build):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    program = Path(f"/tmp/heapwright-list-heap-{os.getpid()}")
    shutil.copy(build / "tests/memory/list_heap", program)
    try:
        program.chmod(0o755)
        for way, verb in (("process", "stop"), ("running", "read")):
            done = subprocess.run([program, way, str(waiting.pid)], capture_output=True, text=True, user=65534, group=65534)
            assert done.returncode == 1
            assert done.stderr == (f"cannot {verb} process {waiting.pid}: it belongs to user 0; run this as that user or as "
                                   "root\n")
    finally:
        program.unlink()


# --- cores


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_cores(core, list_heap, tmp_path, suffix):
    if not shutil.which(PACKERS[suffix][0]):
        pytest.skip(f"there is no {PACKERS[suffix][0]}")
    packed, cut, folder = tmp_path / f"packed.{suffix}", tmp_path / "cut", tmp_path / "folder"
    packed.write_bytes(subprocess.run(PACKERS[suffix], stdin=core.open(), capture_output=True, check=True).stdout)
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    plain, unpacked = list_heap("core", core), list_heap("core", packed, env=environment)
    assert unpacked.returncode == 0 and unpacked.stdout == plain.stdout
    cut.write_bytes(packed.read_bytes()[:packed.stat().st_size // 2])
    done = list_heap("core", cut, env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"{cut} cannot be decompressed: it is ")
    done = list_heap("core", packed, env={**environment, "TMPDIR": str(tmp_path / "none")})
    assert done.stderr == (f"cannot decompress {packed} into the folder {tmp_path}/none: No such file or directory; set "
                           "TMPDIR to another one\n")
    with small_disk(tmp_path / "disk", "8m") as disk:
        done = list_heap("core", packed, env={**environment, "TMPDIR": str(disk)})
        assert done.returncode == 1
        assert done.stderr.splitlines()[0] == (f"cannot decompress {packed} into the folder {disk}: No space left on device; "
                                               "set TMPDIR to a folder with more room")
    assert not list(folder.iterdir())


def test_program_that_decompresses_is_missing(core, list_heap, tmp_path):
    packed = tmp_path / "packed.xz"
    packed.write_bytes(b"\xfd7zXZ\0" + bytes(100))
    done = list_heap("core", packed, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr == f"cannot read {packed}: the program xz cannot be started: No such file or directory; install it\n"


# What `coredumpctl dump` does, also with --quiet (systemd 239 to 257): the entry to stderr, the core dump to stdout. Without an entry
# it fails.
COREDUMPCTL = r"""#!/bin/sh
[ "$1 $2" = "--quiet dump" ] && [ $# = 3 ] || exit 64
case $3 in
123|app|/usr/bin/app) ;;
gone) printf '           PID: 124 (gone)\n       Storage: /var/lib/systemd/coredump/core.gone.0.5.124.zst (missing)\n' >&2
  echo 'Cannot access "/var/lib/systemd/coredump/core.gone.0.5.124.zst": No such file or directory' >&2; exit 1 ;;
*) echo "No match found." >&2; exit 1 ;;
esac
cat >&2 <<END
           PID: 123 (app)
           UID: 0 (root)
           GID: 0 (root)
        Signal: 6 (ABRT)
     Timestamp: Thu 2024-06-06 13:38:31 CST (1h 44min ago)
  Command Line: /usr/bin/app one
    Executable: /usr/bin/app
       Storage: /var/lib/systemd/coredump/core.app.0.1827be70bda44e3b9598c4aaf5ac32bc.123.1717652311000000.zst (present)
  Size on Disk: 60.5K
       Message: Process 123 (app) of user 0 dumped core.
END
exec cat "$CORE"
"""


def test_core_that_systemd_holds(hw, core, shapes, tmp_path):
    """As coredumpctl gives it, or by the name of its file, which is compressed."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "coredumpctl").write_text(COREDUMPCTL)
    (tools / "coredumpctl").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "CORE": str(core)}

    def figures(done):
        """What comes after the name."""
        return done.stdout[done.stdout.index("PID "):]

    plain = figures(hw("core", shapes, core))
    for match in "123", "app", "/usr/bin/app":
        done = hw("core", "--stored", match, shapes, env=environment)
        assert done.returncode == 0 and done.stderr == "" and figures(done) == plain
    stored = tmp_path / "core.app.0.1827be70bda44e3b9598c4aaf5ac32bc.123.1717652311000000.zst"
    stored.write_bytes(subprocess.run(["zstd", "-q", "-1"], stdin=core.open(), capture_output=True, check=True).stdout)
    assert figures(hw("core", shapes, stored)) == plain
    for match, why in (("5", "No match found."),
                       ("gone", 'Cannot access "/var/lib/systemd/coredump/core.gone.0.5.124.zst": No such file or directory')):
        done = hw("core", "--stored", match, env=environment)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr == f"heapwright: coredumpctl has no core dump of {match}: {why}; see `coredumpctl list`\n"
    done = hw("core", "--stored", "5", env={**environment, "PATH": str(tmp_path)})
    assert done.stderr == ("heapwright: cannot read 5: the program coredumpctl cannot be started: No such file or directory; "
                           "install it\n")
    done = hw("core", "--stored", "5", "--raw", core)
    assert done.stderr == "heapwright: --raw and --stored both say what is read: choose one\n"


@pytest.mark.parametrize("bits, left, words", [
    (0x33, 0x0c, "writable mappings of files are not in the core dump"),
    (0x31, 0x02, "shared memory is not in the core dump"),
    (0x23, 0x10, "the first pages of programs and libraries, which identify them, are not in the core dump"),
    (0x32, 0x01, "private memory, in which the heap is, is not in the core dump")])
def test_what_a_minimal_core_leaves_out(compile_c, list_heap, tmp_path, bits, left, words):
    program = compile_c("""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
  int fd = open("mapped", O_RDWR | O_CREAT, 0600);
  (void)!ftruncate(fd, 40960);
  memset(mmap(NULL, 40960, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), 1, 40960);
  memset(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 8192);
  memset(malloc(1000), 1, 1000);
  write(1, "ready\\n", 6);
  pause();
}""")
    with started([program], tmp_path) as process:
        Path(f"/proc/{process.pid}/coredump_filter").write_text(hex(bits))
        core = core_of(process, tmp_path)
    done = list_heap("core", core)
    notes = {line.split(maxsplit=3)[3]: line.split()[1:3] for line in (done.stdout + done.stderr).splitlines()
             if line.startswith("note ")}
    assert notes[words][0] == hex(left)
    assert int(notes[words][1]) >= 4096


def set_huge_pages(count):
    Path("/proc/sys/vm/nr_hugepages").write_text(str(count))
    return int(Path("/proc/sys/vm/nr_hugepages").read_text())


@pytest.fixture
def huge_pages():
    """Four of them, for the test."""
    before = int(Path("/proc/sys/vm/nr_hugepages").read_text())
    try:
        if set_huge_pages(before + 4) < before + 4:
            pytest.skip("there are no huge pages here")
        yield
        set_huge_pages(before)
    except OSError:
        pytest.skip("only root can ask for huge pages")


@pytest.mark.parametrize("bits, left", [(0x73, {}), (0x13, {"huge pages are not in the core dump": 0x60,
                                                            "shared memory is not in the core dump": 0x42}),
                                        (0x33, {"huge pages are not in the core dump": 0x60,
                                                "shared memory is not in the core dump": 0x42})])
def test_huge_pages_that_are_left_out(compile_c, list_heap, huge_pages, tmp_path, bits, left):
    """Private ones, shared ones without a file, and shared ones of a file without a name."""
    program = compile_c("""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { BYTES = 2 << 20 };
static void use(int flags, int fd)
{
  void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (memory != MAP_FAILED)
    memset(memory, 1, BYTES);
  write(1, memory == MAP_FAILED ? "none\\n" : "some\\n", 5);
}
int main(void)
{
  int fd = memfd_create("huge", MFD_HUGETLB);
  (void)!ftruncate(fd, BYTES);
  use(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
  use(MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1);
  use(MAP_SHARED, fd);
  memset(malloc(1000), 1, 1000);
  pause();
}""")
    with started([program], tmp_path) as process:
        if b"none" in process.stdout.readline() + process.stdout.readline():
            pytest.skip("there are no huge pages here")
        Path(f"/proc/{process.pid}/coredump_filter").write_text(hex(bits))
        core = core_of(process, tmp_path)
    done = list_heap("core", core)
    notes = {line.split(maxsplit=3)[3]: int(line.split()[1], 16) for line in (done.stdout + done.stderr).splitlines()
             if line.startswith("note ")}
    assert notes == left


def test_truncated_core(core, find_heap, list_heap, tmp_path):
    whole, cut = find_heap("core", core), tmp_path / "cut"
    cut.write_bytes(core.read_bytes()[:core.stat().st_size // 2])
    done = list_heap("core", cut)
    note = next(line for line in done.stdout.splitlines() + done.stderr.splitlines() if line.startswith("note "))
    assert note.split(maxsplit=3)[3] == "the core dump is truncated: its disk was full, or its size was limited (ulimit -c)"
    assert whole.notes == {}


def test_sparse_core(core, list_heap, tmp_path):
    """Zeros that take no room on the disk, as where the kernel or systemd writes core dumps."""
    sparse = tmp_path / "sparse"
    subprocess.run(["cp", "--sparse=always", core, sparse], check=True)
    assert sparse.stat().st_blocks < core.stat().st_blocks or core.stat().st_blocks * 512 < core.stat().st_size
    done = list_heap("core", sparse)
    assert done.returncode == 0 and done.stdout == list_heap("core", core).stdout


# --- raw images


def test_raw_images(core, find_heap, tmp_path):
    """The writable segments of a core as files with their addresses: the same heap, without threads."""
    data, maps = core.read_bytes(), []
    (segments,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for at in range(segments, segments + count * 56, 56):
        kind, flags, off, address, _, in_file, _, _ = struct.unpack_from("<IIQQQQQQ", data, at)
        if kind == 1 and flags & 2 and in_file:
            image = tmp_path / f"{address:x}"
            image.write_bytes(data[off:off + in_file])
            maps.append(f"64:{address:x}:{image}")
    heap, expected = find_heap("raw", *maps), find_heap("core", core)
    heap.assert_sound()
    assert heap.blocks == expected.blocks


def test_raw_images_that_cannot_be(list_heap, tmp_path):
    one, two, empty = tmp_path / "one", tmp_path / "two", tmp_path / "empty"
    one.write_bytes(bytes(8192))
    two.write_bytes(bytes(8192))
    empty.touch()
    for maps, words in (
            ([f"32:20000000:{empty}"], f"{empty} is no image of memory: it is empty"),
            ([f"32:20000000:{tmp_path}"], f"{tmp_path} is no image of memory: it is not a regular file"),
            ([f"32:20000000:{tmp_path}/none"], f"cannot open {tmp_path}/none: No such file or directory"),
            ([f"32:fffff000:{one}"], f"{one} has 8192 bytes, which do not fit behind the base 0xfffff000 in addresses of 32 bits"),
            ([f"64:1000:{one}", f"64:2000:{two}"], f"{two} overlaps another image: check its base 0x2000"),
            ([f"64:1000:{one}", f"64:1000:{two}"], "two of the images have the same base"),
            ([f"16:1000:{one}"], "words have 32 or 64 bits"),
            ([f"32b:20000000:{one}"], "no heap was found: this memory has no malloc whose structures are known"
             "; another malloc is read only with libheapwright-annotate.so")):
        done = list_heap("raw", *maps)
        assert done.returncode == 1 and done.stderr == words + "\n"
